package backtest

import (
	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func (p *loadawarePolicy) cohortOf(namespace string) *cohort.Learner {
	if p.cohorts[namespace] == nil {
		p.cohorts[namespace] = cohort.NewLearner()
	}
	return p.cohorts[namespace]
}

// sizeByCohort answers for a task whose model knows no peak. `bounds` has the floor, the cap, the risk target and the
// bins. `sized` stays unchanged if noCohorts is set, if the cohort has no answer, or if a run of the task was killed with
// at least the amount that the cohort answers.
func (p *loadawarePolicy) sizeByCohort(q *Question, bounds *taskmodel.Question, model *taskmodel.Model, sized *taskmodel.Answer) {
	if p.noCohorts || model.LargestPeak() > 0 {
		return
	}
	answer, ok := p.cohortOf(q.Try.Namespace).Model().Size(cohort.Question{
		Facts: factsOf(q), RiskTarget: bounds.RiskTarget, Killed: model.LargestKilled(), Floor: bounds.Floor, Cap: bounds.Cap, Edges: bounds.Edges,
	})
	if ok && answer.Limit > model.LargestKilled() {
		sized.Limit, sized.Promised, sized.Source = answer.Limit, &answer.Promised, sizing.FromCohort
	}
}

func factsOf(q *Question) cohort.Facts {
	return cohort.Facts{Task: q.Try.TaskKey, Metadata: q.Metadata, Features: q.Features, Requested: q.static()}
}

// cohortRow returns the outcome as a row of a cohort. The row of a killed try has the allocation as its peak, a lower bound of
// the true peak.
func cohortRow(o *Outcome) cohort.Row {
	r := cohort.Row{Facts: factsOf(&o.Question), Peak: float64(o.Peak), Killed: o.Killed}
	if o.Killed {
		r.Peak = float64(o.Allocated)
	}
	return r
}
