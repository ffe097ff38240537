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
	restartDelay = time.Second     // between the end of a child and the start of the next
	startTimeout = 5 * time.Second // how long an order waits for a child
	stopTimeout  = 5 * time.Second // from closing a child's input to killing it
)

// Supervisor is the parent's end: it runs a trainer in a child process and restarts it when
// it ends. Its methods are safe for concurrent use.
type Supervisor struct {
	command func(context.Context) *exec.Cmd
	ended   func(trainer.Ended)
	log     *slog.Logger

	mu      sync.Mutex
	pid     int           // of the child; 0 while none runs
	orders  *json.Encoder // nil while none runs
	up      chan struct{} // closed while one does
	last    uint64
	waiting map[uint64]chan<- result
}

// New returns a Supervisor of a command that serves a Pipe on its standard input and output.
// It calls ended after every training and search.
func New(command func(context.Context) *exec.Cmd, ended func(trainer.Ended), log *slog.Logger) *Supervisor {
	return &Supervisor{command: command, ended: ended, log: log, up: make(chan struct{}), waiting: map[uint64]chan<- result{}}
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

func (p *Supervisor) connect(in io.Writer, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders, p.pid = json.NewEncoder(in), pid
	close(p.up)
}

// disconnect fails all waiting orders, because their child is gone.
func (p *Supervisor) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders, p.pid, p.up = nil, 0, make(chan struct{})
	for id, waits := range p.waiting {
		waits <- result{Failed: &failure{Kind: sizing.Unavailable, Detail: "the training was interrupted: try again", Text: "the trainer ended"}}
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
		var t result
		if err := results.Decode(&t); err != nil {
			return
		}
		if t.ID == 0 {
			p.ended(trainer.Ended{Search: t.Search, Report: t.Report, Err: t.Failed.err(), Took: t.Took})
			continue
		}
		p.mu.Lock()
		if waits := p.waiting[t.ID]; waits != nil { // else the caller is gone
			waits <- t
			delete(p.waiting, t.ID)
		}
		p.mu.Unlock()
	}
}

// TrainNow runs trainer.Trainer.TrainNow in the child. It returns Unavailable if no child
// starts in time, or if it ends meanwhile. If ctx ends first, the training continues.
func (p *Supervisor) TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	answer := make(chan result, 1)
	id, err := p.order(ctx, task, answer)
	if err != nil {
		return trainer.Report{}, err
	}
	select {
	case t := <-answer:
		return t.Report, t.Failed.err()
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, id)
		return trainer.Report{}, ctx.Err()
	}
}

// order sends an order as soon as a child is running.
func (p *Supervisor) order(ctx context.Context, task sizing.TaskKey, answer chan<- result) (uint64, error) {
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	for {
		p.mu.Lock()
		up := p.up
		if p.orders != nil {
			defer p.mu.Unlock()
			p.last++
			if err := p.orders.Encode(order{ID: p.last, Task: task, Actor: sizing.Actor(ctx)}); err != nil {
				return 0, &sizing.Error{Kind: sizing.Unavailable, Detail: "the trainer is starting: try again", Cause: err}
			}
			p.waiting[p.last] = answer
			return p.last, nil
		}
		p.mu.Unlock()
		select {
		case <-up:
		case <-late.C:
			return 0, sizing.Errorf(sizing.Unavailable, "the trainer is starting: try again")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
