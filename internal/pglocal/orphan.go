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

const pollEvery = 10 * time.Millisecond

// postmaster is the content of postmaster.pid, which the server writes.
type postmaster struct {
	pid    int
	status string // "starting", "ready", "stopping"; the eighth line of the file
}

func pidFile(cluster string) string { return filepath.Join(cluster, "postmaster.pid") }

// readPostmaster reads postmaster.pid. The pid is zero if the file is missing or has no id.
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
// process left running. If only the pid file is left, a process that has the id in the file is unrelated to the
// folder: stopOrphan sends this process no signal, and replaces the id in the file.
func stopOrphan(ctx context.Context, cluster string) error {
	p := readPostmaster(cluster)
	if p.pid == 0 {
		return nil
	}
	args := commandLine(p.pid)
	switch {
	case isServerOf(args, cluster):
		return stopProcess(ctx, p.pid, cluster)
	case isServer(args) && !filepath.IsAbs(dataFolder(args)):
		return nil // the folder of that server is unknown; if it is this one, PostgreSQL refuses to start and says why
	default:
		return replacePID(cluster)
	}
}

func isServerOf(args []string, cluster string) bool {
	found, err := os.Stat(dataFolder(args))
	if err != nil || !isServer(args) {
		return false
	}
	want, err := os.Stat(cluster)
	return err == nil && os.SameFile(found, want)
}

func isServer(args []string) bool {
	return len(args) > 0 && slices.Contains([]string{"postgres", "postmaster"}, filepath.Base(args[0]))
}

func dataFolder(args []string) string {
	if i := slices.Index(args, "-D"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// replacePID replaces the process id in a stale postmaster.pid by the id of this process. PostgreSQL
// refuses to start if a process with the id in the file exists, but ignores the id of its own parent.
// It still uses the rest of the file to find surviving backends (CreateLockFile in miscinit.c).
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

// stopProcess sends the signals of stopSteps, one after the other, until the process is no longer a server of
// the cluster.
func stopProcess(ctx context.Context, pid int, cluster string) error {
	for _, step := range stopSteps {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the orphaned PostgreSQL, process %d: %w; stop it manually", pid, err)
		}
		for deadline := time.Now().Add(step.timeout); time.Now().Before(deadline); time.Sleep(pollEvery) {
			if !isServerOf(commandLine(pid), cluster) {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("stop the orphaned PostgreSQL, process %d: it still runs: %w", pid, ctx.Err())
			}
		}
	}
	return fmt.Errorf("stop the orphaned PostgreSQL, process %d: it still runs after SIGKILL; stop it manually", pid)
}

// stopSteps lists the signals for the fast and the immediate shutdown of PostgreSQL, and SIGKILL, with the
// wait after each. After the fast shutdown the next start needs no recovery; after the other signals it does.
var stopSteps = []struct {
	signal  syscall.Signal
	timeout time.Duration
}{
	{syscall.SIGINT, 30 * time.Second},
	{syscall.SIGQUIT, 5 * time.Second},
	{syscall.SIGKILL, 5 * time.Second},
}
