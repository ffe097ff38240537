package cohort

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/sizing"
)

// hypotheticalAnswer is what a model that has not learned a task answers for the task's first success, at the default risk
// target. Such answers show what the model of a DAG and that of the namespace would have cost (isBetter). The errors of
// the models alone do not show these costs, because a model of few tasks needs a wide margin.
type hypotheticalAnswer struct {
	limit float64 // in bytes; 0: no answer
	level float64 // predicted peak, in bytes
	risk  float64 // promised risk of the answer
}

// sizeFirst sizes the first success of a task. Unlike size, it needs no minimum number of errors or tasks, because a model of a
// cross-validation knows fewer tasks than the model of all tasks, whose cost it estimates. m may be nil.
func (m *Model) sizeFirst(first *Row) hypotheticalAnswer {
	q := Question{Facts: first.Facts, RiskTarget: sizing.DefaultRiskTarget}
	size := m.sizeByRequest
	if m != nil && len(m.errors) > 0 && !m.isOutside(&q.Facts) {
		size = m.sizeByTrees
	}
	if a, ok := size(&q); ok {
		return hypotheticalAnswer{float64(a.Limit), max(1, float64(a.Level)), a.Promised}
	}
	return hypotheticalAnswer{}
}

// evaluateTrees replaces the answers by those of a cross-validation. The margin for the tasks of a fold comes from the errors
// on the other folds.
func (l *Learner) evaluateTrees(unseen []unseenTask) {
	for from, to := 0, 0; from < len(unseen); from = to {
		for to < len(unseen) && unseen[to].model == unseen[from].model {
			to++
		}
		others := l.subset(func(t *taskRows) bool { return foldOf(t.key, folds) != foldOf(unseen[from].key, folds) })
		others.widening = l.widening
		m := unseen[from].model.withErrors(slices.Concat(errorsOf(unseen[:from]), errorsOf(unseen[to:])), others)
		for i := from; i < to; i++ {
			l.answers[unseen[i].key] = m.sizeFirst(&unseen[i].first)
		}
	}
}

// evaluateRatios replaces the answers by those of models without trees that have not learned the task.
func (l *Learner) evaluateRatios() {
	for _, t := range l.order {
		others := l.subset(func(other *taskRows) bool { return other != t })
		l.answers[t.key] = (&Model{}).withErrors(nil, others).sizeFirst(&t.first)
	}
}

// subset returns a learner with the tasks for which `keep` is true. It has no model.
func (l *Learner) subset(keep func(*taskRows) bool) *Learner {
	some := newLearner()
	for _, t := range l.order {
		if !keep(t) {
			continue
		}
		some.tasks[t.key] = t
		some.order = append(some.order, t)
		some.runs += t.runs
		some.largestPeak = max(some.largestPeak, t.largestPeak)
		some.compareRequest(t)
	}
	return some
}

// promisedTasks is the weight, in answers, of the mean promised risk when `cost` averages it with the kills of the answers,
// because a few answers alone say little about a risk of a few percent.
const promisedTasks = MinTasks

type answerTotals struct {
	tasks    float64
	squares  float64 // sum of the squared errors
	waste    float64 // sum, in bytes
	peaks    float64 // sum, in bytes
	kills    float64
	promised float64 // sum of the promised risks
}

// add adds the answer for a task. peak is the peak of the first success of the task, in bytes.
func (s *answerTotals) add(t hypotheticalAnswer, peak float64) {
	waste, kills := cost.LadderWastage(peak, 0, t.limit)
	s.tasks++
	s.waste += waste
	s.peaks += peak
	s.kills += indicator(kills > 0)
	s.promised += t.risk
	off := math.Log(peak / t.level)
	s.squares += off * off
}

// cost returns the mean cost of the answers, in units of the mean peak. A kill has the same price as in errorList.margin.
func (s *answerTotals) cost() float64 {
	risk := (s.kills + promisedTasks*s.promised/s.tasks) / (s.tasks + promisedTasks)
	return s.waste/s.peaks + risk/(expectedRisk*sizing.DefaultRiskTarget)
}
