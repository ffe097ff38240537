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

// target is one Fuzz function.
type target struct{ pkg, name string }

// native runs every Fuzz function of the module for a bounded time. Their inputs are
// drawn by the toolchain, which takes no seed; what it finds it keeps in testdata/fuzz.
func native(ctx context.Context, _ *testcluster.Cluster, p plan) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	targets, err := fuzzFunctions(root)
	if err != nil {
		return err
	}
	var found []error
	for _, t := range targets {
		runs, err := fuzzOne(ctx, root, t, p.each)
		verdict := "ok"
		if err != nil {
			found, verdict = append(found, fmt.Errorf("%s in %s: %w", t.name, t.pkg, err)), err.Error()
		}
		fmt.Printf("  %-28s %-38s %10s runs: %s\n", t.pkg, t.name, runs, verdict)
	}
	fmt.Printf("%d Fuzz functions for %v each, %d found something\n", len(targets), p.each, len(found))
	return errors.Join(found...)
}

var (
	declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	executed = regexp.MustCompile(`execs: (\d+)`)
)

// fuzzFunctions finds them by their declarations.
func fuzzFunctions(root string) (targets []target, err error) {
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
		for _, match := range declared.FindAllSubmatch(text, -1) {
			targets = append(targets, target{"./" + filepath.ToSlash(folder), string(match[1])})
		}
		return err
	})
	return targets, err
}

// fuzzOne runs one, and says how many inputs were tried.
func fuzzOne(ctx context.Context, root string, t target, length time.Duration) (runs string, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", length.String(),
		"-parallel", fmt.Sprint(runtime.NumCPU()), t.pkg)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	says, err := cmd.CombinedOutput()
	if all := executed.FindAllSubmatch(says, -1); len(all) > 0 {
		runs = string(all[len(all)-1][1])
	}
	if err != nil && !outOfTime(says) {
		return runs, fmt.Errorf("%w: %s", err, says)
	}
	return runs, nil
}

// outOfTime tells a toolchain that stopped at its end in the middle of an input, which
// it calls a failure (golang.org/issue/48591), from one that found something.
func outOfTime(says []byte) bool {
	return bytes.Contains(says, []byte("    context deadline exceeded\n")) &&
		!bytes.Contains(says, []byte("Failing input written to")) && !bytes.Contains(says, []byte("panic:"))
}
