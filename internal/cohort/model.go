package cohort

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	minErrors       = 15.0 // smallest total weight of the errors with which the trees answer
	maxRequestRatio = 1.5  // largest request that the trees size, as a multiple of the largest learned request
	maxGrantRatio   = 1.1  // largest grant of the trees before rounding and floor, as a multiple of the largest learned peak
)

// Model sizes the tasks of one namespace that it has not learned. It is immutable and safe for concurrent use.
type Model struct {
	encoder
	trees         *gbt.Regressor       // nil: the model sizes only by the ratios of peaks to requests; see ratio.go
	errorList                          // the errors on unseen tasks
	widening      widening             // factors on the errors for a task of a new DAG or with a new name, by novelty
	widenedErrors [novelties]errorList // the errors multiplied by these factors
	groupErrors   *sync.Map            // unknownGroup → errorList, for errorsFor
	LargestPeak   float64              // in bytes
	// Exceeded is the share of the tasks with a request whose first success exceeded the request; 1: no
	// task has a request.
	Exceeded       float64
	LargestRequest sizing.Bytes  // largest request of a first success
	Tasks          int           // number of learned tasks
	Runs           int           // number of learned runs
	ratios         ratios        // of the peaks to the requests
	firstRuns      firstRunKills // kills and promises of the newest first runs
	RunTimes       *RunTimes     // nil while there are too few tasks with a run time; only Fit creates it
	recent         *recentTasks  // nil: learnRun changes nothing. It is nil in the model that Learner.Model returns, but not in its models of DAGs
	profiles       *Profiles     // nil if the namespace has too few tasks with a usage profile

	dags         map[uint64]*Model // models of single DAGs, by hashOfDAG; nil in the model of a DAG
	ofDAG        bool              // the model knows the tasks of one DAG only
	answersFirst bool              // the model of a DAG answers before the model of the namespace, because its answers are better; see isBetter
}

// withErrors returns a copy of m with other errors and with the counts and largest amounts of l. It sorts `errors`.
func (m *Model) withErrors(errors []weightedError, l *Learner) *Model {
	slices.SortFunc(errors, func(a, b weightedError) int { return cmp.Compare(a.Error, b.Error) })
	updated := *m
	updated.widening = l.widening
	updated.setErrors(errors)
	updated.LargestPeak, updated.Runs, updated.Tasks = l.largestPeak, l.runs, len(l.order)
	updated.LargestRequest, updated.ratios, updated.firstRuns = l.largestRequest, l.ratios(), l.firstRuns
	updated.Exceeded = 1 // unknown
	if l.requests > 0 {
		updated.Exceeded = float64(l.exceeded) / float64(l.requests)
	}
	return &updated
}

// setErrors sets the errors and the lists that follow from them. `errors` must be ascending.
func (m *Model) setErrors(errors []weightedError) {
	m.errorList = newErrorList(errors)
	m.widenedErrors, m.groupErrors = m.widening.lists(m.errorList), new(sync.Map)
}

// level predicts the log peak. It is −∞ if the trees predict a ratio and the request is unknown.
func (m *Model) level(f *Facts) float64 {
	var buffer [maxNumbers + 2*maxCategories]float64
	level := m.trees.Predict(m.encode(f, buffer[:0]))
	if m.byRequest {
		level += math.Log(float64(f.Requested.Memory))
	}
	return level
}

// Answer is the size of a first run.
type Answer struct {
	Limit    sizing.Bytes
	Level    sizing.Bytes // predicted peak without a margin
	Reason   string
	Promised float64 // P(peak > Limit), with the factor killRatio
	Tasks    int     // number of learned tasks from which the answer comes
	Runs     int     // number of learned runs of the model that answered

	amount      float64      // bytes by the trees and the margin, bounded by maxGrantRatio; 0 in an answer of sizeByRequest
	unbounded   sizing.Bytes // limit before floor, bins and cap
	usesRequest bool         // unbounded is the request: the request is less than amount in whole MiB, and the learned tasks rarely exceed their requests
	ofDAG       bool         // the model of the DAG answered
}

// isOutside reports whether the request is so large that the trees cannot extrapolate to it; see maxRequestRatio.
func (m *Model) isOutside(f *Facts) bool {
	return m.LargestRequest > 0 && f.Requested.Memory > m.LargestRequest.Times(maxRequestRatio)
}

// Question asks for the size of the first run of a task. Zero in Facts means unknown.
type Question struct {
	Facts
	RiskTarget float64      // must be above 0: P(peak > limit) around which the risk of the answer lies; see minRisk
	Killed     sizing.Bytes // largest allocation with which a run of the task was killed: its peak is larger; 0: none
	Floor, Cap sizing.Bytes // bounds of the answer, 0: none; the cap wins
	Edges      sizing.Bins  // bins to which amounts are rounded up; none: whole MiB
}

