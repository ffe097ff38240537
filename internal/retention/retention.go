// Package retention removes old rows: observations that training no longer reads, receipts, and experiments
// without a name. Each kind of row has a configured age, the time for which its rows are kept.
//
//	observations ── older than Config.Observations ── and not read by any training ──▶ removed
//	receipts ── older than Config.Receipts ──────────────────────────────────────────▶ removed
//	unnamed experiments ── older than Config.Experiments ────────────────────────────▶ removed
//
// It also creates the weekly partitions of receipts ahead of time.
//
// It depends on packages sizing and store and on the clock, not on SQL or HTTP. One replica at a time removes
// rows for all replicas. After each batch, and after the observations of each task, it pauses for as long as the work
// since the last pause took, at most 75 s.
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

// MinAge is the shortest configurable age of rows; an age of 0 keeps all rows. Tries may run and be repeated for days, and
// the watchdog, which rolls back models, needs the receipts of the active model.
const MinAge = 7 * 24 * time.Hour

// ErrTooShort is the error of an age that is not 0 and below MinAge.
var ErrTooShort = errors.New("rows of the last 7 days are still needed; set 168h or more, or 0 to keep all")

// The kinds of removed rows, as labels of metrics.
const (
	Observations = "observations"
	Receipts     = "receipts"
	Experiments  = "experiments"
)

// Config configures a Worker. The zero value is usable and removes nothing.
type Config struct {
	Observations time.Duration               // age from which observations are removed; never if zero
	Receipts     time.Duration               // age from which receipts are removed; never if zero
	Experiments  time.Duration               // age from which unnamed experiments are removed; never if zero
	Limits       store.HistoryLimits         // bounds of the observations that a training reads; zero fields as in store.DefaultHistoryLimits
	Every        time.Duration               // pause between passes; 1 h if zero
	Now          func() time.Time            // time.Now if nil
	Removed      func(kind string, rows int) // called after every batch; optional
	// Ended is called with the result of RunOnce after every pass; optional. It is not called if ctx has ended, or if RunOnce
	// returned nil because another replica holds the lease.
	Ended func(error)
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

// Store is the part of a store that a Worker uses.
type Store interface {
	store.Retention
	AcquireLease(ctx context.Context, name, owner string, lease time.Duration) (bool, error)
}

// Worker removes old rows. Every replica may run a Worker; a lease lets only one of them work at
// a time.
type Worker struct {
	cfg   Config
	store Store
	owner string
	log   *slog.Logger
}

// New returns a Worker. It returns ErrTooShort if an age is not 0 and below MinAge.
func New(st Store, cfg Config, log *slog.Logger) (*Worker, error) {
	for kind, age := range map[string]time.Duration{Observations: cfg.Observations, Receipts: cfg.Receipts, Experiments: cfg.Experiments} {
		if age != 0 && age < MinAge {
			return nil, fmt.Errorf("%s: age %s is too short: %w", kind, age, ErrTooShort)
		}
	}
	return &Worker{cfg: cfg.withDefaults(), store: st, owner: uuid.NewString(), log: log}, nil
}

// Run makes passes, each after a pause of cfg.Every, until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(w.cfg.Every):
		}
		if err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "retention pass failed; the next pass continues", "err", err)
		}
	}
}

// The lease that elects one replica. Its duration is longer than a batch and the following pause usually take, and it is
// renewed after every pause.
const (
	leaseName = "retention"
	lease     = 5 * time.Minute
)

var errNotOwner = errors.New("another replica holds the retention lease")

// RunOnce makes one pass. If another replica holds the lease, or acquires it during the pass, RunOnce stops and returns
// nil, or the error of creating partitions if that failed before. Rows removed before an error stay removed.
func (w *Worker) RunOnce(ctx context.Context) error {
	err := w.pass(ctx)
	if errors.Is(err, errNotOwner) {
		return nil
	}
	if ctx.Err() == nil { // the end of ctx is not a failure of the pass
		w.cfg.Ended(err)
	}
	return err
}

// partitionsAhead is the time for which partitions are created in advance, so that receipts have a
// weekly partition even if all passes of the next four weeks fail.
const partitionsAhead = 4 * 7 * 24 * time.Hour

func (w *Worker) pass(ctx context.Context) error {
	if err := w.acquire(ctx); err != nil {
		return err
	}
	now := w.cfg.Now()
	partitionErr := w.store.MakeWeeks(ctx, now, now.Add(partitionsAhead))
	err := w.remove(ctx, now) // even if partitions cannot be created
	if partitionErr != nil && errors.Is(err, errNotOwner) {
		return partitionErr // a failure, unlike the loss of the lease
	}
	return errors.Join(partitionErr, err)
}

func (w *Worker) remove(ctx context.Context, now time.Time) error {
	if age := w.cfg.Receipts; age > 0 {
		if err := w.store.RemoveReceipts(ctx, store.FirstID(now.Add(-age)), w.afterBatch(Receipts, w.pauses(ctx))); err != nil {
			return err
		}
	}
	if age := w.cfg.Experiments; age > 0 {
		if err := w.store.RemoveExperiments(ctx, now.Add(-age), w.afterBatch(Experiments, w.pauses(ctx))); err != nil {
			return err
		}
	}
	if age := w.cfg.Observations; age > 0 {
		return w.removeObservations(ctx, now.Add(-age))
	}
	return nil
}

const pageSize = 500

func (w *Worker) removeObservations(ctx context.Context, before time.Time) error {
	var after sizing.TaskKey
	for {
		tasks, err := w.store.OversizedTasks(ctx, w.cfg.Limits, after, pageSize)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			pause := w.pauses(ctx)
			err := w.store.RemoveObservations(ctx, task, w.cfg.Limits, before, w.afterBatch(Observations, pause))
			if err != nil && sizing.KindOf(err) != sizing.NotFound { // NotFound: the task was deleted
				return err
			}
			if err := pause(); err != nil {
				return err
			}
		}
		if len(tasks) < pageSize {
			return nil
		}
		after = tasks[len(tasks)-1]
	}
}

func (w *Worker) afterBatch(kind string, pause func() error) func(rows int) error {
	return func(rows int) error {
		w.cfg.Removed(kind, rows)
		return pause()
	}
}

// pauses returns a function that waits and then renews the lease. It waits as long as the work since its previous call took (at
// the first call: since the call of pauses), at most a quarter of the lease. So retention usually works at most half of the
// time.
func (w *Worker) pauses(ctx context.Context) func() error {
	started := time.Now()
	return func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(time.Since(started), lease/4)):
		}
		err := w.acquire(ctx)
		started = time.Now()
		return err
	}
}

func (w *Worker) acquire(ctx context.Context) error {
	acquired, err := w.store.AcquireLease(ctx, leaseName, w.owner, lease)
	if err == nil && !acquired {
		return errNotOwner
	}
	return err
}
