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
	firstPause   = 100 * time.Millisecond // before a server that died is started again
	longestPause = 10 * time.Second       // the pause doubles up to this while it keeps dying
	settled      = time.Minute            // a server that lived so long starts the pauses anew
	firstTries   = 4                      // before Start gives up: backends of a killed server need a moment to end
)

// keep runs the server until Stop, again whenever it dies. It stays on one thread
// to its end, since Linux ties "die with the parent" to the thread that forks.
func (s *Server) keep() {
	runtime.LockOSThread()
	defer close(s.ended)
	announce := sync.OnceFunc(func() { close(s.ready) })
	pause := firstPause
	for try := 1; ; try++ {
		begun := time.Now()
		err := s.runOnce(announce)
		if s.isStopping() {
			return
		}
		if !s.isReady() && try >= firstTries {
			s.failure = err // told by Start
			return
		}
		if time.Since(begun) > settled {
			pause = firstPause
		}
		if s.isReady() {
			s.cfg.Log.Error("the private PostgreSQL ended and is started again", "err", err, "after", pause)
		}
		select {
		case <-time.After(pause):
		case <-s.stopping:
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// runOnce starts the server and returns when it has ended, by itself (an error) or
// because of Stop (nil).
func (s *Server) runOnce(announce func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := stopOrphan(ctx, s.cluster()); err != nil {
		return err
	}
	log, err := os.OpenFile(s.logPath(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	clearSocketDir(s.socket)
	cmd := s.footing.command(exec.Command(s.bin.path("postgres"), s.settings()...))
	dieWithParent(cmd.SysProcAttr, syscall.SIGINT)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }() // how it ended is in cmd.ProcessState
	go s.watch(cmd.Process.Pid, exited, announce)
	select {
	case <-exited:
		return fmt.Errorf("postgres: %s: %s", cmd.ProcessState, tail(log))
	case <-s.stopping:
		stopChild(cmd.Process, exited)
		return nil
	}
}

// watch announces the server once it says that it is ready.
func (s *Server) watch(pid int, exited <-chan struct{}, announce func()) {
	for tick := time.NewTicker(pollEvery); ; {
		if p := readPostmaster(s.cluster()); p.pid == pid && p.status == "ready" {
			tick.Stop()
			announce()
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

// stopChild shuts our own server down and waits for its end.
func stopChild(p *os.Process, exited <-chan struct{}) {
	for _, step := range stopSteps {
		p.Signal(step.signal) // fails only if it has ended
		select {
		case <-exited:
			return
		case <-time.After(step.patience):
		}
	}
	<-exited
}

// tail is the end of what the server wrote.
func tail(log *os.File) string {
	const enough = 2000
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size, enough))
	_, _ = log.ReadAt(text, size-int64(len(text))) // what could not be read is not shown
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
