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
	startTimeout = 5 * time.Second // the time that a request waits for a child
	stopTimeout  = 5 * time.Second // the time from closing a child's input until the child is killed
)

// Supervisor is the parent's side of the connection: it runs a trainer in a child process, and restarts
// the child when it ends. Its methods are safe for concurrent use.
type Supervisor struct {
	command func(context.Context) *exec.Cmd
	ended   func(trainer.JobEnd)
	log     *slog.Logger

	mu       sync.Mutex
	pid      int                      // of the child; 0 while no child runs
	requests *json.Encoder            // nil while no child runs
	isUp     chan struct{}            // closed while a child runs
	lastID   uint64                   // of a request
	waiting  map[uint64]chan<- result // callers by the id of their request
}

// New returns a Supervisor of a command that serves a Pipe on its standard input and output.
// It calls ended after every training and search.
func New(command func(context.Context) *exec.Cmd, ended func(trainer.JobEnd), log *slog.Logger) *Supervisor {
	return &Supervisor{command: command, ended: ended, log: log, isUp: make(chan struct{}), waiting: map[uint64]chan<- result{}}
}

// Run keeps a child running until ctx ends, and returns after the last child has ended.
func (p *Supervisor) Run(ctx context.Context) {
	for {
		err := p.runChild(ctx)
		if ctx.Err() != nil {
			return
		}
		p.log.ErrorContext(ctx, "trainer ended; restarting it", "err", err)
		select {
		case <-time.After(restartDelay):
		case <-ctx.Done():
			return
		}
	}
}

// runChild runs one child to its end.
func (p *Supervisor) runChild(ctx context.Context) error {
	cmd := p.command(ctx)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, stopTimeout
	if err := startAtLowerPriority(cmd.Start); err != nil {
		return err
	}
	p.connect(in, cmd.Process.Pid)
	p.receive(out)
	p.disconnect()
	_ = in.Close() // ends a child that only closed its output
	return cmd.Wait()
}

// connect makes a started child available for requests.
func (p *Supervisor) connect(in io.Writer, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.pid = json.NewEncoder(in), pid
	close(p.isUp)
}

// disconnect fails all waiting requests, because their child has ended.
func (p *Supervisor) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.pid, p.isUp = nil, 0, make(chan struct{})
	for id, caller := range p.waiting {
		caller <- result{Failed: failureOf(sizing.Errorf(sizing.Unavailable, "the training was interrupted; try again"))}
		delete(p.waiting, id)
	}
}

// PID returns the child's process id, or an error if no child runs.
func (p *Supervisor) PID() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return 0, errors.New("no trainer is running")
	}
	return p.pid, nil
}

// receive reads results until the child ends.
func (p *Supervisor) receive(out io.Reader) {
	for results := json.NewDecoder(out); ; {
		var r result
		if err := results.Decode(&r); err != nil {
			return
		}
		if r.ID == 0 {
			p.ended(trainer.JobEnd{Search: r.Search, Report: r.Report, Err: r.Failed.err(), Took: r.Took})
			continue
		}
		p.mu.Lock()
		if caller := p.waiting[r.ID]; caller != nil { // nil if the caller no longer waits
			caller <- r
			delete(p.waiting, r.ID)
		}
		p.mu.Unlock()
	}
}

// TrainNow runs trainer.Trainer.TrainNow in the child. It returns Unavailable if no child starts
// in time, or if the child ends during the training. If ctx ends first, the training continues.
func (p *Supervisor) TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	answer := make(chan result, 1)
	id, err := p.request(ctx, task, answer)
	if err != nil {
		return trainer.Report{}, err
	}
	select {
	case r := <-answer:
		return r.Report, r.Failed.err()
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
		return trainer.Report{}, ctx.Err()
	}
}

// request sends a request as soon as a child is running, and returns its id. The result goes to
// answer.
func (p *Supervisor) request(ctx context.Context, task sizing.TaskKey, answer chan<- result) (uint64, error) {
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		isUp := p.isUp
		if p.requests != nil {
			defer p.mu.Unlock()
			p.lastID++
			if err := p.requests.Encode(request{ID: p.lastID, Task: task, Actor: sizing.Actor(ctx)}); err != nil {
				return 0, sizing.Errorf(sizing.Unavailable, "the trainer is starting; try again") // the child has just ended
			}
			p.waiting[p.lastID] = answer
			return p.lastID, nil
		}
		p.mu.Unlock()
		select {
		case <-isUp:
		case <-timeout.C:
			return 0, sizing.Errorf(sizing.Unavailable, "the trainer is starting; try again")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
