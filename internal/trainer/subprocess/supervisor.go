package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

const (
	restartDelay = time.Second     // the pause between the end of a child and the start of the next one
	startTimeout = 5 * time.Second // the longest time that a request waits until Supervisor.send receives it
	stopTimeout  = 5 * time.Second // the time from closing a child's input until the child is killed
)

// Supervisor is the parent's side of the connection: it runs a trainer in a child process, and restarts
// the child when it ends. Its methods are safe for concurrent use.
type Supervisor struct {
	command func(context.Context) *exec.Cmd
	ended   func(trainer.JobEnd)
	log     *slog.Logger

	calls chan call // received while a child runs

	mu      sync.Mutex
	pid     int                      // of the child; 0 while no child runs
	lastID  uint64                   // of a request
	waiting map[uint64]chan<- result // callers by the id of their request
}

// call is a request without an id, and its caller.
type call struct {
	request
	answer chan<- result // buffered, so that an answer never waits for a caller that gave up
}

// New returns a Supervisor of a command that serves a Pipe on its standard input and output.
// It calls `ended` with each trainer.JobEnd that the child sends (Pipe.Ended).
func New(command func(context.Context) *exec.Cmd, ended func(trainer.JobEnd), log *slog.Logger) *Supervisor {
	return &Supervisor{command: command, ended: ended, log: log, calls: make(chan call), waiting: map[uint64]chan<- result{}}
}

// Run keeps a child running until ctx ends, and returns after the last child has ended.
func (s *Supervisor) Run(ctx context.Context) {
	for {
		err := s.runChild(ctx)
		if ctx.Err() != nil {
			return
		}
		s.log.ErrorContext(ctx, "trainer ended; restarting it", "err", err)
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return
		}
	}
}

func (s *Supervisor) runChild(ctx context.Context) error {
	cmd := s.command(ctx)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, stopTimeout
	if err := trainer.RunAtLowerPriority(cmd.Start); err != nil {
		return err
	}
	s.setPID(cmd.Process.Pid)
	ended := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() { s.send(in, ended) })
	s.receive(out)
	close(ended)
	_ = in.Close() // asks a child that still runs to end, and ends a write of send that still waits
	kill := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	sender.Wait()
	s.setPID(0)
	s.interruptCalls()
	return cmd.Wait()
}

func (s *Supervisor) setPID(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pid = pid
}

// send writes requests until `ended` is closed. It holds no lock while it writes, because a write waits as long as the child
// does not read.
func (s *Supervisor) send(in io.Writer, ended <-chan struct{}) {
	for requests := json.NewEncoder(in); ; {
		select {
		case c := <-s.calls:
			c.ID = s.addCall(c.answer)
			if requests.Encode(c.request) != nil { // the child has ended, or runChild has closed its input
				s.answer(result{ID: c.ID, Failed: failureOf(sizing.Errorf(sizing.Unavailable, starting))})
			}
		case <-ended:
			return
		}
	}
}

func (s *Supervisor) addCall(caller chan<- result) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	s.waiting[s.lastID] = caller
	return s.lastID
}

func (s *Supervisor) answer(r result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if caller := s.waiting[r.ID]; caller != nil {
		caller <- r
		delete(s.waiting, r.ID)
	}
}

// interruptCalls fails all waiting requests, because their child has ended.
func (s *Supervisor) interruptCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, caller := range s.waiting {
		caller <- result{Failed: failureOf(sizing.Errorf(sizing.Unavailable, "the training was interrupted; try again"))}
		delete(s.waiting, id)
	}
}

// PID returns the child's process id, or an error if no child runs.
func (s *Supervisor) PID() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pid == 0 {
		return 0, errors.New("no trainer is running")
	}
	return s.pid, nil
}

// receive reads results until the child ends, closes its output or sends invalid JSON.
func (s *Supervisor) receive(out io.Reader) {
	for results := json.NewDecoder(out); ; {
		var r result
		if err := results.Decode(&r); err != nil {
			return
		}
		if r.ID == 0 {
			s.ended(trainer.JobEnd{Search: r.Search, Report: r.Report, Err: r.Failed.err(), Took: r.Took})
			continue
		}
		s.answer(r)
	}
}

// starting is the error text for a caller whose request did not reach a child.
const starting = "the trainer is starting, or does not respond; try again"

// TrainNow runs trainer.Trainer.TrainNow in the child. It returns Unavailable if send does not receive the request within
// startTimeout, or if the child ends before it answers. If ctx ends first, TrainNow returns the error of ctx; a training
// that has begun continues.
func (s *Supervisor) TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	answer := make(chan result, 1)
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case s.calls <- call{request{Task: task, Actor: sizing.Actor(ctx)}, answer}:
	case <-timeout.C:
		return trainer.Report{}, sizing.Errorf(sizing.Unavailable, starting)
	case <-ctx.Done():
		return trainer.Report{}, ctx.Err()
	}
	select {
	case r := <-answer:
		return r.Report, r.Failed.err()
	case <-ctx.Done():
		return trainer.Report{}, ctx.Err()
	}
}
