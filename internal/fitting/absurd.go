package fitting

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Inputs so far outside the seen range that an extrapolation says nothing, such as the
// sentinel date 9999-12-31 or 1e308: they are treated as missing.
const (
	absurdFrom = 10.0   // times the largest; more where the seen values span more magnitudes …
	absurdMost = 1000.0 // … up to this
)

// absurd reports whether an input lies too far outside. Between zero and the smallest
// of positive values nothing does: such an input is bounded.
func (t *trend) absurd(j int, cells []sizing.Value) bool {
	distance := t.distance(j, cells)
	if distance == 0 { // also of a field that no fit has seen
		return false
	}
	s := t.spanOf(j)
	if distance < 0 && s.Low >= 0 && !t.negative(j, cells) {
		return false
	}
	most := math.Log1p(absurdFrom)
	if s.Low >= 0 {
		most = max(most, min(math.Log(absurdMost), math.Log1p(s.High)-math.Log1p(s.Low)))
	}
	return math.Abs(distance) > most && (t.matters(j) || t.slopeOf(j) != nil)
}

func (t *trend) negative(j int, cells []sizing.Value) bool {
	x, _ := t.value(j, cells)
	return x < 0
}

// withoutAbsurd returns cells with the absurd inputs missing, and notes them. Of an absurd
// difference of dates, the date that is part of the most such differences is dropped, and
// both where that is no single one.
func (m *models) withoutAbsurd(cells []sizing.Value, b *buffers) []sizing.Value {
	t := &m.Beyond
	for j := -len(t.Pairs); j < len(cells); j++ {
		if !t.absurd(j, cells) {
			continue
		}
		if !b.beyond.absurd {
			b.plausible = append(b.plausible[:0], cells...)
			b.beyond.absurd, b.beyond.far = true, true
		}
		b.beyond.fields = append(b.beyond.fields, j)
		if j >= 0 {
			b.plausible[j] = sizing.Value{}
			continue
		}
		pair := &t.Pairs[^j]
		from, to := t.absurdPairs(pair.From, cells), t.absurdPairs(pair.To, cells)
		if from >= to {
			b.plausible[pair.From] = sizing.Value{}
		}
		if to >= from {
			b.plausible[pair.To] = sizing.Value{}
		}
	}
	if b.beyond.absurd {
		return b.plausible
	}
	return cells
}

// absurdPairs counts the absurd differences that a date is part of.
func (t *trend) absurdPairs(date int, cells []sizing.Value) (n int) {
	for k := range t.Pairs {
		if pair := &t.Pairs[k]; (pair.From == date || pair.To == date) && t.absurd(^k, cells) {
			n++
		}
	}
	return n
}
