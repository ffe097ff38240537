// Package trainer trains the tasks that are due and publishes their models. Any replica leases a due task (SKIP LOCKED),
// updates its model, and stores the new version as the active one by compare-and-swap.
// An update fits at row counts that depend only on the history, so that a late training publishes the same model as an
// early one. The exception is a long backlog of rows, for example after an import (taskmodel.Update).
//
// After trainings it also trains the cohort of the namespace; no training of a task of another
// namespace waits for it. At longer intervals, at a lower priority, it searches for better parameters of a heavy task,
// and learns the shapes of run times, the usage profiles and the plans of growing limits.
//
// Other packages decide when a task is trained: the store makes it due after a report
// (Debounce in package postgres), and package taskmodel says when a training fits (IsFitDue),
// after how many rows a replica refits the first models (earlyFitRows), and when a training evaluates (isEvaluationDue).
//
// The package reads and writes through the interface of package store. It uses neither HTTP nor SQL.
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
	Lease time.Duration       // duration of a task's lease, renewed every third of it; 30 s if zero
	Retry time.Duration       // delay after a failure; 1 min if zero
	Keep  store.HistoryLimits // bounds of the rows that a training reads; zero fields as in store.DefaultHistoryLimits

	SearchEvery   time.Duration // interval between parameter searches; no searches if zero
	ShapesEvery   time.Duration // age from which on the shapes of run times are learned again; they are never learned if zero
	OnlyRequested bool          // Run does nothing, so that only TrainNow trains
	NoCohorts     bool          // no cohorts are trained

	ProfilesEvery time.Duration // age from which on usage profiles may be found again; they are never found if zero
	PlansEvery    time.Duration // interval between passes that learn plans of growing limits; no passes if zero

	Ended func(JobEnd) // called after each training and search, except if its context has ended or the task is unknown; may be nil
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Retry = cmp.Or(c.Retry, time.Minute)
	return c
}

// Report is the result of a training or search.
type Report struct {
	Trained    bool   // a challenger was fitted, published or not
	Published  bool   // the challenger was published; its version is Version
	RolledBack bool   // the watchdog promoted an earlier version instead of a training
	Version    int    // active version afterwards; 0 if there is none
	Reason     string // why the model was published or not
}

// JobEnd describes a training or search that ended, with or without an error.
type JobEnd struct {
	Search bool
	Report Report
	Err    error
	Took   time.Duration
}

// Trainer trains due tasks. Its methods except FindProfiles are safe for concurrent use; one goroutine at a
// time trains a task.
type Trainer struct {
	cfg      Config
	store    store.Store
	owner    string
	log      *slog.Logger
	locks    sync.Map     // sizing.TaskKey → *sync.Mutex, held during a training
	growth   cohortGrowth // decides when the CohortAge of a namespace is read
	searches searches
	profiles checkedReports // for FindProfiles

	dueCohorts       *namespaceSet // whose cohorts may be due; for runCohorts
	backgroundCohort sync.Mutex    // held while a loop of Run trains a cohort
	requestedCohort  sync.Mutex    // held while TrainNow trains a cohort, so that it does not wait for the loops
}

// New returns a Trainer.
func New(st store.Store, cfg Config, log *slog.Logger) *Trainer {
	return &Trainer{cfg: cfg.withDefaults(), store: st, owner: uuid.NewString(), log: log, dueCohorts: newNamespaceSet()}
}

// Run trains due tasks, and the cohorts of their namespaces, until ctx ends. At the intervals and ages of Config it also
// calls SearchOnce, LearnShapes, LearnPlans and FindProfiles. With Config.OnlyRequested it only waits.
func (t *Trainer) Run(ctx context.Context) {
	if t.cfg.OnlyRequested {
		<-ctx.Done()
		return
	}
	var loops sync.WaitGroup
	loops.Go(func() { t.runSearches(ctx) })
	loops.Go(func() { t.runShapes(ctx) })
	loops.Go(func() { t.runProfiles(ctx) })
	loops.Go(func() { t.runPlans(ctx) })
	loops.Go(func() { t.runCohorts(ctx) })
	defer loops.Wait()
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

// RunOnce trains the task that has been due longest. It returns false if no task is due. Only Run trains the cohort of the
// task's namespace.
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
	finishCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = t.store.Finish(finishCtx, claim, t.retryAt(ctx, trainErr))
	t.dueCohorts.add(claim.Task.Namespace)
	if sizing.KindOf(err) == sizing.Conflict {
		t.log.Info("training abandoned: another replica claimed the task, or the task was deleted", "task", claim.Task.String())
		return true, nil
	}
	return true, errors.Join(trainErr, err)
}

