// Package trainer trains the tasks that are due and publishes their models. Any replica
// leases a due task (SKIP LOCKED), fits a challenger, and publishes it by
// compare-and-swap.
//
// At longer intervals it searches for better parameters of a heavy task, at low priority.
//
// It knows the store's contract and package taskmodel, and nothing about HTTP or SQL.
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

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Config configures a Trainer. Its zero value is usable.
type Config struct {
	Every time.Duration       // interval between polls for due tasks; 500 ms if zero
	Lease time.Duration       // duration of a task's lease; 30 s if zero; renewed three times within it
	Retry time.Duration       // delay after a failure; 1 min if zero
	Keep  store.HistoryLimits // rows that a training reads; store.DefaultHistoryLimits if zero

	SearchEvery time.Duration // interval between parameter searches; no searches if zero

	Ended func(Ended) // called after every training and search of a known task; may be nil
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Retry = cmp.Or(c.Retry, time.Minute)
	return c
}

// Report is the result of a training or search.
type Report struct {
	Trained    bool
	Published  bool
	RolledBack bool // the watchdog promoted an earlier version instead
	Version    int  // active version afterwards; 0 if none
	Reason     string
}

// Ended describes a training or search that ended, with or without an error.
type Ended struct {
	Search bool
	Report Report
	Err    error
	Took   time.Duration
}

// Trainer trains due tasks. Its methods are safe for concurrent use; one goroutine at a
// time trains a task.
type Trainer struct {
	cfg      Config
	store    store.Store
	owner    string
	log      *slog.Logger
	busy     sync.Map // sizing.TaskKey → *sync.Mutex
	searches searches
}

// New returns a Trainer.
func New(st store.Store, cfg Config, log *slog.Logger) *Trainer {
	return &Trainer{cfg: cfg.withDefaults(), store: st, owner: uuid.NewString(), log: log}
}

// Run trains due tasks, and searches every Config.SearchEvery, until ctx ends.
func (t *Trainer) Run(ctx context.Context) {
	var searching sync.WaitGroup
	searching.Go(func() { t.runSearches(ctx) })
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

// RunOnce trains the task that has been due for longest. It returns false if no task is
// due.
func (t *Trainer) RunOnce(ctx context.Context) (bool, error) {
	claim, err := t.store.Claim(ctx, t.owner, t.cfg.Lease)
	if sizing.KindOf(err) == sizing.NotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim a due task: %w", err)
	}
	trainErr := t.trainUnderLease(ctx, claim)
	// The lease must be released even during a shutdown.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = t.store.Finish(last, claim, t.retryAt(ctx, trainErr))
	if sizing.KindOf(err) == sizing.Conflict {
		t.log.Info("training abandoned: another replica took it over, or the task was deleted", "task", claim.Task.String())
		return true, nil
	}
	return true, errors.Join(trainErr, err)
}

// retryAt returns when a failed training is due again: immediately if the shutdown of
// this process interrupted it. It returns zero if the training did not fail.
func (t *Trainer) retryAt(ctx context.Context, trainErr error) time.Time {
	switch {
	case trainErr == nil:
		return time.Time{}
	case ctx.Err() != nil:
		return time.Now()
	}
	return time.Now().Add(t.cfg.Retry)
}

// trainUnderLease trains while a heartbeat renews the lease; a lost lease cancels the
// training.
func (t *Trainer) trainUnderLease(ctx context.Context, claim store.Claim) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		heartbeat := time.NewTicker(t.cfg.Lease / 3)
		defer heartbeat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-heartbeat.C:
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

// TrainNow trains one task whether it is due or not. Too little data, or a challenger
// that lost, is a Report and no error. It returns NotFound if the task is unknown.
func (t *Trainer) TrainNow(ctx context.Context, task sizing.TaskKey) (Report, error) {
	return t.timed(ctx, false, func() (Report, error) { return t.trainExclusively(ctx, task, taskmodel.Fit) })
}

// timed runs do and passes its result and duration to Config.Ended, unless the caller
// cancelled it or the task is unknown: neither is a success or a failure.
func (t *Trainer) timed(ctx context.Context, search bool, do func() (Report, error)) (Report, error) {
	began := time.Now()
	report, err := do()
	if t.cfg.Ended != nil && ctx.Err() == nil && sizing.KindOf(err) != sizing.NotFound {
		t.cfg.Ended(Ended{Search: search, Report: report, Err: err, Took: time.Since(began)})
	}
	return report, err
}

// fit returns a challenger for a history and its champion, or nil if there is none.
type fit func(*sizing.History, *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error)

// trainExclusively fits and publishes while no other goroutine does so for the task.
func (t *Trainer) trainExclusively(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	turn, _ := t.busy.LoadOrStore(task, &sync.Mutex{})
	turn.(*sync.Mutex).Lock()
	defer turn.(*sync.Mutex).Unlock()
	for range 3 {
		report, err := t.train(ctx, task, fit)
		if sizing.KindOf(err) == sizing.NotFound {
			t.busy.Delete(task) // a caller may invent names: they must not accumulate
		}
		if sizing.KindOf(err) != sizing.Conflict {
			return report, err
		}
		// Another replica published first: train on top of its model.
	}
	return Report{Trained: true, Reason: "other replicas kept publishing first"}, nil
}

