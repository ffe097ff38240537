package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// shiftLearned maps all that the model has learned to another level. The models follow at the next fit, which is due at once.
func (m *Model) shiftLearned(change affine) {
	unfitted := m.Levels.unfitted().then(change)
	m.Levels.Unfitted, m.Levels.UnfittedBytes = unfitted.Log, unfitted.Bytes
	m.ColdStart.Shift(m.Experts.ShiftLevel(change.shift))
}

// unfitted returns the map from the level of the fitted models to the newest level.
func (l *levels) unfitted() affine { return affine{Log: l.Unfitted, Bytes: l.UnfittedBytes} }

// shiftToNewest shifts a prediction of the fitted models to the newest level, and returns the log factor.
func (l *levels) shiftToNewest(p *experts.Point) float64 {
	shift := l.unfitted().shift(p.Level[experts.LineTrees])
	if shift != 0 {
		p.ShiftLevel(shift)
	}
	return shift
}

// learnModels learns a row and its prediction at the levels of the fitted models.
func (m *Model) learnModels(r *row, p *experts.Point, lowest, weight float64, b *buffers) {
	unfitted := m.DurationLevels.Level.Unfitted
	if b.levelShift == 0 && unfitted == 0 {
		m.Models.learn(r, p, lowest, weight, b)
		return
	}
	shifted, before := *r, *p
	shifted.Seconds = shiftSeconds(r.Seconds, -unfitted)
	shifted.Peak *= math.Exp(-b.levelShift)
	before.ShiftLevel(-b.levelShift)
	m.Models.learn(&shifted, &before, lowest, weight, b)
}

// shiftToLevel shifts the prediction of the models to an accepted level that they have not learned yet.
func (m *Model) shiftToLevel(p *experts.Point, b *buffers) {
	b.levelShift, b.levelRaise = m.Levels.shiftToNewest(p), 0
	b.extrapolation.mostAmount *= math.Exp(b.levelShift)
}

// alignment returns a function that returns the amount after `changes`, the oldest ones, for an amount at the level of row i of h.
func (m *Model) alignment(h *sizing.History, changes []levelChange) func(i int, amount float64) float64 {
	if len(changes) == 0 {
		return func(_ int, amount float64) float64 { return amount }
	}
	first, change := make([]int, len(changes)), make([]affine, len(changes)) // by change: index of the first row at the new level (−1: h lacks this row), and the map of the change
	for k := range changes {
		first[k] = indexOf(h, changes[k].Seq)
		change[k] = m.Levels.mapOf(k)
	}
	if f := m.Levels.Form; f != nil && len(changes) == len(m.Levels.Changes) {
		change[len(change)-1] = f.best()
	}
	return func(i int, amount float64) float64 {
		var sum affine
		for k := range changes {
			if i < first[k] || first[k] < 0 && h.Rows[i].Seq < changes[k].Seq {
				sum = sum.then(change[k])
			}
		}
		return sum.apply(amount)
	}
}

// indexOf returns −1 if h lacks the row.
func indexOf(h *sizing.History, seq int64) int {
	return slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq == seq })
}

// levelsMoveWithFit reports whether a fit changes the level of the peaks or of the run times of the models.
func (m *Model) levelsMoveWithFit() bool {
	return m.Levels.movesWithFit() || m.DurationLevels.Level.Unfitted != 0
}

// movesWithFit reports whether a fit changes the level of the models.
func (l *levels) movesWithFit() bool { return l.unfitted() != affine{} || l.Form != nil }

// settle records that the fitted models have learned the accepted changes. It must run after each fit.
func (l *levels) settle() {
	l.Unfitted, l.UnfittedBytes = 0, 0
	if l.Form == nil {
		return
	}
	l.setNewest(l.Form.best(), l.Form.factor().Log)
	if l.Changes[len(l.Changes)-1].Rows >= levelRows {
		l.Form = nil
	}
}

// setNewest sets the map of the newest change. log is its mean log factor.
func (l *levels) setNewest(change affine, log float64) {
	c := &l.Changes[len(l.Changes)-1]
	c.Log = log
	delete(l.Added, c.Seq)
	if change.Bytes == 0 {
		c.Log = change.Log
		return
	}
	if l.Added == nil {
		l.Added = map[int64]affine{}
	}
	l.Added[c.Seq] = change
}
