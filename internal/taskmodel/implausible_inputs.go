package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// An input so far outside its range that no extrapolation is meaningful, such as the sentinel
// date 9999-12-31 or 1e308, is treated as missing.
const (
	implausibleFactor    = 10.0   // times the largest value; more if the values span more magnitudes …
	maxImplausibleFactor = 1000.0 // … up to this
)

// isImplausible reports whether an input is too far outside its range. An input between zero and
// the smallest of positive values never is, because its effect is bounded.
func (t *trend) isImplausible(j int, cells []sizing.Value) bool {
	distance := t.distance(j, cells)
	if distance == 0 { // also for a field that no fit has seen
		return false
	}
	s := t.rangeOf(j)
	if distance < 0 && s.Low >= 0 && !t.isNegative(j, cells) {
		return false
	}
	most := math.Log1p(implausibleFactor)
	if s.Low >= 0 {
		most = max(most, min(math.Log(maxImplausibleFactor), math.Log1p(s.High)-math.Log1p(s.Low)))
	}
	return math.Abs(distance) > most && (t.isRelevant(j) || t.slopeOf(j) != nil)
}

func (t *trend) isNegative(j int, cells []sizing.Value) bool {
	x, _ := t.value(j, cells)
	return x < 0
}

// withoutImplausible returns cells without the implausible inputs, and records them. Of an
// implausible date difference it drops the date that is part of most such differences, or both
// dates if the numbers are equal.
func (m *models) withoutImplausible(cells []sizing.Value, b *buffers) []sizing.Value {
	t := &m.PeakTrend
	for j := -len(t.Pairs); j < len(cells); j++ {
		if !t.isImplausible(j, cells) {
			continue
		}
		if !b.extrapolation.implausible {
			b.cleaned = append(b.cleaned[:0], cells...)
			b.extrapolation.implausible, b.extrapolation.noRisk = true, true
		}
		b.extrapolation.outside = append(b.extrapolation.outside, j)
		if j >= 0 {
			b.cleaned[j] = sizing.Value{}
			continue
		}
		pair := &t.Pairs[^j]
		from, to := t.implausiblePairs(pair.From, cells), t.implausiblePairs(pair.To, cells)
		if from >= to {
			b.cleaned[pair.From] = sizing.Value{}
		}
		if to >= from {
			b.cleaned[pair.To] = sizing.Value{}
		}
	}
	if b.extrapolation.implausible {
		return b.cleaned
	}
	return cells
}

// implausiblePairs counts the implausible differences that a date is part of.
func (t *trend) implausiblePairs(date int, cells []sizing.Value) (n int) {
	for k := range t.Pairs {
		if pair := &t.Pairs[k]; (pair.From == date || pair.To == date) && t.isImplausible(^k, cells) {
			n++
		}
	}
	return n
}
