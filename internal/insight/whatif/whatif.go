// Package whatif replays the stored history of a task or a DAG with other settings of the policies, and measures the waste
// and the kills. Settings replace the policy of each task, or its risk target, floor, cap, lifts or bins. The package replays
// the history once with the current policies and once with each Settings, and predicts each run before it learns the run.
// It learns a run when the run has ended in the history.
// Replays run in the background, one question at a time. Their rows, time and CPUs are limited.
//
// A what-if of run times, on another type of node or with other inputs, is in package placement.
package whatif

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Limits of one question.
const (
	MaxSettings = 12
	maxTaskRows = 20_000 // largest number of rows of a task; of a longer history, the newest 8,000, the 2,000 with the highest peaks and a sample of the others
	maxRows     = 60_000 // largest number of replayed rows of all tasks together: the newest; with a larger value more replays reach maxTime
)

// Question asks for the effect of other settings.
type Question struct {
	Task     sizing.TaskKey // if its Task is empty: all tasks of the DAG
	Settings []Settings
	Set      sizing.Features // values that replace the features of the newest runs; only for a single task
}

// Settings replaces parts of the policies. A nil field does not change the policy of a task.
type Settings struct {
	Policy     *sizing.Policy // replaces the whole policy, before the other fields replace its parts
	RiskTarget *float64
	Floor, Cap *sizing.Bytes
	MaxLifts   *int
	Bins       sizing.Bins
}

// apply returns a policy with the settings. It sets the mode enforce, because a replay in shadow or
// off would show the static request.
func (s *Settings) apply(p sizing.Policy) sizing.Policy {
	if s.Policy != nil {
		p = *s.Policy
	}
	p.Mode = sizing.Enforce
	if s.RiskTarget != nil {
		p.RiskTarget = *s.RiskTarget
	}
	if s.Floor != nil {
		p.Floor = *s.Floor
	}
	if s.Cap != nil {
		p.Cap = *s.Cap
	}
	if s.MaxLifts != nil {
		p.MaxLifts = s.MaxLifts
	}
	if len(s.Bins) > 0 {
		p.Grid, p.Edges = sizing.OnBins, s.Bins
	}
	return p
}

// validate returns an error for each invalid setting. It rejects a risk target, floor or cap of zero, although zero means the
// default in a policy.
func (s *Settings) validate() []sizing.FieldError {
	bad := s.apply(sizing.Policy{}).Validate()
	for i := range bad {
		if bad[i].Field == "bin_edges_bytes" {
			bad[i].Field = "bins"
		}
	}
	if s.RiskTarget != nil && *s.RiskTarget == 0 {
		bad = append(bad, sizing.FieldError{Field: "risk_target", Detail: "must be 0.0001 to 0.5; omit it to keep the risk target of the policy"})
	}
	if s.Floor != nil && *s.Floor == 0 {
		bad = append(bad, sizing.FieldError{Field: "floor_bytes", Detail: "must be 1Mi to 8Pi; omit it to keep the floor of the policy"})
	}
	if s.Cap != nil && *s.Cap == 0 {
		bad = append(bad, sizing.FieldError{Field: "cap_bytes", Detail: "must be 1Mi to 8Pi; omit it to keep the cap of the policy"})
	}
	return bad
}

// Report holds the replays of one question. GB is 1e9 bytes.
type Report struct {
	Rows    int      // number of replayed runs
	LeftOut int      // number of tries that are not replayed because they are no success or have no measured peak or duration
	Current Result   // with the current policies, in mode enforce
	Results []Result // in the order of Question.Settings
	Set     *Shift   // nil without Question.Set
}

// Result is the effect of some settings. A nil percentage is unknown.
type Result struct {
	Settings    Settings
	Rows        int     // number of replayed runs
	Utilisation float64 // used GB·h as a percentage of used and wasted GB·h
	UsedGBh     float64 // of the runs that succeeded
	WastedGBh   float64
	Killed      float64  // percentage of the runs with an OOM kill
	Lifts       int      // number of tries beyond the first one of each run
	GaveUp      int      // number of runs without a success
	Promised    *float64 // mean promised risk of the first tries with a promised risk, in percent
	Realised    *float64 // percentage of these tries that were killed
}

// Shift compares the grants of the newest runs before and after features were replaced.
type Shift struct {
	Runs          int       // number of newest runs that are compared
	Before, After Quantiles // of their grants
}

// Quantiles holds quantiles of grants.
type Quantiles struct{ P25, P50, P75, P95 sizing.Bytes }

