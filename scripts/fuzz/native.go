package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/testcluster"
)

type fuzzPackage struct {
	folder    string // relative to the root of the module, with "./" in front
	functions []string
}

// fuzzNative runs every Fuzz function for a bounded time. The Go toolchain draws the inputs and accepts no seed. It stores a
// failing input in testdata/fuzz.
func fuzzNative(ctx context.Context, _ *testcluster.Cluster, p options) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	packages, err := fuzzPackages(root)
	if err != nil {
		return err
	}
	binaries, err := os.MkdirTemp("", "loadaware-fuzz-native-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(binaries)
	var failures []error
	functions := 0
	for i, pkg := range packages {
		binary := filepath.Join(binaries, fmt.Sprintf("%d.test", i))
		cacheDir, err := buildFuzzBinary(ctx, root, pkg, binary)
		if err != nil {
			return err
		}
		for _, function := range pkg.functions {
			functions++
			runs, err := runFuzzFunction(ctx, filepath.Join(root, pkg.folder), binary, cacheDir, function, p.fuzzTime)
			verdict := "ok"
			if err != nil {
				failures = append(failures, fmt.Errorf("%s in %s: %w", function, pkg.folder, err))
				verdict = err.Error()
			}
			fmt.Printf("  %-28s %-38s %10s runs: %s\n", pkg.folder, function, runs, verdict)
		}
	}
	fmt.Printf("%d Fuzz functions for %v each, %d failed\n", functions, p.fuzzTime, len(failures))
	return errors.Join(failures...)
}

var (
	fuzzDeclaration = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzExecutions  = regexp.MustCompile(`execs: (\d+)`)
)

// fuzzPackages finds the Fuzz functions by their declarations.
func fuzzPackages(root string) (packages []fuzzPackage, err error) {
	functions := map[string][]string{}
	var folders []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, match := range fuzzDeclaration.FindAllSubmatch(text, -1) {
			if len(functions[folder]) == 0 {
				folders = append(folders, folder)
			}
			functions[folder] = append(functions[folder], string(match[1]))
		}
		return err
	})
	for _, folder := range folders {
		packages = append(packages, fuzzPackage{"./" + filepath.ToSlash(folder), functions[folder]})
	}
	return packages, err
}

// buildFuzzBinary builds the instrumented test binary of a package once for all its Fuzz functions, because `go test -fuzz`
// would link it again for each function. It returns the folder in which the toolchain caches the inputs of this package.
func buildFuzzBinary(ctx context.Context, root string, pkg fuzzPackage, binary string) (cacheDir string, err error) {
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
		}
		return strings.TrimSpace(string(stdout)), nil
	}
	if _, err := run("test", "-c", "-fuzz=.", "-ldflags=-s -w", "-o", binary, pkg.folder); err != nil {
		return "", err
	}
	cache, err := run("env", "GOCACHE")
	if err != nil {
		return "", err
	}
	importPath, err := run("list", pkg.folder)
	return filepath.Join(cache, "fuzz", importPath), err
}

// runFuzzFunction runs one Fuzz function for a time, and returns the number of inputs that it tried.
func runFuzzFunction(ctx context.Context, folder, binary, cacheDir, function string, length time.Duration) (runs string, err error) {
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.fuzz=^"+function+"$", "-test.fuzztime="+length.String(),
		"-test.fuzzcachedir="+cacheDir, "-test.timeout=10m", fmt.Sprintf("-test.parallel=%d", runtime.NumCPU()))
	cmd.Dir = folder
	output, err := cmd.CombinedOutput()
	if all := fuzzExecutions.FindAllSubmatch(output, -1); len(all) > 0 {
		runs = string(all[len(all)-1][1])
	}
	if err != nil && !stoppedAtDeadline(output) {
		return runs, fmt.Errorf("%w: %s", err, output)
	}
	return runs, nil
}

// stoppedAtDeadline reports whether the toolchain reached its deadline in the middle of an input and found no failing input.
// The toolchain calls that a failure (golang.org/issue/48591).
func stoppedAtDeadline(output []byte) bool {
	return bytes.Contains(output, []byte("    context deadline exceeded\n")) &&
		!bytes.Contains(output, []byte("Failing input written to")) && !bytes.Contains(output, []byte("panic:"))
}
