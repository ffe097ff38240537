package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// In the cold start, there are few residuals, and those of the first models are large. So the prediction of the cold-start rule
// decides whether a row may be the first one at a new level (level_change.go). Only tasks with features need this: without features,
// the modes of the rule contain both levels; with features, no structure of the rule is a line at two levels.

const minJumpRows = 5 // least number of learned rows: with fewer, the rule does not know the effects of the inputs

// canFindJump reports whether enough rows are learned to find an upward jump of the level: more than those of the last early fit or,
// with features, minJumpRows.
func (m *Model) canFindJump() bool {
	return m.Experts.LearnedRows > earlyFitRows[len(earlyFitRows)-1] || len(m.Schema.Fields) > 0 && m.Experts.LearnedRows >= minJumpRows
}

// jump returns the residual of a row, the standard deviation of such residuals, and whether the residual is far above the
// usual ones. In the cold start of a task with features, the residual is that of the cold-start rule without the run score;
// otherwise see experts.Jump.
func (m *Model) jump(p *experts.Point, log float64, b *buffers) (residual, deviation float64, isJump bool) {
	if !m.Experts.IsColdStart() || p.ColdStart == nil || len(m.Schema.Fields) == 0 {
		return m.Experts.Jump(p, log)
	}
	residual, deviation = log-(p.ColdStart.MeanLevel()-b.runShift), p.ColdStart.Deviation()
	return residual, deviation, residual > max(experts.MinJump, experts.JumpDeviations*deviation)
}

// hasUnseenCategory reports whether a row has a category value that no learned row had. In the cold start this value may explain
// a jump, even if new values are frequent: the task has had too few of them to show that they have no effect.
func (e *encoder) hasUnseenCategory(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.isUnseen(j, cells) {
			return true
		}
	}
	return false
}

// moveEarlyRows maps the peaks of the early rows to another level, except those of the newest rows, whose number is the argument
// `newest`. So the next early fit (refitEarly) is at this level.
func (m *Model) moveEarlyRows(change affine, newest int) {
	for i := range max(0, len(m.EarlyRows)-newest) {
		m.EarlyRows[i].Peak = change.apply(m.EarlyRows[i].Peak)
	}
}
