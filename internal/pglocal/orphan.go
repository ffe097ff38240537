package pglocal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollEvery is the interval of polling processes and files.
const pollEvery = 10 * time.Millisecond

// postmaster is the content of postmaster.pid, which the server writes.
type postmaster struct {
	pid    int
	status string // "starting", "ready", "stopping"; the eighth line of the file
}

func pidFile(cluster string) string { return filepath.Join(cluster, "postmaster.pid") }

// readPostmaster reads postmaster.pid. The pid is zero if there is no such file.
func readPostmaster(cluster string) (p postmaster) {
	text, err := os.ReadFile(pidFile(cluster))
	if err != nil {
		return p
	}
	lines := strings.Split(string(text), "\n")
	p.pid, _ = strconv.Atoi(lines[0])
	if len(lines) > 7 {
		p.status = strings.TrimSpace(lines[7])
	}
	return p
}

// stopOrphan prepares a locked data folder for a new server. It stops a server that a killed
// process left running. If only the pid file is left, its process id may belong to an unrelated
// process, which must not be signalled.
func stopOrphan(ctx context.Context, cluster string) error {
	p := readPostmaster(cluster)
	if p.pid == 0 {
		return nil
	}
	args := commandLine(p.pid)
	switch {
	case serves(args, cluster):
		return stopProcess(ctx, p.pid, cluster)
	case isServer(args) && !filepath.IsAbs(folder(args)):
		return nil // its folder is unknown; if it is ours, PostgreSQL refuses to start and says why
	default:
		return replacePID(cluster)
	}
}

// serves reports whether args is the command line of a server of this cluster.
func serves(args []string, cluster string) bool {
	theirs, err := os.Stat(folder(args))
	if err != nil || !isServer(args) {
		return false
	}
	ours, err := os.Stat(cluster)
	return err == nil && os.SameFile(theirs, ours)
}

func isServer(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"postgres", "postmaster"}, filepath.Base(args[0]))
}

// folder returns the argument of -D; empty if there is none.
func folder(args []string) string {
	if i := slices.Index(args, "-D"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// replacePID replaces the process id of a stale postmaster.pid by ours. PostgreSQL refuses to
// start if a process with that id exists, but ignores the id of its own parent. It still uses the
// rest of the file to find surviving backends (CreateLockFile in miscinit.c).
func replacePID(cluster string) error {
	text, err := os.ReadFile(pidFile(cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	// The server's user owns the folder, so root must not follow a link in it.
	file, err := os.OpenFile(pidFile(cluster), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d\n%s", os.Getpid(), rest)
	return errors.Join(err, file.Close())
}

// stopProcess sends the signals of stopSteps until the process ends.
func stopProcess(ctx context.Context, pid int, cluster string) error {
	for _, step := range stopSteps {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the orphaned PostgreSQL, process %d: %w; stop it manually", pid, err)
		}
		for deadline := time.Now().Add(step.patience); time.Now().Before(deadline); time.Sleep(pollEvery) {
			if !serves(commandLine(pid), cluster) {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("the orphaned PostgreSQL, process %d, does not stop: %w", pid, ctx.Err())
			}
		}
	}
	return fmt.Errorf("the orphaned PostgreSQL, process %d, does not stop; stop it manually", pid)
}

// stopSteps are the fast and the immediate shutdown of PostgreSQL, and SIGKILL. Only the first
// needs no recovery at the next start.
var stopSteps = []struct {
	signal   syscall.Signal
	patience time.Duration
}{
	{syscall.SIGINT, 30 * time.Second},
	{syscall.SIGQUIT, 5 * time.Second},
	{syscall.SIGKILL, 5 * time.Second},
}
