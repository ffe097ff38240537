// Package reconcile asks others about tries of which not all was told: those that
// were reported without a sampled peak, and those that were answered and never
// reported.
//
//	ended ──Delay──▶ asked ──▶ amended                 (scrapes lag)
//	answered ──expected duration──▶ asked ──▶ reported (its reporter died)
//	                                  └──Within──▶ expired: it stays unknown
//
// It knows the words of sizing, the store's contract and who to ask, and nothing of
// Prometheus, HTTP or SQL. One replica does it for all.
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

// Witness tells what it knows of a try that ran between from and to; false if
// nothing. Zero fields are not known, of Outcome too. An error ends the pass.
type Witness func(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error)

// Result is what became of one try that was looked at.
type Result string

// The results.
const (
	Amended  Result = "amended"  // a reported try got its sampled peak
	Reported Result = "reported" // a silent try was told of by a witness
	Waiting  Result = "waiting"  // nobody knows yet: it is asked about again
	Missing  Result = "missing"  // a reported try of which no witness knows more
	Expired  Result = "expired"  // a silent try that stays unknown
	Refused  Result = "refused"  // what was found contradicts what was told meanwhile
)

// Results are all of them, for those who count.
var Results = []Result{Amended, Reported, Waiting, Missing, Expired, Refused}

// Config has usable zero values.
type Config struct {
	Witnesses []Witness        // the first that knows how a try ended is believed
	Every     time.Duration    // between passes; 1 min if zero
	Delay     time.Duration    // after the end of a try, before anybody is asked; 5 min if zero
	Within    time.Duration    // after it, what is not known by then stays unknown; 24 h if zero
	Expected  time.Duration    // duration of a try of which none is foretold; 1 h if zero
	Batch     int              // most tries of a kind looked at in a pass; 100 if zero
	Now       func() time.Time // time.Now if nil
	Count     func(Result)     // is told of every try that was looked at; nobody if nil
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

// Observe is where reports go: service.Service.Observe.
type Observe func(context.Context, []sizing.Observation) ([]sizing.RecordResult, error)

// Worker looks for such tries. RunOnce may be called from many replicas.
type Worker struct {
	cfg     Config
	store   store.Reconciliation
	observe Observe
	owner   string
	log     *slog.Logger
}

// New makes a Worker.
func New(st store.Reconciliation, observe Observe, cfg Config, log *slog.Logger) *Worker {
	return &Worker{cfg: cfg.withDefaults(), store: st, observe: observe, owner: uuid.NewString(), log: log}
}

// Run makes a pass now and then, until ctx ends.
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
			w.log.WarnContext(ctx, "tries that were not told of in full could not be asked about: the next pass tries again", "err", err)
		}
	}
}

// duty is the name under which one replica does this for all.
const duty = "reconcile"

// RunOnce makes one pass over at most a batch of each kind, unless another replica has
// the duty. What was found out before an error stays.
func (w *Worker) RunOnce(ctx context.Context) error {
	// A pass that takes longer than its lease is joined by another replica, which
	// costs queries and does no harm: what is told twice counts once.
	mine, err := w.store.AcquireLease(ctx, duty, w.owner, 3*w.cfg.Every)
	if err != nil || !mine {
		return err
	}
	return errors.Join(w.unsampled(ctx), w.silent(ctx))
}

// inquire looks at tries one by one and notes what came of them, also where it broke
// off.
func inquire[T any](ctx context.Context, w *Worker, tries []T, look func(T) (Result, store.Lookup, error)) error {
	var noted []store.Lookup
	var err error
	for _, try := range tries {
		var result Result
		var note store.Lookup
		if result, note, err = look(try); err != nil {
			break
		}
		noted = append(noted, note)
		w.cfg.Count(result)
	}
	if len(noted) == 0 {
		return err
	}
	// Notes are kept for longer than a try is looked at.
	return errors.Join(err, w.store.SaveLookups(context.WithoutCancel(ctx), noted, w.cfg.Now().Add(-4*w.cfg.Within)))
}

// ask joins what the witnesses know, and believes the first in what two of them say.
// It asks nobody further who has nothing to add.
func (w *Worker) ask(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error) {
	var known sizing.Observation
	found := false
	for _, witness := range w.cfg.Witnesses {
		said, ok, err := witness(ctx, try, from, to)
		if err != nil {
			return known, found, err
		}
		if ok {
			known, found = joined(known, said), true
		}
	}
	return known, found, nil
}

// joined fills what a does not know from b, unless they disagree on how it ended.
func joined(a, b sizing.Observation) sizing.Observation {
	if a.Outcome != sizing.UnknownOutcome && b.Outcome != sizing.UnknownOutcome && a.Outcome != b.Outcome {
		return a
	}
	a.Outcome = max(a.Outcome, b.Outcome)
	a.MemoryMax, a.MemorySampled = cmp.Or(a.MemoryMax, b.MemoryMax), cmp.Or(a.MemorySampled, b.MemorySampled)
	a.CPUMax, a.Duration = cmp.Or(a.CPUMax, b.CPUMax), cmp.Or(a.Duration, b.Duration)
	if a.StartedAt.IsZero() && a.EndedAt.IsZero() {
		a.StartedAt, a.EndedAt = b.StartedAt, b.EndedAt
	}
	a.Allocated, a.Requested = either(a.Allocated, b.Allocated), either(a.Requested, b.Requested)
	return a
}

func either(a, b sizing.Resources) sizing.Resources {
	return sizing.Resources{Memory: cmp.Or(a.Memory, b.Memory), CPU: cmp.Or(a.CPU, b.CPU)}
}

// again is when to ask again about what happened at since: soon at first, and then
// ever less often.
func (w *Worker) again(since time.Time) time.Time {
	now := w.cfg.Now()
	return now.Add(max(w.cfg.Delay, now.Sub(since)/2))
}

// report tells of a try, and says what that came to.
func (w *Worker) report(ctx context.Context, o sizing.Observation, told Result) (Result, error) {
	recorded, err := w.observe(ctx, []sizing.Observation{o})
	if err != nil {
		return "", err
	}
	if err := recorded[0].Err; err != nil {
		w.log.InfoContext(ctx, "what was found of a try was not taken", "task", o.Try.TaskKey.String(), "run_id", o.Try.RunID, "err", err)
		return Refused, nil
	}
	return told, nil
}
