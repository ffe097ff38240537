package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type learner struct {
	model          *taskmodel.Model
	history        sizing.History
	lastRejectedAt int // number of tries when a training last returned no model
}

// minTriesAfterRejection is the smallest number of tries before the first training of a task, and between a training that
// returned no model and the next training. Package backtest uses the same number; a smaller one costs more trainings.
const minTriesAfterRejection = 25

// models answers the questions with models in this process. The explanations contain the factors that a model adds, but not
// those that a server adds, such as that of similar tasks.
type models struct {
	q     *questions
	tasks map[sizing.TaskKey]*learner
	pools map[string]*taskmodel.Pool // by DAG
}

func (m *models) learnerOf(task sizing.TaskKey) *learner {
	l := m.tasks[task]
	if l == nil {
		l = &learner{model: taskmodel.New()}
		l.history.Task = task
		m.tasks[task] = l
	}
	if m.pools[task.DAG] == nil {
		m.pools[task.DAG] = new(taskmodel.Pool)
	}
	return l
}

// report learns the rows with a measured peak. Before one in twelve of these rows it learns an OOM kill of the same run at
// half of the peak.
func (m *models) report(rows []sizing.Observation) error {
	for i := range rows {
		o := &rows[i]
		if _, known := o.Peak(); known != sizing.Exact {
			continue
		}
		if m.q.oneIn(12) {
			killed := *o
			killed.Outcome, killed.Allocated.Memory, killed.MemoryMax = sizing.OOMKilled, o.MemoryMax/2, 0
			if err := m.learn(&killed); err != nil {
				return err
			}
		}
		if err := m.learn(o); err != nil {
			return err
		}
	}
	return nil
}

// learn adds a try to the history of its task, and fits the model if a fit is due.
func (m *models) learn(o *sizing.Observation) error {
	l, pool := m.learnerOf(o.Try.TaskKey), m.pools[o.Try.DAG]
	h := &l.history
	h.LastSeq++
	h.Total++
	h.Schema.Extend(o.Features)
	h.Rows = append(h.Rows, sizing.HistoryRow{
		Seq: h.LastSeq, At: o.StartedAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number, Outcome: o.Outcome, Weight: 1,
		MemoryMax: o.MemoryMax, CPUMax: o.CPUMax, Duration: o.Duration, Allocated: o.Allocated, Requested: o.Requested,
		Features: h.Schema.Row(o.Features, nil),
	})
	row := taskmodel.NewTrainingRow(&h.Schema, &h.Rows[len(h.Rows)-1])
	row.Features = o.Features
	before := l.model.Pool()
	l.model.Learn(row)
	if o.Outcome == sizing.Success && l.model.IsFitDue() && h.Total >= l.lastRejectedAt+minTriesAfterRejection {
		challenger, _, err := taskmodel.Update(h, l.model)
		switch {
		case err != nil:
			return fmt.Errorf("train %v: %w", h.Task, err)
		case challenger == nil:
			l.lastRejectedAt = h.Total
		default:
			l.model = challenger
		}
	}
	now := l.model.Pool()
	pool.Remove(&before)
	pool.Add(&now)
	return nil
}

// ask asks about one of the next 50 runs after the first `reported` runs, or about the last run at the end of the trace.
func (m *models) ask(reported int) error {
	q := m.q
	q.total++
	o := q.trace[min(len(q.trace)-1, reported+q.random.IntN(50))]
	if q.oneIn(20) {
		o.Try.Task = "never-seen"
	}
	l := m.learnerOf(o.Try.TaskKey)
	l.model.SetPool(m.pools[o.Try.DAG], nil)
	question := m.questionOf(&o)

	var answer taskmodel.Answer
	var e taskmodel.Explanation
	q.record("answer", fastest(func() { answer = l.model.Size(question) }))
	q.record("explanation", fastest(func() { e = l.model.Explain(question) }))
	if answer.Limit == 0 { // there is neither a static request nor a run
		return nil
	}
	q.explained++
	q.sources[string(answer.Source)]++
	product, last := float64(e.Base), e.Base
	for _, t := range e.Terms {
		product, last = product*t.Factor, t.After
		q.kinds[string(t.Kind)]++
	}
	off := math.Abs(product/float64(answer.Limit) - 1)
	q.worst = max(q.worst, off)
	if off > 1e-9 || last != answer.Limit || e.Granted != answer.Limit {
		q.wrong++
		fmt.Printf("limit %d, explained as %+v\n  question: %+v\n", answer.Limit, e, question)
	}
	return nil
}

func (m *models) questionOf(o *sizing.Observation) taskmodel.Question {
	q := m.q
	question := taskmodel.Question{Requested: o.Requested, Features: sizing.Features{}, Lifts: 3}
	for _, name := range o.Features.Names() {
		v := o.Features[name]
		switch {
		case q.oneIn(10):
			continue
		case v.Kind == sizing.Number && q.oneIn(8):
			v = sizing.NumberValue(v.Num * math.Exp(2*q.random.NormFloat64()))
		case v.Kind == sizing.Category && q.oneIn(12):
			v = sizing.TextValue("never seen")
		}
		question.Features[name] = v
	}
	bound := func(n int) sizing.Bytes {
		if !q.oneIn(n) {
			return 0
		}
		return sizing.Bytes(q.amount())
	}
	if q.oneIn(5) {
		question.Requested.Memory = bound(1)
	}
	question.Floor, question.MinGrant, question.Above = bound(6)/64, bound(4)/256, bound(10)
	if question.Cap = bound(5); question.Cap > 0 {
		question.Cap, question.CapBy = max(question.Cap, question.Floor), taskmodel.CapPolicy
	}
	if q.oneIn(4) {
		question.GuardFactor = 1 + q.random.Float64()
	}
	if q.oneIn(4) {
		question.RiskTarget = []float64{0.001, 0.005, 0.05, 0.2}[q.random.IntN(4)]
	}
	if q.oneIn(6) {
		question.Edges = sizing.Bins{sizing.GiB, 4 * sizing.GiB, 16 * sizing.GiB, 64 * sizing.GiB, 256 * sizing.GiB}
	}
	return question
}

// fastest returns the shortest duration of three calls, because a busy machine interrupts some calls.
func fastest(call func()) time.Duration {
	var took [3]time.Duration
	for i := range took {
		start := time.Now()
		call()
		took[i] = time.Since(start)
	}
	return slices.Min(took[:])
}
