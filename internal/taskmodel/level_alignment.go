package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// shiftLearned shifts all that the model has learned by a log factor. The models follow at the next fit, which is due at once.
func (m *Model) shiftLearned(log float64) {
	m.Levels.Unfitted += log
	m.Experts.ShiftLevel(log)
	m.ColdStart.Shift(log)
}

// learnModels learns a row and its prediction at the level of the fitted models.
func (m *Model) learnModels(r *row, p *experts.Point, lowest, weight float64, b *buffers) {
	if m.Levels.Unfitted == 0 {
		m.Models.learn(r, p, lowest, weight, b)
		return
	}
	shifted, before := *r, *p
	shifted.Peak *= math.Exp(-m.Levels.Unfitted)
	before.ShiftLevel(-m.Levels.Unfitted)
	m.Models.learn(&shifted, &before, lowest, weight, b)
}

// shiftToLevel shifts the prediction of the models to an accepted level that they have not learned yet.
func (m *Model) shiftToLevel(p *experts.Point, b *buffers) {
	b.levelShift, b.levelRaise = m.Levels.Unfitted, 0
	if b.levelShift != 0 {
		p.ShiftLevel(b.levelShift)
		b.extrapolation.mostAmount *= math.Exp(b.levelShift)
	}
}

// alignment returns a function that returns the factor from the level of row i of h to the newest level.
func (m *Model) alignment(h *sizing.History) func(i int) float64 {
	changes := m.Levels.Changes
	if len(changes) == 0 {
		return func(int) float64 { return 1 }
	}
	first := make([]int, len(changes)) // by change: index of the first row at the new level; −1: h lacks this row
	for k := range changes {
		first[k] = slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq == changes[k].Seq })
	}
	return func(i int) float64 {
		log := 0.0
		for k := range changes {
			if i < first[k] || first[k] < 0 && h.Rows[i].Seq < changes[k].Seq {
				log += changes[k].log()
			}
		}
		return math.Exp(log)
	}
}

// movesWithFit reports whether a fit changes the level of the models.
func (l *levels) movesWithFit() bool {
	return l.Unfitted != 0 || len(l.Changes) > 0 && l.Changes[len(l.Changes)-1].Excess != 0
}

// settle must follow each fit.
func (l *levels) settle() {
	l.Unfitted = 0
	if len(l.Changes) > 0 {
		c := &l.Changes[len(l.Changes)-1]
		c.Log, c.Excess = c.log(), 0
	}
}
