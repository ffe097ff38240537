package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// meanPromise undoes experts.Answer.ForRow: it converts the promised risk of a try, which is for its row, back to the mean over
// rows, because the pool corrects the mean. It uses the present models, which may differ from those at the time of the answer.
func (m *Model) meanPromise(t *TrainingRow) *float64 {
	if t.Promised == nil || !t.FirstTry || m.Models == nil || m.Experts.LearnedRows == 0 {
		return t.Promised
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	q := Question{Features: t.Features, RiskTarget: sizing.DefaultRiskTarget, RunScore: t.RunScore}
	m.predictQuestion(&q, &p, b)
	mean := m.Experts.Answer(&p, q.RiskTarget, &b.scratch).WithoutRow(*t.Promised)
	return &mean
}

// comparePromise records, in the task's share of the pool, the promised risk of a first try and whether the try was killed. The
// pool corrects the promises of the experts. So the risk of kills that contradict measured peaks (m.Understatement), which the
// experts do not know, is subtracted from the promise, and the result is divided by Experts.Factor. This is the factor from the
// task's own share, because Learn has called leavePool. The risk and the factor may have been different at the time of the
// answer. comparePromise ignores tries that ended neither with a kill nor with a success. It also ignores tries before the
// first measured peak: the cohort sized them, and the pool does not correct the promises of the cohort. If the promise includes
// the effect of a first change, of a new combination or of an unseen value, it counts as at most the default risk target,
// because that effect is no error of the experts.
func (m *Model) comparePromise(t *TrainingRow) {
	killed := t.Outcome.OOM()
	if t.FirstTry && t.Promised != nil && m.Experts.LearnedRows > 0 && (killed || t.Outcome == sizing.Success) {
		promised := max(0, *t.Promised-m.Understatement.risk(m.Resumed.From))
		if m.recordRaisedPromise(t) {
			promised = min(promised, sizing.DefaultRiskTarget)
		}
		m.Share.RecordOutcome(m.Experts.LearnedRows-m.Experts.DependentRows, promised/m.Experts.Factor, killed)
	}
}
