package backtest

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// NewTrace returns the newest tries of stored histories, at most maxRows, as one trace. The rows are ordered
// by HistoryRow.StartedAt. A row without this time has HistoryRow.At as its start, and a replay learns it at once, even
// with delayed feedback. NewTrace leaves out tries that cannot be replayed. A stored history has no metadata.
// Therefore the cohort compares first runs of tasks with other tasks by names, features and requests only.
// If no try remains, NewTrace returns an error of kind sizing.NotFound.
func NewTrace(name string, histories []sizing.History, maxRows int) (*Trace, error) {
	t := &Trace{Name: name, Cap: minCap}
	for i := range histories {
		h := &histories[i]
		for j := range h.Rows {
			r := &h.Rows[j]
			if _, known := r.Peak(); known != sizing.Exact || r.Duration <= 0 {
				t.LeftOut++
				continue
			}
			replayed := row{startUnknown: r.StartedAt.IsZero(), Observation: sizing.Observation{
				Try:     sizing.TryKey{TaskKey: h.Task, RunID: r.RunID, MapIndex: r.MapIndex, Number: r.Try},
				Outcome: r.Outcome, MemoryMax: r.MemoryMax, CPUMax: r.CPUMax, Duration: r.Duration, StartedAt: r.StartedAt, EndedAt: r.At,
				Requested: r.Requested, Allocated: r.Allocated, Features: h.Schema.Features(r.Features),
			}}
			if replayed.startUnknown {
				replayed.StartedAt = r.At
			}
			t.rows = append(t.rows, replayed)
		}
	}
	if len(t.rows) == 0 {
		return nil, sizing.Errorf(sizing.NotFound, "replay %s: no run has a measured peak and a duration; report runs with both first", name)
	}
	slices.SortStableFunc(t.rows, func(a, b row) int { return a.StartedAt.Compare(b.StartedAt) })
	if len(t.rows) > maxRows {
		t.rows = t.rows[len(t.rows)-maxRows:]
	}
	for i := range t.rows {
		t.Cap = max(t.Cap, t.rows[i].MemoryMax.Times(1.0001))
	}
	return t, nil
}

// Rows returns the number of rows.
func (t *Trace) Rows() int { return len(t.rows) }

// RunSettings replays a trace for loadaware's own policy, once for each element of settings. An element is a function that
// returns the settings of a task. The results have the order of settings. Replays in lockstep share the fits on equal rows.
// Almost all rows are equal, because the settings change only the grants, and the models learn the peaks.
func RunSettings(ctx context.Context, t *Trace, cfg Config, settings ...func(sizing.TaskKey) sizing.Policy) ([]Result, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cfg.workers = newWorkers(ctx, cfg.Workers)
	if cfg.IsBusy != nil {
		go cfg.workers.yieldWorkers(ctx, cfg.IsBusy)
	}
	var results []Result
	for batch := range slices.Chunk(settings, lockstepReplays) {
		cfg.fits = taskmodel.NewFitCache(cfg.workers.Weighted, cachedFits)
		replays := make([]*replay, len(batch))
		for i, settingsOf := range batch {
			policy := newLoadawarePolicy(cfg)
			policy.settings = func(task sizing.TaskKey) sizing.Policy { return settingsOf(task).WithDefaults() }
			replays[i] = &replay{trace: t, cfg: cfg, policy: policy, costs: newPolicyCosts()}
		}
		if err := runInLockstep(ctx, t, replays); err != nil {
			return nil, fmt.Errorf("replay %s: %w", t.Name, err)
		}
		for _, r := range replays {
			results = append(results, r.costs.result(Loadaware))
		}
	}
	return results, nil
}

const (
	lockstepReplays = 4   // number of replays in lockstep; more replays share more fits, but each has the history and the models of all tasks in memory
	cachedFits      = 128 // enough for the fits of progressEvery rows, the largest lead of one replay over another
)

// runInLockstep replays the same rows for all replays before it continues with the next rows.
func runInLockstep(ctx context.Context, t *Trace, replays []*replay) (err error) {
	for from := 0; from < len(t.rows) && err == nil; from += progressEvery {
		var group errgroup.Group
		for _, r := range replays {
			group.Go(func() (err error) {
				defer func() { // a panic must not end a server
					if failure := recover(); failure != nil {
						err = fmt.Errorf("replay panicked: %v; please report this", failure)
					}
				}()
				return r.advance(ctx, from, min(from+progressEvery, len(t.rows)))
			})
		}
		err = group.Wait()
	}
	for _, r := range replays {
		if last := r.finish(); err == nil {
			err = last
		}
	}
	return err
}

// question sets the floor, cap, risk target, lifts and bins from the task's settings. With NeverAbove the cap of a first
// try is at most the static request.
func question(q *Question, l *learner, settings *sizing.Policy) taskmodel.Question {
	question := taskmodel.Question{
		Features: q.Features, Requested: q.static(), Floor: settings.Floor, Cap: q.maxLift(), RiskTarget: settings.RiskTarget, Above: q.Above,
		Lifts: max(0, *settings.MaxLifts-max(0, q.Try.Number-2)), GuardFactor: l.guard.Factor(q.StartedAt), Open: l.guard.OpenKills(q.StartedAt),
	}
	if settings.Cap > 0 {
		question.Cap, question.CapBy = settings.Cap, taskmodel.CapPolicy
	}
	if settings.NeverAbove && q.Above == 0 && q.Static > 0 && q.Static < question.Cap {
		question.Cap, question.CapBy = q.Static, taskmodel.CapRequest
	}
	if settings.Grid == sizing.OnBins {
		if question.Edges = settings.Edges; len(question.Edges) == 0 {
			question.Edges = l.model.Bins
		}
	}
	return question
}
