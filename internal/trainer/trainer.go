// Package trainer decides whose turn it is to learn, and publishes what was
// learned: due rows are leased with SKIP LOCKED by any replica, a model is fitted,
// and it is published by compare-and-swap.
//
// Now and then a heavy task is searched for better parameters, at low priority.
//
// It knows the store's contract and package fitting, and nothing of HTTP or SQL.
package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Config has usable zero values.
type Config struct {
	Every time.Duration // between looks for due tasks; 500 ms if zero
	Lease time.Duration // of one task; 30 s if zero, renewed every third of it
	Retry time.Duration // after a failure; 1 min if zero
	Keep  store.Keep    // what a training reads; store.DefaultKeep if zero

	SearchEvery time.Duration // between searches for better parameters of a heavy task; never if zero

	Ended func(Ended) // is told of every training and every search of a task that is known; nobody if nil
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Retry = cmp.Or(c.Retry, time.Minute)
	return c
}

// Report says what a training came to.
type Report struct {
	Trained    bool
	Published  bool
	RolledBack bool // the watchdog went back to an earlier version instead
	Version    int  // of the model that is active afterwards; 0 if none
	Reason     string
}

// Ended is a training or a search that has ended, well or not.
type Ended struct {
	Search bool
	Report Report
	Err    error
	Took   time.Duration
}

// Trainer trains tasks that are due. Its methods may be called from many goroutines;
// one task is trained by one goroutine at a time.
type Trainer struct {
	cfg   Config
	store store.Store
	owner string
	log   *slog.Logger
	busy  sync.Map // sizing.TaskKey → *sync.Mutex
	beats beats
}

// New makes a Trainer.
func New(st store.Store, cfg Config, log *slog.Logger) *Trainer {
	return &Trainer{cfg: cfg.withDefaults(), store: st, owner: uuid.NewString(), log: log}
}

// Run trains what is due, and searches now and then, until ctx ends.
func (t *Trainer) Run(ctx context.Context) {
	var searching sync.WaitGroup
	searching.Go(func() { t.beat(ctx) })
	defer searching.Wait()
	tick := time.NewTicker(t.cfg.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		more, err := t.RunOnce(ctx)
		if err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "training pass failed", "err", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// RunOnce trains the task that has been due for longest, and reports false where
// none is due.
func (t *Trainer) RunOnce(ctx context.Context) (bool, error) {
	claim, err := t.store.Claim(ctx, t.owner, t.cfg.Lease)
	if sizing.KindOf(err) == sizing.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim a due task: %w", err)
	}
	trainErr := t.underLease(ctx, claim)
	// The lease must be given back even when the service is stopping.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = t.store.Finish(last, claim, t.retryAt(ctx, trainErr))
	if sizing.KindOf(err) == sizing.Conflict {
		t.log.Info("a training was given up: another took it over, or the task is gone", "task", claim.Task.String())
		return true, nil
	}
	return true, errors.Join(trainErr, err)
}

// retryAt is when a training that failed is due again: at once where it was only
// cut off by the end of this process. Zero where it did not fail.
func (t *Trainer) retryAt(ctx context.Context, trainErr error) time.Time {
	switch {
	case trainErr == nil:
		return time.Time{}
	case ctx.Err() != nil:
		return time.Now()
	}
	return time.Now().Add(t.cfg.Retry)
}

// underLease trains while a heartbeat renews the lease; a lost lease ends it.
func (t *Trainer) underLease(ctx context.Context, claim store.Claim) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		beat := time.NewTicker(t.cfg.Lease / 3)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if sizing.KindOf(t.store.Renew(ctx, claim, t.cfg.Lease)) == sizing.Conflict {
					cancel()
					return
				}
			}
		}
	}()
	report, err := t.TrainNow(ctx, claim.Task)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil // deleted meanwhile
	}
	if err == nil {
		t.log.Info("trained", "task", claim.Task.String(), "published", report.Published, "version", report.Version, "reason", report.Reason)
	}
	return err
}

// TrainNow trains one task, due or not. Too little data, or a challenger that
// lost, is a Report and no error. NotFound if the task is unknown.
func (t *Trainer) TrainNow(ctx context.Context, task sizing.TaskKey) (Report, error) {
	return t.timed(ctx, false, func() (Report, error) { return t.inTurn(ctx, task, fitting.Fit) })
}

// timed tells whoever wants to know how long do took and what came of it. What was cut
// off by its caller, or was of a task that is not known, ended neither well nor badly.
func (t *Trainer) timed(ctx context.Context, search bool, do func() (Report, error)) (Report, error) {
	began := time.Now()
	report, err := do()
	if t.cfg.Ended != nil && ctx.Err() == nil && sizing.KindOf(err) != sizing.NotFound {
		t.cfg.Ended(Ended{Search: search, Report: report, Err: err, Took: time.Since(began)})
	}
	return report, err
}

// fit makes a challenger of a history and its champion; nil where there is none.
type fit func(*sizing.History, *fitting.Model) (*fitting.Model, fitting.Outcome, error)