// CanSize reports whether trees can size a task: there are enough errors, and the request is at most maxRequestRatio times
// the largest learned request. Trees of the ratio of peak to request also need the request; CanSize does not check that the
// request is known. It returns false for a nil model.
func (m *Model) CanSize(f Facts) bool { return m.firstModel(&f.Task).canSize(&f) || m.canSize(&f) }

func (m *Model) canSize(f *Facts) bool {
	return m != nil && m.weight() >= minErrors && !m.isOutside(f)
}

// Size answers for a task that the model has not learned. The model of the task's DAG answers if it answers first, or if the
// trees of the namespace cannot size the task. Otherwise, or if the model of the DAG has no answer, the model of the namespace
// answers. Each of the two models uses its trees if canSize is true, otherwise the ratios of peaks to requests (sizeByRequest).
// After a kill of the task, only peaks above the killed allocation count, in the errors of the trees and in the distribution of
// the ratios. ok is false if no model has an answer; see sizeByTrees and sizeByRequest.
func (m *Model) Size(q Question) (a Answer, ok bool) {
	if own := m.modelOfDAG(&q.Task); own != nil && (own.answersFirst || !m.canSize(&q.Facts)) {
		if a, ok = own.size(&q); ok {
			return a, true
		}
	}
	return m.size(&q)
}

func (m *Model) size(q *Question) (a Answer, ok bool) {
	switch {
	case m.canSize(&q.Facts):
		return m.sizeByTrees(q)
	case m != nil && m.ratios.Tasks >= minRatioTasks:
		return m.sizeByRequest(q)
	}
	return Answer{}, false
}

// sizeByTrees sizes a task by the trees and the margin. ok is false if the prediction is not finite, if there are too few
// errors above the killed allocation, or if after a kill the risk of the limit is above maxRisk times the risk target.
func (m *Model) sizeByTrees(q *Question) (a Answer, ok bool) {
	level := m.level(&q.Facts)
	if math.IsNaN(level) || math.IsInf(level, 0) {
		return Answer{}, false
	}
	m = m.forTask(&q.Facts)
	if q.Killed > 0 {
		if m = m.exceeding(math.Log(float64(q.Killed)) - level); m.weight() < minErrors {
			return Answer{}, false
		}
	}
	amount := min(math.Exp(level+m.margin(q.RiskTarget)), maxGrantRatio*m.LargestPeak, float64(sizing.MaxBytes))
	limit := sizing.Bytes(math.Ceil(amount)).RoundUp(sizing.MiB)
	if q.Requested.Memory > 0 && limit > q.Requested.Memory && m.Exceeded <= expectedRisk*q.RiskTarget {
		limit = q.Requested.Memory
		a.usesRequest = true
	}
	if q.Killed > 0 && m.riskOf(level, limit) > maxRisk*q.RiskTarget {
		return Answer{}, false
	}
	a.ofDAG, a.amount, a.unbounded, a.Tasks, a.Runs = m.ofDAG, amount, limit, m.Tasks, m.Runs
	a.Limit, a.Level = q.bound(limit), sizing.Bytes(math.Exp(level))
	a.Promised = m.promise(m.riskOf(level, a.Limit))
	a.Reason = fmt.Sprintf("%s: %s: the typical peak is %s; %s; from %d tasks, %d runs",
		a.Limit.Approx(), m.describeTasks(), a.Level.Approx(), a.describeLimit(q), a.Tasks, a.Runs)
	return a, true
}

// exceeding returns a copy of m with only the errors above a bound. It divides Exceeded by the share of these errors, because
// it assumes that all tasks that exceeded their requests have such errors.
func (m *Model) exceeding(bound float64) *Model {
	updated, from := *m, m.countUpTo(bound)
	updated.errorList = newErrorList(m.errors[from:])
	if m.Exceeded > 0 {
		updated.Exceeded = min(1, m.Exceeded*m.weight()/updated.weight())
	}
	return &updated
}

func (a *Answer) describeLimit(q *Question) string {
	text := fmt.Sprintf("a margin factor of %.2g covers the errors on tasks without history%s", float64(a.unbounded)/float64(max(1, a.Level)), q.describeKilled())
	if a.usesRequest {
		text = "the static request is granted, because such tasks rarely exceed theirs"
	}
	switch {
	case a.Limit > a.unbounded:
		text += ", raised to the floor or the next bin"
	case a.Limit < a.unbounded:
		text += ", lowered to the cap"
	}
	return text
}

func (q *Question) describeKilled() string {
	if q.Killed == 0 {
		return ""
	}
	return " with a peak above the killed " + q.Killed.Approx()
}

func (m *Model) describeTasks() string {
	if m.ofDAG {
		return "tasks of this DAG"
	}
	return "similar tasks"
}

func (q *Question) bound(limit sizing.Bytes) sizing.Bytes {
	limit = max(limit, q.Floor)
	if len(q.Edges) > 0 {
		limit = q.Edges.RoundUp(limit)
	}
	if q.Cap > 0 {
		limit = min(limit, q.Cap)
	}
	return limit
}
