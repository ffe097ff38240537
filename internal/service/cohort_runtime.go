package service

import (
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// runTime returns the predicted run time of a try. While the task has no or few runs, the other tasks of the
// namespace predict it, if the cohort can do so. Otherwise runTime returns `known`, the prediction of the task's own
// model (nil if there is none).
func (c *allocator) runTime(ask *sizing.Ask, q *taskmodel.Question, known *sizing.Duration) *sizing.Duration {
	if c.cohort == nil || c.cohort.RunTimes == nil || !c.isDecoded() {
		return known
	}
	runs, mean, isEarly := c.model.OwnRunTimes()
	if !isEarly || runs > cohort.MaxOwnRuns {
		return known
	}
	facts, own := factsOf(ask), cohort.OwnRuns{Runs: runs, Mean: mean}
	r, ok := c.cohort.RunTimes.Predict(&facts, own)
	if !ok {
		return known
	}
	shape := ""
	if known != nil {
		shape = known.Shape
	}
	if c.classifier != nil {
		member := c.model.Membership(c.shapes, &q.Shape)
		r = c.classifier.WithShape(r, own, &member)
		if known == nil {
			shape = c.shapes.Name(member.Best)
		}
	}
	at := func(seconds float64) time.Duration {
		d := time.Duration(min(seconds, sizing.MaxDuration.Seconds()) * float64(time.Second)).Round(time.Millisecond)
		return max(time.Millisecond, d) // zero would mean that the run time is unknown
	}
	median := r.Median()
	p95 := max(median, r.Quantile(.95))
	d := &sizing.Duration{Median: at(median), P95: at(p95), P99: at(max(p95, r.Quantile(.99))), Shape: shape, Outlier: r.Above(taskmodel.OutlierRatio * median)}
	if ask.Timeout > 0 {
		above := r.Above(ask.Timeout.Seconds())
		d.Timeout = &above
	}
	return d
}

// givenShape predicts the shape of the run times of a task with few runs from the facts about a try.
func (c *allocator) givenShape(ask *sizing.Ask) (given taskmodel.GivenShape) {
	if c.classifier == nil || !c.model.UsesGivenShape() {
		return given
	}
	facts := factsOf(ask)
	return c.classifier.Probabilities(&facts)
}
