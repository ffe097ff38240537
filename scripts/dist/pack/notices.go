package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// documentName matches the files whose text a distribution must contain.
var documentName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// linkedModules returns the versions of all dependencies by module path, without the modules that folders of this repository
// replace.
func linkedModules(programs []string) (map[string]string, error) {
	modules := map[string]string{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s: %w", program, err)
		}
		for _, m := range info.Deps {
			used := cmp.Or(m.Replace, m)
			if strings.HasPrefix(used.Path, "./") {
				continue // under the licence of this repository
			}
			modules[used.Path] = used.Version
		}
	}
	return modules, nil
}

func listModules(out io.Writer, programs []string) error {
	modules, err := linkedModules(programs)
	if err != nil {
		return err
	}
	for _, path := range sortedPaths(modules) {
		if _, err := fmt.Fprintln(out, path); err != nil {
			return err
		}
	}
	return nil
}

// notices prints the licences of Go and of every module in the programs.
func notices(out io.Writer, programs []string) error {
	modules, err := linkedModules(programs)
	if err != nil {
		return err
	}
	root, err := commandOutput("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	if err := printNotices(out, "the Go standard library", root); err != nil {
		return err
	}
	folders, err := moduleFolders(modules)
	if err != nil {
		return err
	}
	for _, path := range sortedPaths(modules) {
		if err := printNotices(out, path+" "+modules[path], folders[path]); err != nil {
			return err
		}
	}
	return nil
}

func sortedPaths(modules map[string]string) []string {
	paths := make([]string, 0, len(modules))
	for path := range modules {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

// moduleFolders returns the folder into which Go has unpacked each module. It downloads missing modules.
func moduleFolders(modules map[string]string) (map[string]string, error) {
	args := []string{"mod", "download", "-json"}
	for _, path := range sortedPaths(modules) {
		args = append(args, path+"@"+modules[path])
	}
	downloads, err := commandOutput("go", args...)
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for decoder := json.NewDecoder(strings.NewReader(downloads)); ; {
		var module struct{ Path, Dir string }
		err := decoder.Decode(&module)
		if errors.Is(err, io.EOF) {
			return folders, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the output of go mod download: %w", err)
		}
		folders[module.Path] = module.Dir
	}
}

func commandOutput(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// printNotices prints the licence files in a folder. It does not search subfolders. It returns an error if it finds no file.
func printNotices(out io.Writer, title, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("find the licence of %s: %w", title, err)
	}
	found := false
	for _, file := range files {
		if file.IsDir() || !documentName.MatchString(file.Name()) {
			continue
		}
		found = true
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			return err
		}
		line := strings.Repeat("=", 80)
		if _, err := fmt.Fprintf(out, "%s\n%s: %s\n%s\n\n%s\n\n", line, title, file.Name(), line, strings.TrimSpace(string(text))); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("find the licence of %s: no file named LICENSE, COPYING, NOTICE or PATENTS in %s", title, folder)
	}
	return nil
}
