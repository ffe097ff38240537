package pglocal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	minBackoff  = 100 * time.Millisecond // before the first restart
	maxBackoff  = 10 * time.Second       // the backoff doubles up to this
	stableAfter = time.Minute            // a server that ran longer resets the backoff
	startTries  = 4                      // attempts after which Start fails; more than one, because backends of a killed server may still run during the first attempts
)

// supervise runs the server until Stop and restarts it whenever it dies. It gives up if the server was not ready
// in startTries attempts. It stays on one thread, because Linux sends Pdeathsig when the thread that forked the
// server ends.
func (s *Server) supervise() {
	runtime.LockOSThread()
	defer close(s.ended)
	markReady := sync.OnceFunc(func() { close(s.ready) })
	backoff := minBackoff
	for try := 1; ; try++ {
		started := time.Now()
		err := s.runOnce(markReady)
		if s.isStopping() {
			return
		}
		if !s.isReady() && try >= startTries {
			s.failure = err // Start returns it
			return
		}
		if time.Since(started) > stableAfter {
			backoff = minBackoff
		}
		if s.isReady() {
			s.cfg.Log.Error("private PostgreSQL ended unexpectedly; restarting", "err", err, "after", backoff)
		}
		select {
		case <-time.After(backoff):
		case <-s.stopping:
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// runOnce runs the server until it ends or Stop is called. It returns nil after Stop. Otherwise it returns an error, which
// has the end of the log if the server ran.
func (s *Server) runOnce(markReady func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := stopOrphan(ctx, s.cluster()); err != nil {
		return err
	}
	_ = os.Rename(s.logPath(), s.logPath()+".old") // it may show why the previous server ended
	log, err := os.OpenFile(s.logPath(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	clearSocketDir(s.socket)
	cmd := s.identity.command(exec.Command(s.bin.path("postgres"), s.settings()...))
	dieWithParent(cmd.SysProcAttr, syscall.SIGINT)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // the result is in cmd.ProcessState
	go s.awaitReady(cmd.Process.Pid, exited, markReady)
	select {
	case <-exited:
		return fmt.Errorf("postgres: %s: %s", cmd.ProcessState, tail(log))
	case <-s.stopping:
		stopChild(cmd.Process, exited)
		return nil
	}
}

func (s *Server) awaitReady(pid int, exited <-chan struct{}, markReady func()) {
	for tick := time.NewTicker(pollEvery); ; {
		if p := readPostmaster(s.cluster()); p.pid == pid && p.status == "ready" {
			tick.Stop()
			markReady()
			return
		}
		select {
		case <-tick.C:
		case <-exited:
			tick.Stop()
			return
		}
	}
}

func stopChild(p *os.Process, exited <-chan struct{}) {
	for _, step := range stopSteps {
		p.Signal(step.signal) // fails only if the process has ended
		select {
		case <-exited:
			return
		case <-time.After(step.timeout):
		}
	}
	<-exited
}

func tail(log *os.File) string {
	const limit = 2000
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, limit))
	_, _ = log.ReadAt(text, size-int64(len(text))) // best effort
	return strings.TrimSpace(string(text))
}

func (s *Server) isStopping() bool { return isClosed(s.stopping) }
func (s *Server) isReady() bool    { return isClosed(s.ready) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
