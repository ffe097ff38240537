// Package reconcile looks up, in sources such as Prometheus, tries that were reported without a sampled peak, and tries
// with a receipt that were never reported. It completes the reports of the former, and reports the latter.
//
//	report: end ──Delay──▶ looked up ──▶ amended
//	                           └──Within──▶ missing: the sampled peak stays unknown
//	receipt: answer ──expected duration, Delay──▶ looked up ──▶ reported    (the reporter failed)
//	                                                  └──Within──▶ expired: the outcome stays unknown
//
// Delay and Within are fields of Config. A lookup waits for Delay, because a monitoring system receives values with a delay.
//
// It depends on packages sizing and store and on functions of the types Source and Observe, but not on Prometheus,
// HTTP or SQL. One replica at a time looks up tries for all replicas.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Source looks up a try that ran between `from` and `to`. It returns false if it does not know the try.
// Zero fields of the observation are unknown, including Outcome. After ErrAmbiguous, the pass continues as if the source did
// not know the try. After another error, it looks up no more tries of the same kind (without a sampled peak, or unreported).
type Source func(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error)

// ErrAmbiguous is the error of a Source that knows several candidates for a try.
var ErrAmbiguous = errors.New("ambiguous try")

// Result is the result of one pass for one try. It is a label of metrics.
type Result string

// The results.
const (
	Amended  Result = "amended"  // a reported try got a sampled or a measured peak, or its failure became an OOM kill
	Reported Result = "reported" // an unreported try was reported from a source
	Waiting  Result = "waiting"  // the try may still run, or no source knows enough yet; a later pass looks the try up
	Missing  Result = "missing"  // no source had the missing peak (sampled or measured) of a reported try within Config.Within
	Expired  Result = "expired"  // no source knew the outcome of an unreported try within Config.Within; it stays unknown
	Rejected Result = "refused"  // the store rejected the report, usually because it contradicts one that arrived meanwhile
)

// Results lists all results.
var Results = []Result{Amended, Reported, Waiting, Missing, Expired, Rejected}

// Config configures a Worker. The zero value is usable.
type Config struct {
	Sources  []Source         // in order of preference: the first known value of a field is used
	Every    time.Duration    // interval between passes; 1 min if zero
	Delay    time.Duration    // time from the end, or the expected end, of a try to its first lookup; 5 min if zero
	Within   time.Duration    // time for which a try is looked up, from the end of a reported try, or from Delay after the expected end of an unreported one; 24 h if zero
	Expected time.Duration    // assumed duration of a try without a predicted duration; 1 h if zero
	Batch    int              // largest number of tries of each kind (without a sampled peak, unreported) per pass; 100 if zero
	Now      func() time.Time // time.Now if nil
	Count    func(Result)     // called with the result of each try; optional
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, time.Minute)
	c.Delay = cmp.Or(c.Delay, 5*time.Minute)
	c.Within = cmp.Or(c.Within, 24*time.Hour)
	c.Expected = cmp.Or(c.Expected, time.Hour)
	c.Batch = cmp.Or(c.Batch, 100)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Count == nil {
		c.Count = func(Result) {}
	}
	return c
}

// Observe stores reports and returns one result for each, like service.Service.Observe.
type Observe func(context.Context, []sizing.Observation) ([]sizing.RecordResult, error)

// Worker looks up tries with missing or incomplete reports. Every replica may run a Worker; a lease lets one of
// them work at a time, as long as a pass is shorter than the lease.
type Worker struct {
	cfg     Config
	store   store.Reconciliation
	observe Observe
	owner   string
	log     *slog.Logger

	ambiguous []error // the errors of the current pass that wrap ErrAmbiguous
}

// New returns a Worker.
func New(st store.Reconciliation, observe Observe, cfg Config, log *slog.Logger) *Worker {
	return &Worker{cfg: cfg.withDefaults(), store: st, observe: observe, owner: uuid.NewString(), log: log}
}

// Run makes a pass every cfg.Every until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := w.RunOnce(ctx); err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "reconcile pass failed; the next pass retries", "err", err)
		}
	}
}

const leaseName = "reconcile"

