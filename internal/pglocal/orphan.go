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

// pollEvery is how often we look at what the operating system cannot announce.
const pollEvery = 10 * time.Millisecond

// A postmaster is what the server writes about itself into postmaster.pid.
type postmaster struct {
	pid    int
	status string // "starting", "ready", "stopping"; the eighth line
}

func pidFile(cluster string) string { return filepath.Join(cluster, "postmaster.pid") }

// readPostmaster reads the file; a zero pid if there is none.
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

// stopOrphan makes way for a server in a cluster whose folder we hold. A server
// that runs there was left by a process that was killed, and is shut down. Its
// file alone may be left, and its number may by now be another process's: that
// one is none of our business.
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
		return nil // of a folder we cannot tell: PostgreSQL refuses to start, and says why
	default:
		return disown(cluster)
	}
}

// serves tells the server of this cluster, by whatever path it was started.
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

// folder is the argument of -D; empty if there is none.
func folder(args []string) string {
	if i := slices.Index(args, "-D"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// disown turns a stale postmaster.pid into one of our own. PostgreSQL would take a
// living process of that number for a server and refuse to start. It disregards
// the number of its own parent, and still finds backends that outlive their
// server, by the rest of the file (CreateLockFile in miscinit.c).
func disown(cluster string) error {
	text, err := os.ReadFile(pidFile(cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	// The folder is the server's user's: as root we follow no link laid there.
	file, err := os.OpenFile(pidFile(cluster), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d\n%s", os.Getpid(), rest)
	return errors.Join(err, file.Close())
}

// stopProcess asks ever less politely.
func stopProcess(ctx context.Context, pid int, cluster string) error {
	for _, step := range stopSteps {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the PostgreSQL left running as process %d: %w; stop it by hand", pid, err)
		}
		for patience := time.Now().Add(step.patience); time.Now().Before(patience); time.Sleep(pollEvery) {
			if !serves(commandLine(pid), cluster) {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("the PostgreSQL left running as process %d does not stop: %w", pid, ctx.Err())
			}
		}
	}
	return fmt.Errorf("the PostgreSQL left running as process %d does not stop; stop it by hand", pid)
}

// stopSteps are the server's fast and immediate shutdown, and the kill that no
// process survives. Only the first leaves nothing to recover.
var stopSteps = []struct {
	signal   syscall.Signal
	patience time.Duration
}{
	{syscall.SIGINT, 30 * time.Second},
	{syscall.SIGQUIT, 5 * time.Second},
	{syscall.SIGKILL, 5 * time.Second},
}
