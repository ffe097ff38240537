package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// An input is treated as missing if it is so far outside its range that no extrapolation is meaningful,
// such as the date 9999-12-31, which stands for "no end", or the number 1e308.
const (
	implausibleFactor    = 10.0             // largest plausible |input − edge of the range| / (log offset + |edge|); see logOffsetOf
	maxImplausibleFactor = maxExtrapolation // largest plausible (log offset + input) / (log offset + edge of the range); see maxDistance
	minUnitFactor        = 1000.0           // usual ratio of a unit to the next smaller one, such as kB to bytes
)

// isImplausible reports whether an input influences the peak and is too far outside its range. j is the index of the input
// in the trend: if it is a pair, the difference is the input. A large number of an input in
// t.Refuted is judged as if the peak were usual.
func (t *trend) isImplausible(j int, cells []sizing.Value, peak rowPeak) bool {
	if t.distance(j, cells) == 0 { // within the range, or the range is unknown
		return false
	}
	x, _ := t.value(j, cells)
	s := t.rangeWithRemote(j)
	distance := s.distance(x, t.logOffsetOf(j))
	isHeavyTailed := distance > 0 && !t.isPair(j) && peak == unknownPeak && !slices.Contains(t.Refuted, j)
	most := s.maxDistance(isHeavyTailed, t.logOffsetOf(j))
	if distance < 0 && s.Low >= 0 && x >= 0 {
		if !t.mayHaveOtherUnit(j, cells, peak) {
			return false
		}
		// the distance below the range at which the largest known value would be if it were written in the next larger unit
		most = max(most, math.Log(minUnitFactor)-s.width(t.logOffsetOf(j)))
	}
	return math.Abs(distance) > most && (t.isRelevant(j, distance) || t.slopeOf(j) != nil)
}

// mayHaveOtherUnit reports whether an input between zero and its range may have another unit than the learned values. The
// number 0 is the same in any unit. A small number with a small peak is right. If the peak rises as the input falls, the
// input is extrapolated. For a difference (a pair, j < 0) the result is false, because the effect of a small difference is
// bounded.
func (t *trend) mayHaveOtherUnit(j int, cells []sizing.Value, peak rowPeak) bool {
	x, _ := t.value(j, cells)
	return !t.isPair(j) && x > 0 && peak != smallPeak && !t.isUnboundedBelow(j, cells)
}

// refute records in t.Refuted the inputs whose numbers in a row are implausible only because the peak of the row is usual.
// Until the next fit, further large numbers of these inputs count as implausible, too. They are probably also mistakes,
// for example because a source has changed its unit.
func (t *trend) refute(cells []sizing.Value) {
	for j := t.firstInput(); j < len(cells); j++ {
		if t.isImplausible(j, cells, usualPeak) && !t.isImplausible(j, cells, unknownPeak) {
			t.Refuted = append(t.Refuted, j)
		}
	}
}

// maxDistance returns the largest plausible distance of an input from its range, in log units. It is log(1 + implausibleFactor)
// or, if the range has no negative value and is wider, the width of the range, but at most log(maxImplausibleFactor). offset is
// the log offset of the input. isHeavyTailed marks a number above its range in a row whose peak is unknown or above all known
// peaks. Counts and sizes often have a heavy tail, so the result is then log(maxImplausibleFactor), or +Inf if all known values
// are 0.
func (s *interval) maxDistance(isHeavyTailed bool, offset float64) float64 {
	switch {
	case isHeavyTailed && s.magnitude() == 0: // zeros give no scale with which a number could be compared
		return math.Inf(1)
	case isHeavyTailed:
		return math.Log(maxImplausibleFactor)
	case s.Low < 0:
		return math.Log1p(implausibleFactor)
	}
	return max(math.Log1p(implausibleFactor), min(math.Log(maxImplausibleFactor), s.width(offset)))
}

// rowPeak says what is known about the peak of a row when its inputs are judged.
type rowPeak int

const (
	unknownPeak rowPeak = iota // not known, or above all known peaks
	usualPeak
	smallPeak // below all known peaks
)

func (m *models) classify(peak float64) rowPeak {
	switch y := math.Log(peak); {
	case y > m.High:
		return unknownPeak
	case y < m.Low:
		return smallPeak
	}
	return usualPeak
}

// withoutImplausible returns cells without the implausible inputs, and records these inputs in b.extrapolation. For an
// implausible pair it drops the value that is part of more implausible pairs, or both values if they are part of equally
// many.
func (m *models) withoutImplausible(cells []sizing.Value, b *buffers) []sizing.Value {
	t := &m.PeakTrend
	for j := t.firstInput(); j < len(cells); j++ {
		if !t.isImplausible(j, cells, b.peak) {
			continue
		}
		if !b.extrapolation.implausible {
			b.cleaned = append(b.cleaned[:0], cells...)
			b.isCleaned, b.extrapolation.implausible, b.extrapolation.noRisk = true, true, true
		}
		b.extrapolation.outside = append(b.extrapolation.outside, j)
		b.extrapolation.tooLarge = b.extrapolation.tooLarge || t.isLargeNumber(j, cells)
		switch {
		case t.isInText(j):
			b.cleaned[t.inText(j).Field] = sizing.Value{}
			continue
		case j >= 0:
			b.cleaned[j] = sizing.Value{}
			continue
		}
		pair := &t.Pairs[^j]
		from, to := t.implausiblePairs(pair.From, cells, b.peak), t.implausiblePairs(pair.To, cells, b.peak)
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

// isLargeNumber reports whether an input is above its range and is not a difference of dates. A date far in the future
// usually stands for an unknown date, but a large number may be right.
func (t *trend) isLargeNumber(j int, cells []sizing.Value) bool {
	x, _ := t.value(j, cells)
	return x > t.rangeOf(j).High && (!t.isPair(j) || cells[t.Pairs[^j].To].Kind == sizing.Number)
}

func (t *trend) implausiblePairs(field int, cells []sizing.Value, peak rowPeak) (n int) {
	for k := range t.Pairs {
		if pair := &t.Pairs[k]; (pair.From == field || pair.To == field) && t.isImplausible(^k, cells, peak) {
			n++
		}
	}
	return n
}
