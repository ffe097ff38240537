// Package retention removes what is older than its age: observations that learning
// would never read again, answers' receipts, and experiments without a name.
//
//	observations ── older than their age ── and not read by any training ──▶ removed
//	receipts, unnamed experiments ── older than their age ─────────────────▶ removed
//
// It also has the weeks made, ahead of time, in which receipts are stored and removed.
//
// It knows the store's contract and the clock, and nothing of SQL or HTTP. One replica
// does it for all, half of the time at most.
package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Shortest is the shortest age but 0: tries may run, be asked about and be repeated
// for days, and a model is watched by its receipts.
const Shortest = 7 * 24 * time.Hour

// ErrTooShort is an age below Shortest.
var ErrTooShort = errors.New("what is younger than 7 days is still needed: say 168h or more, or 0 for ever")

// Kinds of what is removed, for those who count.
const (
	Observations = "observations"
	Receipts     = "receipts"
	Experiments  = "experiments"
)

// Config has usable zero values: it removes nothing.
type Config struct {
	Observations time.Duration // age from which they are removed; never if zero
	Receipts     time.Duration // the same
	Experiments  time.Duration // the same; those with a name stay
	Keep         store.HistoryLimits    // what a training reads; store.DefaultHistoryLimits if zero
	Every        time.Duration // between passes; 1 h if zero
	Now          func() time.Time
	Removed      func(kind string, rows int) // is told of every batch; nobody if nil
	Ended        func(error)                 // is told of every pass that was made here; nobody if nil
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Removed == nil {
		c.Removed = func(string, int) {}
	}
	if c.Ended == nil {
		c.Ended = func(error) {}
	}
	return c
}

// Store is what is needed of a store.
type Store interface {
	store.Retention
	AcquireLease(ctx context.Context, duty, owner string, lease time.Duration) (bool, error)
}

// Worker removes what is old. RunOnce may be called from many replicas.
type Worker struct {
	cfg   Config
	store Store
	owner string
	log   *slog.Logger
}

// New makes a Worker. ErrTooShort if an age is.
func New(st Store, cfg Config, log *slog.Logger) (*Worker, error) {
	for kind, age := range map[string]time.Duration{Observations: cfg.Observations, Receipts: cfg.Receipts, Experiments: cfg.Experiments} {
		if age != 0 && age < Shortest {
			return nil, fmt.Errorf("%s cannot be kept for %s: %w", kind, age, ErrTooShort)
		}
	}
	return &Worker{cfg: cfg.withDefaults(), store: st, owner: uuid.NewString(), log: log}, nil
}

// Run makes a pass now and then, until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.cfg.Every):
		}
		if err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "not all that is old could be removed: the next pass goes on", "err", err)
		}
	}
}

// The duty under which one replica does this for all. Its lease is longer than any
// batch takes, and is renewed by every one.
const (
	duty  = "retention"
	lease = 5 * time.Minute
)

// errOthers ends a pass that another replica has taken over.
var errOthers = errors.New("another replica removes what is old")

// RunOnce makes one pass, unless another replica has the duty. What was removed before
// an error stays removed.
func (w *Worker) RunOnce(ctx context.Context) error {
	err := w.pass(ctx)
	if errors.Is(err, errOthers) {
		return nil
	}
	if ctx.Err() == nil { // which ends a pass without a fault
		w.cfg.Ended(err)
	}
	return err
}

// ahead is for how long receipts have weeks of their own already, though every pass
// should fail.
const ahead = 4 * 7 * 24 * time.Hour

func (w *Worker) pass(ctx context.Context) error {
	if err := w.hold(ctx); err != nil {
		return err
	}
	now := w.cfg.Now()
	// What could not be made is no reason to remove nothing.
	return errors.Join(w.store.MakeWeeks(ctx, now, now.Add(ahead)), w.remove(ctx, now))
}

func (w *Worker) remove(ctx context.Context, now time.Time) error {
	if age := w.cfg.Receipts; age > 0 {
		if err := w.store.RemoveReceipts(ctx, store.FirstID(now.Add(-age)), w.each(ctx, Receipts)); err != nil {
			return err
		}
	}
	if age := w.cfg.Experiments; age > 0 {
		if err := w.store.RemoveRuns(ctx, now.Add(-age), w.each(ctx, Experiments)); err != nil {
			return err
		}
	}
	if age := w.cfg.Observations; age > 0 {
		return w.observations(ctx, now.Add(-age))
	}
	return nil
}

// page is how many tasks are listed at once.
const page = 500

func (w *Worker) observations(ctx context.Context, before time.Time) error {
	var after sizing.TaskKey
	for {
		tasks, err := w.store.OversizedTasks(ctx, w.cfg.Keep, after, page)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			began := time.Now()
			err := w.store.RemoveObservations(ctx, task, w.cfg.Keep, before, w.each(ctx, Observations))
			if err != nil && sizing.KindOf(err) != sizing.NotFound { // deleted meanwhile
				return err
			}
			if err := w.rest(ctx, began); err != nil {
				return err
			}
		}
		if len(tasks) < page {
			return nil
		}
		after = tasks[len(tasks)-1]
	}
}

// each counts a batch, rests, and asks for the duty again.
func (w *Worker) each(ctx context.Context, kind string) func(rows int) error {
	began := time.Now()
	return func(rows int) error {
		w.cfg.Removed(kind, rows)
		err := w.rest(ctx, began)
		began = time.Now()
		return err
	}
}

// rest waits for as long as the work took, so that the database has half of the time
// for others, and renews the lease.
func (w *Worker) rest(ctx context.Context, began time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(min(time.Since(began), lease/4)):
	}
	return w.hold(ctx)
}

func (w *Worker) hold(ctx context.Context) error {
	mine, err := w.store.AcquireLease(ctx, duty, w.owner, lease)
	if err == nil && !mine {
		return errOthers
	}
	return err
}