// RunOnce looks up at most cfg.Batch tries of each kind. If another replica holds the lease, it does nothing
// and returns nil. The results of lookups before an error are stored.
func (w *Worker) RunOnce(ctx context.Context) error {
	// If a pass takes longer than the lease, another replica may start a pass, too. Both then send the same queries, which
	// is harmless, because reports are idempotent.
	acquired, err := w.store.AcquireLease(ctx, leaseName, w.owner, 3*w.cfg.Every)
	if err != nil || !acquired {
		return err
	}
	w.ambiguous = nil
	err = errors.Join(w.reconcileUnsampled(ctx), w.reconcileUnreported(ctx))
	if n := len(w.ambiguous); n > 0 {
		w.log.WarnContext(ctx, "a source knows several candidates for some tries, so its values were not used for them", "tries", n, "first", w.ambiguous[0])
	}
	return err
}

func lookUpAll[T any](ctx context.Context, w *Worker, tries []T, lookUp func(T) (Result, store.Lookup, error)) error {
	var lookups []store.Lookup
	var err error
	for _, try := range tries {
		var result Result
		var lookup store.Lookup
		if result, lookup, err = lookUp(try); err != nil {
			break
		}
		lookups = append(lookups, lookup)
		w.cfg.Count(result)
	}
	if len(lookups) == 0 {
		return err
	}
	// SaveLookups also deletes lookups that were stored more than 4 · Within ago. No pass lists their tries any
	// more: a pass lists the tries that ended, or were answered, at most 3 · Within ago.
	return errors.Join(err, w.store.SaveLookups(context.WithoutCancel(ctx), lookups, w.cfg.Now().Add(-4*w.cfg.Within)))
}

func (w *Worker) lookUp(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, error) {
	var known sizing.Observation
	for _, source := range w.cfg.Sources {
		o, ok, err := source(ctx, try, from, to)
		if errors.Is(err, ErrAmbiguous) {
			w.ambiguous = append(w.ambiguous, err)
			continue
		}
		if err != nil {
			return known, err
		}
		if ok {
			known = merge(known, o)
		}
	}
	return known, nil
}

// merge returns `a` with its unknown fields filled from `b`. It fills the start and the end only if `a` has neither.
// If both outcomes are known and differ, it returns `a` unchanged.
func merge(a, b sizing.Observation) sizing.Observation {
	if a.Outcome != sizing.UnknownOutcome && b.Outcome != sizing.UnknownOutcome && a.Outcome != b.Outcome {
		return a
	}
	a.Outcome = max(a.Outcome, b.Outcome)
	a.MemoryMax, a.MemorySampled = cmp.Or(a.MemoryMax, b.MemoryMax), cmp.Or(a.MemorySampled, b.MemorySampled)
	a.CPUMax, a.Duration = cmp.Or(a.CPUMax, b.CPUMax), cmp.Or(a.Duration, b.Duration)
	if a.StartedAt.IsZero() && a.EndedAt.IsZero() {
		a.StartedAt, a.EndedAt = b.StartedAt, b.EndedAt
	}
	a.Allocated, a.Requested = orElse(a.Allocated, b.Allocated), orElse(a.Requested, b.Requested)
	return a
}

func orElse(a, b sizing.Resources) sizing.Resources {
	return sizing.Resources{Memory: cmp.Or(a.Memory, b.Memory), CPU: cmp.Or(a.CPU, b.CPU)}
}

// retryAt returns the time of the next lookup of a try. `end` is the end of a reported try, or cfg.Delay after the expected end
// of an unreported one. The pause until the lookup is half of the time since `end`, and at least cfg.Delay.
func (w *Worker) retryAt(end time.Time) time.Time {
	now := w.cfg.Now()
	return now.Add(max(w.cfg.Delay, now.Sub(end)/2))
}

func (w *Worker) report(ctx context.Context, o sizing.Observation, success Result) (Result, error) {
	recorded, err := w.observe(ctx, []sizing.Observation{o})
	if err != nil {
		return "", err
	}
	if err := recorded[0].Err; err != nil {
		w.log.InfoContext(ctx, "the store rejected a reconciled report", "task", o.Try.TaskKey.String(), "run_id", o.Try.RunID, "err", err)
		return Rejected, nil
	}
	return success, nil
}