// retryAt returns the time at which a failed training is due again: now if a shutdown interrupted the training. It returns
// the zero time if the training did not fail.
func (t *Trainer) retryAt(ctx context.Context, trainErr error) time.Time {
	switch {
	case trainErr == nil:
		return time.Time{}
	case ctx.Err() != nil:
		return time.Now()
	}
	return time.Now().Add(t.cfg.Retry)
}

// trainUnderLease trains while a heartbeat renews the lease; a lost lease cancels the training.
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
	report, err := t.runJob(ctx, false, func() (Report, error) { return t.trainExclusively(ctx, claim.Task, taskmodel.Update) })
	if sizing.KindOf(err) == sizing.NotFound {
		return nil // the task was deleted in the meantime
	}
	if err == nil {
		t.log.Info("trained", "task", claim.Task.String(), "published", report.Published, "version", report.Version, "reason", report.Reason)
	}
	return err
}

// TrainNow trains one task, due or not, and fits on all rows within Config.Keep. It returns a Report with the reason and no
// error if it publishes no model: there is too little data, the challenger lost its evaluation, a version is pinned, the
// watchdog rolled back, or other replicas published first. It returns NotFound if the task is unknown.
func (t *Trainer) TrainNow(ctx context.Context, task sizing.TaskKey) (Report, error) {
	report, err := t.runJob(ctx, false, func() (Report, error) { return t.trainExclusively(ctx, task, taskmodel.Fit) })
	if err == nil {
		t.updateCohort(ctx, task.Namespace, &t.requestedCohort)
	}
	return report, err
}

// runJob runs a training or a search, and then calls Config.Ended. It does not call Config.Ended if ctx has ended or the task
// is unknown: these are neither successes nor failures.
func (t *Trainer) runJob(ctx context.Context, search bool, do func() (Report, error)) (Report, error) {
	start := time.Now()
	report, err := do()
	if t.cfg.Ended != nil && ctx.Err() == nil && sizing.KindOf(err) != sizing.NotFound {
		t.cfg.Ended(JobEnd{Search: search, Report: report, Err: err, Took: time.Since(start)})
	}
	return report, err
}

// fit fits a challenger. Its second argument is the champion; nil: none. The challenger is nil if there is too little data
// or if it lost its evaluation against the champion.
type fit func(*sizing.History, *taskmodel.Model) (*taskmodel.Model, taskmodel.Outcome, error)

