package taskmodel

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// The peaks of the tasks in one run (one run id and map index) may have a common cause that no feature shows, such as a complex
// sample. The one-factor model (Spearman 1904) describes it: the error of the prediction for a task, in standard deviations, is
// the loading of the task times the factor of the run, plus a remainder of this task alone. The run score (see RunErrors) is
// an estimate of the factor from the errors of the tasks that were reported before. The loading of a task is the slope of its
// errors in the run scores, shrunk to the mean slope of the DAG's tasks.
//
// The run score shifts the prediction of the cold-start rule. It does not shift those of the other models: early errors are
// often alike because no task knows the effects of the features yet. A wrong early shift can cause OOM kills, which the experts
// remember for long. So a shift of all models wastes more in the demo.
//
// After a change of the level of a task, such as after a release, the errors of its successive runs are alike. Only the part of an
// error that the previous run did not have counts (errorSeries).
//
// OOM kills give no error, because only a lower bound of the error is known. If a lower bound above 0 served as the error, it
// would change nothing on four workflows with immediate feedback, because the success of the retry replaces the bound. With
// delayed feedback it would raise the waste.

const (
	priorLoading = 0.4 // loading before any row
	loadingRows  = 10  // weight of the mean loading of the DAG in the loading of a task, and of priorLoading in the mean loading; unit: sum of squared run scores
	maxLoading   = 0.9 // so that a task has a remainder
	maxError     = 1   // largest error of a log peak; larger errors are clipped
	maxDeviate   = 3   // largest error in standard deviations
)

// RunError is the error of the prediction for one task in a run.
type RunError struct {
	Deviate float64 // error of the log peak in standard deviations of the task's errors
	Loading float64 // loading of the task
}

// newestRunError is the error of the prediction for the row that was learned last.
type newestRunError struct {
	RunError
	run     uint64
	isKnown bool
}

// RunError returns the error of the prediction for the row that was learned last. It returns false if this row is of another
// run or is no measured row, or if the models did not predict it without imputation. run is TrainingRow.Run.
func (m *Model) RunError(run uint64) (RunError, bool) {
	return m.runError.RunError, m.runError.isKnown && m.runError.run == run
}

// loading returns the loading of the task. While no pool is in use, the task's own share takes the place of the pool.
func (m *Model) loading() float64 {
	share := &m.Share
	mean := m.own.meanLoading
	if !m.own.saved {
		mean = meanLoading(share)
	}
	return max(0, min(maxLoading, (share.ScoreProducts+loadingRows*mean)/(share.ScoreSquares+loadingRows)))
}

func meanLoading(pool *Pool) float64 {
	return (pool.ScoreProducts + loadingRows*priorLoading) / (pool.ScoreSquares + loadingRows)
}

// runShift returns the log factor on the cold-start prediction for a run with the given run score.
func (m *Model) runShift(score float64) float64 {
	if score == 0 || m.ablated.NoRunScores {
		return 0
	}
	return m.loading() * score * m.Share.Deviation()
}

// shift adds `log` to the log peak that the cold-start rule predicts in p, and records it in b.runShift. It does nothing if p lacks
// this prediction or is imputed; b.runShift is then 0.
func (b *buffers) shift(p *experts.Point, log float64) {
	b.runShift = 0
	if !p.HasColdStart() || p.Imputed {
		return
	}
	b.runShift = log
	if p.ColdStart != nil {
		p.ColdStart.Shift(log)
	} else {
		p.Cold.Shift(log)
	}
}

// answerShift returns the log factor by which b.runShift changes the level of an answer: the experts have no shift.
func (m *Model) answerShift(b *buffers) float64 {
	if m.Experts.IsColdStart() {
		return b.runShift
	}
	return m.Experts.ColdStartShare * b.runShift
}

// learnRunScore sets m.runError, and records the error in the task's share of the pool. It ignores an imputed prediction,
// whose error says nothing about the run.
func (m *Model) learnRunScore(r *row, p *experts.Point, t *TrainingRow, b *buffers) {
	if p.Imputed {
		return
	}
	level := p.Level[experts.Stack]
	if m.Experts.NeedsColdStart() && p.HasColdStart() {
		level = m.Experts.ColdStartLevel(p) - b.runShift
	}
	e := max(-maxError, min(maxError, math.Log(r.Peak)-level)) // of the prediction without its shift
	deviation := m.Share.Deviation()
	e = m.ErrorSeries.innovation(e, deviation, t.DAGRun)
	deviate := max(-maxDeviate, min(maxDeviate, e/deviation))
	m.runError = newestRunError{RunError{deviate, m.loading()}, t.Run, true}
	m.Share.RecordScore(t.RunScore, deviate, e)
}

func describeRunScore(shift float64) string {
	if math.Abs(shift) < 0.01 {
		return ""
	}
	change := "raised"
	if shift < 0 {
		change = "lowered"
	}
	return fmt.Sprintf("; %s by %.0f %% because earlier tasks of the run needed %s", change, 100*math.Abs(math.Expm1(shift)), describeRunShift(shift))
}

func describeRunShift(shift float64) string {
	if shift < 0 {
		return "less than predicted"
	}
	return "more than predicted"
}
