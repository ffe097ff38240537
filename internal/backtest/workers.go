package backtest

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A training of loadaware's own policy runs concurrently with the replay. Only the next prediction or outcome of its
// task needs the trained model, and waits for the training. The other tasks of the DAG only need the contribution
// of the task to the pool, which depends only on the learned rows. Therefore the figures are the same for any number of workers.

// workers bounds the number of goroutines that compute at the same time, over all replays that share it. With nil
// workers, a training runs in the goroutine of the replay.
type workers struct {
	*semaphore.Weighted
	n     int         // number of workers
	start func() bool // waits for a free worker; false if the replays were cancelled
}

func newWorkers(ctx context.Context, n int) *workers {
	free := semaphore.NewWeighted(int64(n))
	return &workers{free, n, func() bool { return free.Acquire(ctx, 1) == nil }}
}

// Start waits for a free worker. It reports false if the replays were cancelled.
func (w *workers) Start() bool { return w == nil || w.start() }

// Stop frees the worker that Start acquired.
func (w *workers) Stop() {
	if w != nil {
		w.Release(1)
	}
}

// yieldWorkers occupies half of the workers (rounded down) while isBusy returns true, until the replays end. It acquires
// or frees at most one worker every yieldInterval. To acquire one, it waits until a training or a chunk of rows ends.
func (w *workers) yieldWorkers(ctx context.Context, isBusy func() bool) {
	poll := time.NewTicker(yieldInterval)
	defer poll.Stop()
	for occupied := 0; ; {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		switch busy := isBusy(); {
		case busy && occupied < w.n/2:
			if !w.Start() {
				return
			}
			occupied++
		case !busy && occupied > 0:
			w.Stop()
			occupied--
		}
	}
}

// yieldInterval is the time between two calls of isBusy. A longer time delays other work that needs the processors.
const yieldInterval = 50 * time.Millisecond

type training struct {
	ended      chan struct{}    // closed when the training has ended
	challenger *taskmodel.Model // the new model; nil if taskmodel.Update returned none, so that the champion stays in use
	err        error
}

func (p *loadawarePolicy) train(l *learner) {
	l.training = &training{ended: make(chan struct{})}
	if p.workers == nil {
		l.training.run(l)
		p.join(l)
		return
	}
	go func(t *training) {
		defer close(t.ended) // after the worker is free, so that no worker is occupied when the replay ends
		if !p.workers.Start() {
			t.err = context.Canceled
			return
		}
		defer p.workers.Stop()
		t.run(l)
	}(l.training)
}

// run trains a challenger. No other goroutine may use the state of the task at the same time. A panic becomes an error,
// because a panic must not end a server.
func (t *training) run(l *learner) {
	defer func() {
		if r := recover(); r != nil {
			t.err = fmt.Errorf("training panicked: %v; please report this", r)
		}
	}()
	t.challenger, _, t.err = taskmodel.Update(&l.history, l.model)
}

// join waits for the training of a task, if one runs, and replaces the model if the training returned a challenger.
func (p *loadawarePolicy) join(l *learner) {
	t := l.training
	if t == nil {
		return
	}
	l.training = nil
	if p.workers != nil {
		taskmodel.WaitIdle(p.workers.Weighted, t.ended)
	}
	switch {
	case t.err != nil && p.err == nil:
		p.err = fmt.Errorf("train %s on %d rows: %w", l.history.Task, len(l.history.Rows), t.err)
	case t.challenger == nil:
		l.lastRejectedAt = l.history.Total
	default:
		l.model = t.challenger
	}
}

// finish waits until no training runs. It returns the error of a failed training, if there is one.
func (p *loadawarePolicy) finish() error {
	for _, l := range p.tasks {
		p.join(l)
	}
	return p.err
}