func (t *Trainer) trainExclusively(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	lock, _ := t.locks.LoadOrStore(task, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	for range 3 {
		report, err := t.train(ctx, task, fit)
		if sizing.KindOf(err) == sizing.NotFound {
			t.locks.Delete(task) // callers may send any names of tasks, and locks of unknown tasks must not accumulate
		}
		if sizing.KindOf(err) != sizing.Conflict {
			return report, err
		}
		// Another replica published first. Train again from its model.
	}
	active, err := t.active(ctx, task)
	return Report{Trained: true, Version: active.Version, Reason: "other replicas kept publishing first"}, err
}

// train first checks the promises of the active model. Without a rollback and without a pin by a person, it publishes a
// challenger, unless there is too little data or the challenger lost its evaluation. A version that the watchdog promoted is
// replaced only if the challenger won an evaluation against it, or if this version cannot be decoded.
func (t *Trainer) train(ctx context.Context, task sizing.TaskKey, fit fit) (Report, error) {
	// Read the champion first. It must not contain rows that the history lacks, because
	// a replica that loads the challenger would learn them again.
	active, err := t.active(ctx, task)
	if err != nil {
		return Report{}, err
	}
	if target, reason, err := t.checkPromises(ctx, &active); err != nil || target > 0 {
		return Report{RolledBack: target > 0, Version: target, Reason: reason}, err
	}
	isRolledBack := active.PinnedBy == store.Watchdog
	if active.PinnedBy != "" && !isRolledBack {
		return Report{Version: active.Version, Reason: t.pinReason(ctx, &active)}, nil
	}
	champion := t.open(ctx, &active)
	if champion != nil && isRolledBack {
		champion.LastEvaluation = taskmodel.Evaluation{} // so that an evaluation is due in this training
		fit = taskmodel.Fit
	}
	isEvaluated := champion != nil
	history, err := t.store.History(ctx, task, t.cfg.Keep)
	if err != nil {
		return Report{}, err
	}
	t.growth.add(&history, &active)
	challenger, outcome, err := fitRecovering(fit, &history, champion)
	if err != nil {
		return Report{}, fmt.Errorf("fit %s: %w", task, err)
	}
	report := Report{Trained: outcome.Trained, Version: active.Version, Reason: outcome.Reason}
	if challenger == nil {
		return report, nil
	}
	if isRolledBack && isEvaluated && !outcome.Evaluation.Passed {
		report.Reason = fmt.Sprintf("version %d, which the watchdog promoted, stays active until a challenger wins an evaluation against it", active.Version)
		return report, nil
	}
	for _, warning := range outcome.Warnings {
		t.log.WarnContext(ctx, "training warning", "task", task.String(), "warning", warning)
	}
	blob, err := verifiedBlob(challenger, &history)
	if err != nil {
		return report, fmt.Errorf("publish %s: the trained model is not usable, so %s: %w; report this error", task, remainingModel(&active), err)
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
			err = fmt.Errorf("the verification panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return m.VerifiedBlob(h)
}

func remainingModel(active *store.Model) string {
	if active.Version == 0 {
		return "the task stays without a model"
	}
	return fmt.Sprintf("version %d stays active", active.Version)
}

func (t *Trainer) pinReason(ctx context.Context, active *store.Model) string {
	reason := fmt.Sprintf("version %d is pinned by %s: nothing is published until it is unpinned", active.Version, active.PinnedBy)
	if t.open(ctx, active) == nil {
		reason = fmt.Sprintf("version %d is pinned by %s and cannot be opened: unpin it (DELETE /tasks/{dag_id}/{task_id}/pin), then train", active.Version, active.PinnedBy)
	}
	return reason
}

func withDefaultActor(ctx context.Context, name string) context.Context {
	if sizing.Actor(ctx) != "" {
		return ctx
	}
	return sizing.WithActor(ctx, name)
}

func (t *Trainer) active(ctx context.Context, task sizing.TaskKey) (store.Model, error) {
	stored, err := t.store.ActiveModel(ctx, task)
	if sizing.KindOf(err) == sizing.NotFound {
		return store.Model{Task: task}, nil
	}
	return stored, err
}

// open decodes a stored model. It returns nil if `stored` has no version or cannot be decoded. Without a champion, a
// challenger needs no evaluation.
func (t *Trainer) open(ctx context.Context, stored *store.Model) *taskmodel.Model {
	if stored.Version == 0 {
		return nil
	}
	model, err := taskmodel.Open(stored.Blob)
	if err != nil {
		t.log.ErrorContext(ctx, "failed to open a stored model", "task", stored.Task.String(), "version", stored.Version, "err", err)
		return nil
	}
	return model
}

// fitRecovering turns a panic of a fit into an error, because the history of one task must not end the process that trains
// all tasks.
func fitRecovering(fit fit, h *sizing.History, champion *taskmodel.Model) (m *taskmodel.Model, out taskmodel.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the fit panicked; report this error: %v\n%s", r, debug.Stack())
		}
	}()
	return fit(h, champion)
}
