package service

import (
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// runTime returns the run time of a try. The other tasks of the namespace predict it while the task has
// no or few runs, and else its own model, whose prediction is known; nil if there is none.
func (c *allocator) runTime(ask *sizing.Ask, known *sizing.Duration) *sizing.Duration {
	if c.cohort == nil || c.cohort.RunTimes == nil || !c.task.IsDecoded() {
		return known
	}
	runs, mean, isEarly := c.model.OwnRunTimes()
	if !isEarly || runs > cohort.MaxOwnRuns {
		return known
	}
	facts := factsOf(ask)
	r, ok := c.cohort.RunTimes.Predict(&facts, cohort.OwnRuns{Runs: runs, Mean: mean})
	if !ok {
		return known
	}
	at := func(seconds float64) time.Duration {
		return time.Duration(min(seconds, sizing.MaxDuration.Seconds()) * float64(time.Second)).Round(time.Millisecond)
	}
	median := r.Median()
	p95 := max(median, r.Quantile(.95))
	d := &sizing.Duration{Median: at(median), P95: at(p95), P99: at(max(p95, r.Quantile(.99))), Outlier: r.Above(taskmodel.OutlierRatio * median)}
	if known != nil {
		d.Shape = known.Shape
	}
	if ask.Timeout > 0 {
		above := r.Above(ask.Timeout.Seconds())
		d.Timeout = &above
	}
	return d
}
