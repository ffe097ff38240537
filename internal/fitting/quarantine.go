package fitting

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// One report far beyond anything seen may be a unit mistaken, or a node's figure
// for a pod's. It waits until a second one confirms it: a peak or a kill at half
// of it or more. Until then it changes no allocation.
const (
	quarantineTimes = 4.0 // of the largest so far, and of what its features foretold
	quarantineFrom  = 8   // measured rows before "anything seen" means much
	heldAtMost      = 8
)

// quarantine holds t back if it must wait, and lets go of those that it confirms.
func (m *Model) quarantine(t *Told) bool {
	m.confirm(t.Peak)
	if m.Experts.Told < quarantineFrom || float64(t.Peak) <= quarantineTimes*m.foretold(t.Features) {
		return false
	}
	if len(m.Held) == heldAtMost {
		m.Held = m.Held[1:]
	}
	m.Held = append(m.Held, *t)
	return true
}

// foretold is the larger of the largest peak so far and what the features say.
func (m *Model) foretold(f sizing.Features) float64 {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(f, b.cells)
	var p experts.Point
	m.Models.ask(b.cells, &p, b)
	return max(m.Experts.MaxPeak, math.Exp(p.Level[experts.LineTrees]))
}

// confirm learns what was held back, once a peak (or a bound) of half of it came.
func (m *Model) confirm(peak sizing.Bytes) {
	for i := 0; i < len(m.Held); {
		if peak*2 < m.Held[i].Peak {
			i++
			continue
		}
		t := m.Held[i]
		m.Held = slices.Delete(m.Held, i, i+1)
		if t.Censoring == sizing.AtLeast {
			m.raiseBound(t.Peak)
			m.learnKill(&t)
			continue
		}
		r := m.rowOf(&t)
		m.learnPeak(&t)
		m.learnRow(&r, t.Seq)
	}
}

// held are the rows in quarantine, by their place in order of arrival.
func (m *Model) held() map[int64]bool {
	held := make(map[int64]bool, len(m.Held))
	for i := range m.Held {
		held[m.Held[i].Seq] = true
	}
	return held
}