// Validate returns an error for each invalid field.
func (q *Question) Validate() []sizing.FieldError {
	key := q.Task
	if key.Task == "" {
		key.Task = "all"
	}
	bad := key.Validate()
	if len(q.Settings) > MaxSettings {
		bad = append(bad, sizing.FieldError{Field: "settings", Detail: "must have at most 12 entries"})
	}
	for i := range q.Settings {
		for _, e := range q.Settings[i].validate() {
			bad = append(bad, sizing.FieldError{Field: fmt.Sprintf("settings[%d].%s", i, e.Field), Detail: e.Detail})
		}
	}
	if len(q.Set) > 0 && q.Task.Task == "" {
		bad = append(bad, sizing.FieldError{Field: "task_id", Detail: "is needed with set"})
	}
	return append(bad, q.Set.Validate()...)
}

func (q *Question) name() string {
	if q.Task.Task == "" {
		return q.Task.DAG
	}
	return q.Task.String()
}

func run(ctx context.Context, svc *service.Service, q *Question, progress func(float64)) (*Report, error) {
	histories, policies, err := svc.Histories(ctx, q.Task, maxTaskRows)
	if err != nil {
		return nil, err
	}
	trace, err := backtest.NewTrace(q.name(), histories, maxRows)
	if err != nil {
		return nil, err
	}
	report := &Report{Rows: trace.Rows(), LeftOut: trace.LeftOut}
	var done atomic.Int64
	total := trace.Rows() * (1 + len(q.Settings))
	cfg := backtest.Config{
		Delayed:  true,
		IsBusy:   busyWith(svc),
		Progress: func(rows int) { progress(float64(done.Add(int64(rows))) / float64(total)) },
	}
	all := append([]Settings{{}}, q.Settings...)
	var policyOf []func(sizing.TaskKey) sizing.Policy
	for i := range all {
		policyOf = append(policyOf, func(task sizing.TaskKey) sizing.Policy { return all[i].apply(policies[task]) })
	}
	replayed, err := backtest.RunSettings(ctx, trace, cfg, policyOf...)
	if err != nil {
		return nil, err
	}
	for i := range replayed {
		report.Results = append(report.Results, resultOf(all[i], &replayed[i].Figures))
	}
	report.Current, report.Results = report.Results[0], report.Results[1:]
	if len(q.Set) > 0 {
		before, after, err := svc.GrantsWith(ctx, q.Task, q.Set)
		if err != nil {
			return nil, err
		}
		report.Set = &Shift{Runs: len(before), Before: quantilesOf(before), After: quantilesOf(after)}
	}
	return report, nil
}

// busyWith returns a function that reports whether the service has received a request for a
// prediction within the last second. While the function returns true, a replay leaves half of the CPUs to
// predictions.
func busyWith(svc *service.Service) func() bool {
	seen, at := svc.Predictions(), time.Time{}
	return func() bool {
		if now := svc.Predictions(); now != seen {
			seen, at = now, time.Now()
		}
		return time.Since(at) < time.Second
	}
}

func resultOf(s Settings, f *backtest.Figures) Result {
	r := Result{
		Settings: s, Rows: f.Rows, Utilisation: f.Utilisation, UsedGBh: f.UsedGBh, WastedGBh: f.WastedGBh, Killed: f.Killed,
		Lifts: f.Attempts - f.Rows, GaveUp: f.GaveUp,
	}
	if f.Risk != nil {
		r.Promised, r.Realised = &f.Risk.Promised, &f.Risk.Realised
	}
	return r
}

// quantilesOf returns the nearest-rank quantiles of grants, which it sorts; zeros without grants.
func quantilesOf(grants []sizing.Bytes) Quantiles {
	if len(grants) == 0 {
		return Quantiles{}
	}
	slices.Sort(grants)
	at := func(share float64) sizing.Bytes {
		return grants[max(0, int(math.Ceil(share*float64(len(grants))))-1)]
	}
	return Quantiles{P25: at(0.25), P50: at(0.5), P75: at(0.75), P95: at(0.95)}
}

// Bounds of the background work.
const (
	maxJobs   = 4                // largest number of jobs that wait or run
	maxTime   = 10 * time.Minute // largest run time of one job, without the time for which it waits
	resultTTL = 15 * time.Minute // a new job drops the results of jobs that ended longer ago

	abandonedAfter = 2 * time.Minute // time since the last Status call after which a job is abandoned
)