// inTurn fits and publishes while no other goroutine does so for the task.
func (t *Trainer) inTurn(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	turn, _ := t.busy.LoadOrStore(task, &sync.Mutex{})
	turn.(*sync.Mutex).Lock()
	defer turn.(*sync.Mutex).Unlock()
	for range 3 {
		report, err := t.train(ctx, task, fit)
		if sizing.KindOf(err) == sizing.NotFound {
			t.busy.Delete(task) // names that anybody may make up are not kept
		}
		if sizing.KindOf(err) != sizing.Conflict {
			return report, err
		}
		// Another replica published first: learn on top of what it published.
	}
	return Report{Trained: true, Reason: "other replicas kept publishing first"}, nil
}

func (t *Trainer) train(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	// The champion first: it must not know rows that the history lacks, for they
	// would be learned again by whoever opens the challenger.
	active, err := t.active(ctx, task)
	if err != nil {
		return Report{}, err
	}
	if back, reason, err := t.judge(ctx, &active); err != nil || back > 0 {
		return Report{RolledBack: back > 0, Version: back, Reason: reason}, err
	}
	onProbation := active.PinnedBy == store.Watchdog
	if active.PinnedBy != "" && !onProbation {
		return Report{Version: active.Version, Reason: t.pinned(ctx, &active)}, nil
	}
	champion := t.open(ctx, &active)
	if champion != nil && onProbation {
		champion.LastExam = fitting.Exam{} // the next is due now
	}
	examined := champion != nil
	history, err := t.store.History(ctx, task, t.cfg.Keep)
	if err != nil {
		return Report{}, err
	}
	challenger, outcome, err := contained(fit, &history, champion)
	if err != nil {
		return Report{}, fmt.Errorf("fit %s: %w", task, err)
	}
	report := Report{Trained: outcome.Trained, Version: active.Version, Reason: outcome.Reason}
	if challenger == nil {
		return report, nil
	}
	if onProbation && examined && !outcome.Exam.Passed {
		report.Reason = fmt.Sprintf("version %d, which the watchdog went back to, stays until another wins an exam against it", active.Version)
		return report, nil
	}
	for _, warning := range outcome.Warnings {
		t.log.WarnContext(ctx, "a training has a warning", "task", task.String(), "warning", warning)
	}
	blob, err := verified(challenger, &history)
	if err != nil {
		return report, fmt.Errorf("publish %s: the trained model is not usable, so %s: %w; please report this", task, staying(&active), err)
	}
	share, err := challenger.EncodeShare()
	if err != nil {
		return report, fmt.Errorf("publish %s: %w", task, err)
	}
	report.Version, err = t.store.Publish(acting(ctx, store.Trainer), store.Model{
		Task: task, Family: challenger.Family(), Format: challenger.Format(), Blob: blob, Share: share,
		Observations: history.Total, LastSeq: history.LastSeq, TrainedAt: time.Now(), Exam: outcome.Exam.JSON(),
	}, active.Version)
	report.Published = err == nil
	return report, err
}

// verified encodes a model that answers the same once it is opened again.
func verified(m *fitting.Model, h *sizing.History) (blob []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return m.VerifiedBlob(h)
}

// staying says what answers where nothing is published.
func staying(active *store.Model) string {
	if active.Version == 0 {
		return "the task stays without a model"
	}
	return fmt.Sprintf("version %d stays active", active.Version)
}

// pinned says why nothing is published over a version that a person pinned.
func (t *Trainer) pinned(ctx context.Context, active *store.Model) string {
	reason := fmt.Sprintf("version %d is pinned by %s: nothing is published until it is unpinned", active.Version, active.PinnedBy)
	if t.open(ctx, active) == nil {
		reason = fmt.Sprintf("version %d is pinned by %s and cannot be opened: unpin it (DELETE /tasks/{dag_id}/{task_id}/pin), then train", active.Version, active.PinnedBy)
	}
	return reason
}

// acting names who acts where nobody is named yet.
func acting(ctx context.Context, name string) context.Context {
	if sizing.Actor(ctx) != "" {
		return ctx
	}
	return sizing.WithActor(ctx, name)
}

// active reads the active model; the zero Model of the task where there is none.
func (t *Trainer) active(ctx context.Context, task sizing.TaskKey) (store.Model, error) {
	stored, err := t.store.ActiveModel(ctx, task)
	if sizing.KindOf(err) == sizing.NotFound {
		return store.Model{Task: task}, nil
	}
	return stored, err
}

// open makes a stored model answer; nil where there is none, or where it cannot be
// opened any more: then the challenger has nobody to beat.
func (t *Trainer) open(ctx context.Context, stored *store.Model) *fitting.Model {
	if stored.Version == 0 {
		return nil
	}
	model, err := fitting.Open(stored.Blob)
	if err != nil {
		t.log.ErrorContext(ctx, "a stored model cannot be opened", "task", stored.Task.String(), "version", stored.Version, "err", err)
		return nil
	}
	return model
}

// contained turns a panic of a fit into an error: the history of one task must not
// end the process that answers for all.
func contained(fit fit, h *sizing.History, champion *fitting.Model) (m *fitting.Model, out fitting.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked, please report this: %v\n%s", r, debug.Stack())
		}
	}()
	return fit(h, champion)
}
