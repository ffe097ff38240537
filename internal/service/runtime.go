package service

import (
	"cmp"
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// RunTimeAsk asks for the run times of a task.
type RunTimeAsk struct {
	Task     sizing.TaskKey
	Features sizing.Features // of one try; if empty, those of the task's newest successes
	Risk     float64         // the share of healthy runs (those that work normally) that the suggested timeout may stop
	Elapsed  time.Duration   // the time that a try has run; zero if it has not started
	Timeout  time.Duration   // the execution timeout in use; if zero, the newest one sent to this replica for a try
}

// The default and the bounds of RunTimeAsk.Risk. A share below MinTimeoutRisk cannot be estimated from the
// runs that a model keeps.
const (
	DefaultTimeoutRisk = 0.01
	MinTimeoutRisk     = 0.001
	MaxTimeoutRisk     = 0.5
)

// RunTimeAnswer describes the run times of a task. The quantiles, SuggestedTimeout and LongestSeen are seconds.
type RunTimeAnswer struct {
	Profile            taskmodel.RunTimeProfile // of the learned runs
	Drift              float64                  // of the newest runs; see taskmodel.Model.RunTimeDrift
	Median, P95, P99   float64                  // quantiles of the predicted run time
	SuggestedTimeout   float64                  // exceeded with the probability RunTimeAsk.Risk
	LongestSeen        float64                  // the longest of the newest successes
	Timeout            time.Duration            // the execution timeout in use; zero if unknown
	TimeoutProbability *float64                 // P(run time > Timeout); nil if Timeout is unknown
	Remaining          *RemainingTime           // nil if RunTimeAsk.Elapsed is zero
}

// RemainingTime is the remaining time of a running try in seconds.
type RemainingTime struct{ Median, P95 float64 }

// runTimeRows is the largest number of newest tries whose features stand for those of the next runs. LongestSeen is the longest
// of their run times.
const runTimeRows = 200

// RunTime answers an ask. It returns Invalid if Risk is out of its bounds, NotFound if no run time can be predicted, and
// Unavailable if the model of the task is not loaded yet.
func (s *Service) RunTime(ctx context.Context, ask *RunTimeAsk) (*RunTimeAnswer, error) {
	if !(ask.Risk >= MinTimeoutRisk && ask.Risk <= MaxTimeoutRisk) { // or NaN
		return nil, invalid([]sizing.FieldError{{Field: "risk", Detail: "must be 0.001 to 0.5"}})
	}
	recent, err := s.store.RecentTries(ctx, ask.Task, runTimeRows)
	if err != nil {
		return nil, err
	}
	task := s.models.Get(ctx, ask.Task)
	facts, err := s.newestFacts(ctx, task, ask)
	if err != nil {
		return nil, err
	}
	a := &RunTimeAnswer{}
	times, isDecoded := a.read(task, ask.Features, &recent, facts)
	switch {
	case len(times) > 0:
	case !isDecoded:
		return nil, sizing.Errorf(sizing.Unavailable, "run times of %s: its model is not loaded yet; repeat the request", ask.Task)
	default:
		return nil, sizing.Errorf(sizing.NotFound, "run times of %s: the model has too few runs with a duration and a known memory peak; report duration_seconds and memory_max_bytes or memory_sampled_bytes for at least two successes", ask.Task)
	}
	a.Timeout = cmp.Or(ask.Timeout, task.Timeout())
	a.describe(ask, times)
	for i := range recent.Rows {
		if r := &recent.Rows[i]; r.Outcome == sizing.Success {
			a.LongestSeen = max(a.LongestSeen, r.Duration.Seconds())
		}
	}
	return a, nil
}

// read sets Profile and Drift, and predicts the run time of a try with the features `f` or, without features, of tries like the
// newest successes. It holds the lock of the task only for the predictions, because learning waits for the lock, and later
// predictions wait for learning. The classifier predicts the shape of the run time from `facts`; if `facts` is nil, no shape is
// predicted.
func (a *RunTimeAnswer) read(task *modelcache.Task, f sizing.Features, recent *sizing.History, facts *cohort.Facts) (times taskmodel.RunTimes, isDecoded bool) {
	tries := likeTries(f, recent)
	task.RLockUpdated()
	defer task.RUnlock()
	var given taskmodel.GivenShape
	if _, classifier := task.Shapes(); facts != nil {
		given = classifier.Probabilities(facts)
	}
	a.Profile, _ = task.Model().RunTimeProfile(&given)
	a.Drift = task.Model().RunTimeDrift(recent)
	return task.Model().RunTimesGiven(&given, tries), task.IsDecoded()
}

// newestFacts returns the features of the ask, or without them those of the newest run, with the metadata, the request and the
// placement of the newest run. It returns nil if the shape of the task's run times is not predicted, or if the task has no
// success and no OOM kill.
func (s *Service) newestFacts(ctx context.Context, task *modelcache.Task, ask *RunTimeAsk) (*cohort.Facts, error) {
	if !needsShape(task) {
		return nil, nil
	}
	rows, err := s.store.RecentContext(ctx, ask.Task, 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := &rows[len(rows)-1]
	facts := &cohort.Facts{Task: ask.Task, Metadata: r.Metadata, Features: r.Features, Requested: r.Requested, Placement: r.Placement}
	if len(ask.Features) > 0 {
		facts.Features = ask.Features
	}
	return facts, nil
}

func needsShape(task *modelcache.Task) bool {
	task.RLockUpdated()
	defer task.RUnlock()
	_, classifier := task.Shapes()
	return classifier != nil && task.Model().UsesGivenShape()
}

func likeTries(f sizing.Features, recent *sizing.History) (tries []sizing.Features) {
	if len(f) == 0 {
		tries = featuresOfSuccesses(recent)
	}
	if len(tries) == 0 {
		tries = []sizing.Features{f}
	}
	return tries
}

func featuresOfSuccesses(recent *sizing.History) (all []sizing.Features) {
	for i := range recent.Rows {
		if r := &recent.Rows[i]; r.Outcome == sizing.Success {
			all = append(all, recent.Schema.Features(r.Features))
		}
	}
	return all
}

func (a *RunTimeAnswer) describe(ask *RunTimeAsk, times taskmodel.RunTimes) {
	a.Median, a.P95, a.P99 = times.Quantile(.5), times.Quantile(.95), times.Quantile(.99)
	a.SuggestedTimeout = times.Quantile(1 - ask.Risk)
	if a.Timeout > 0 {
		p := times.Above(a.Timeout.Seconds())
		a.TimeoutProbability = &p
	}
	if elapsed := ask.Elapsed.Seconds(); elapsed > 0 {
		a.Remaining = &RemainingTime{Median: times.Remaining(elapsed, .5), P95: times.Remaining(elapsed, .95)}
	}
}
