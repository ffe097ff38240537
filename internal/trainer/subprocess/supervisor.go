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
	again    = time.Second     // between the end of a child and the start of the next
	startsIn = 5 * time.Second // an order waits at most so long for a child
	endsIn   = 5 * time.Second // a child that was told to end, before it is killed
)

// Supervisor is the parent's end: a trainer that runs in a child process, which is started
// anew when it ends. Its methods may be called from many goroutines.
type Supervisor struct {
	command func(context.Context) *exec.Cmd
	ended   func(trainer.Ended)
	log     *slog.Logger

	mu      sync.Mutex
	pid     int           // of the child; 0 while none runs
	orders  *json.Encoder // nil while none runs
	up      chan struct{} // closed while one does
	last    uint64
	waiting map[uint64]chan<- told
}

// New makes a Process of a command that serves a Line on its standard input and output,
// and logs where it likes. ended is told of every training, as trainer.Config.Ended is.
func New(command func(context.Context) *exec.Cmd, ended func(trainer.Ended), log *slog.Logger) *Supervisor {
	return &Supervisor{command: command, ended: ended, log: log, up: make(chan struct{}), waiting: map[uint64]chan<- told{}}
}

// Run keeps a child running until ctx ends, and returns when the last has ended.
func (p *Supervisor) Run(ctx context.Context) {
	for {
		err := p.once(ctx)
		if ctx.Err() != nil {
			return
		}
		p.log.ErrorContext(ctx, "the trainer ended, and is started again", "err", err)
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return
		}
	}
}

// once runs one child to its end.
func (p *Supervisor) once(ctx context.Context) error {
	cmd := p.command(ctx)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = in.Close, endsIn
	if err := yielding(cmd.Start); err != nil {
		return err
	}
	p.open(in, cmd.Process.Pid)
	p.listen(out)
	p.shut()
	_ = in.Close() // one that only fell silent must end, too
	return cmd.Wait()
}

func (p *Supervisor) open(in io.Writer, pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders, p.pid = json.NewEncoder(in), pid
	close(p.up)
}

// shut lets nobody wait for a child that is gone.
func (p *Supervisor) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.orders, p.pid, p.up = nil, 0, make(chan struct{})
	for id, waits := range p.waiting {
		waits <- told{Failed: &failure{Kind: sizing.Unavailable, Detail: "the training was cut off: ask again", Text: "the trainer ended"}}
		delete(p.waiting, id)
	}
}

// PID is the child's process id, or an error while none runs.
func (p *Supervisor) PID() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return 0, errors.New("no trainer runs")
	}
	return p.pid, nil
}

// listen hears a child until it ends.
func (p *Supervisor) listen(out io.Reader) {
	for said := json.NewDecoder(out); ; {
		var t told
		if err := said.Decode(&t); err != nil {
			return
		}
		if t.ID == 0 {
			p.ended(trainer.Ended{Search: t.Search, Report: t.Report, Err: t.Failed.err(), Took: t.Took})
			continue
		}
		p.mu.Lock()
		if waits := p.waiting[t.ID]; waits != nil { // else whoever asked has gone
			waits <- t
			delete(p.waiting, t.ID)
		}
		p.mu.Unlock()
	}
}

// TrainNow is trainer.Trainer.TrainNow, of the child. Unavailable where there is none
// for seconds, or it ends meanwhile. A training goes on where ctx ends before it does.
func (p *Supervisor) TrainNow(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	answer := make(chan told, 1)
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

// order sends an order, once there is somebody to send it to.
func (p *Supervisor) order(ctx context.Context, task sizing.TaskKey, answer chan<- told) (uint64, error) {
	late := time.NewTimer(startsIn)
	defer late.Stop()
	for {
		p.mu.Lock()
		up := p.up
		if p.orders != nil {
			defer p.mu.Unlock()
			p.last++
			if err := p.orders.Encode(order{ID: p.last, Task: task, Actor: sizing.Actor(ctx)}); err != nil {
				return 0, &sizing.Error{Kind: sizing.Unavailable, Detail: "the trainer is being started: ask again", Cause: err}
			}
			p.waiting[p.last] = answer
			return p.last, nil
		}
		p.mu.Unlock()
		select {
		case <-up:
		case <-late.C:
			return 0, sizing.Errorf(sizing.Unavailable, "the trainer is being started: ask again")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