func (t *Trainer) train(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	// Read the champion first. It must not contain rows that the history lacks, because
	// a replica that loads the challenger would learn them again.
	active, err := t.active(ctx, task)
	if err != nil {
		return Report{}, err
	}
	if back, reason, err := t.checkPromises(ctx, &active); err != nil || back > 0 {
		return Report{RolledBack: back > 0, Version: back, Reason: reason}, err
	}
	onProbation := active.PinnedBy == store.Watchdog
	if active.PinnedBy != "" && !onProbation {
		return Report{Version: active.Version, Reason: t.pinReason(ctx, &active)}, nil
	}
	champion := t.open(ctx, &active)
	if champion != nil && onProbation {
		champion.LastEvaluation = taskmodel.Evaluation{} // makes an evaluation due now
	}
	isEvaluated := champion != nil
	history, err := t.store.History(ctx, task, t.cfg.Keep)
	if err != nil {
		return Report{}, err
	}
	challenger, outcome, err := fitRecovering(fit, &history, champion)
	if err != nil {
		return Report{}, fmt.Errorf("fit %s: %w", task, err)
	}
	report := Report{Trained: outcome.Trained, Version: active.Version, Reason: outcome.Reason}
	if challenger == nil {
		return report, nil
	}
	if onProbation && isEvaluated && !outcome.Evaluation.Passed {
		report.Reason = fmt.Sprintf("version %d, which the watchdog promoted, stays until another wins an evaluation against it", active.Version)
		return report, nil
	}
	for _, warning := range outcome.Warnings {
		t.log.WarnContext(ctx, "training warning", "task", task.String(), "warning", warning)
	}
	blob, err := verifiedBlob(challenger, &history)
	if err != nil {
		return report, fmt.Errorf("publish %s: the trained model is not usable, so %s: %w; please report this", task, remainingModel(&active), err)
	}
	share, err := challenger.EncodeShare()
	if err != nil {
		return report, fmt.Errorf("publish %s: %w", task, err)
	}
	report.Version, err = t.store.Publish(withDefaultActor(ctx, store.Trainer), store.Model{
		Task: task, Family: challenger.Family(), Format: challenger.Format(), Blob: blob, Share: share,
		Observations: history.Total, LastSeq: history.LastSeq, TrainedAt: time.Now(), Evaluation: outcome.Evaluation.JSON(),
	}, active.Version)
	report.Published = err == nil
	return report, err
}

// verifiedBlob encodes a model and checks that the decoded model gives the same answers.
func verifiedBlob(m *taskmodel.Model, h *sizing.History) (blob []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return m.VerifiedBlob(h)
}

// remainingModel describes the model that remains active if nothing is published.
func remainingModel(active *store.Model) string {
	if active.Version == 0 {
		return "the task stays without a model"
	}
	return fmt.Sprintf("version %d stays active", active.Version)
}

// pinReason explains why a training does not replace a version that a person pinned.
func (t *Trainer) pinReason(ctx context.Context, active *store.Model) string {
	reason := fmt.Sprintf("version %d is pinned by %s: nothing is published until it is unpinned", active.Version, active.PinnedBy)
	if t.open(ctx, active) == nil {
		reason = fmt.Sprintf("version %d is pinned by %s and cannot be opened: unpin it (DELETE /tasks/{dag_id}/{task_id}/pin), then train", active.Version, active.PinnedBy)
	}
	return reason
}

// withDefaultActor sets the actor of the audit trail if ctx has none.
func withDefaultActor(ctx context.Context, name string) context.Context {
	if sizing.Actor(ctx) != "" {
		return ctx
	}
	return sizing.WithActor(ctx, name)
}

// active reads the active model, or returns a Model without a version if there is none.
func (t *Trainer) active(ctx context.Context, task sizing.TaskKey) (store.Model, error) {
	stored, err := t.store.ActiveModel(ctx, task)
	if sizing.KindOf(err) == sizing.NotFound {
		return store.Model{Task: task}, nil
	}
	return stored, err
}

// open decodes a stored model. It returns nil if there is none, or if it cannot be
// decoded; the challenger then has no champion to beat.
func (t *Trainer) open(ctx context.Context, stored *store.Model) *taskmodel.Model {
	if stored.Version == 0 {
		return nil
	}
	model, err := taskmodel.Open(stored.Blob)
	if err != nil {
		t.log.ErrorContext(ctx, "stored model cannot be opened", "task", stored.Task.String(), "version", stored.Version, "err", err)
		return nil
	}
	return model
}

// fitRecovering turns a panic of a fit into an error, because the history of one task must
// not end the process that trains all tasks.
func fitRecovering(fit fit, h *sizing.History, champion *taskmodel.Model) (m *taskmodel.Model, out taskmodel.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked, please report this: %v\n%s", r, debug.Stack())
		}
	}()
	return fit(h, champion)
}
