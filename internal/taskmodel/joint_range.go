package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// jointExcess returns, as a log factor, by how much the prediction of the trend for a row, with its inputs moved into their ranges,
// exceeds t.Highest, the largest one for a learned row: each input may be in its range, although no learned row has large values of
// all of them. The excess is zero if it is at most log(outsideFactor).
func (t *trend) jointExcess(cells []sizing.Value) float64 {
	if t.Highest == 0 || len(t.Slopes) < 2 {
		return 0
	}
	if excess := t.predictInRange(cells) - t.Highest; excess > math.Log(outsideFactor) { // false for NaN
		return excess
	}
	return 0
}

func (t *trend) observeHighest(cells []sizing.Value) {
	if level := t.predictInRange(cells); len(t.Slopes) > 0 && level > t.Highest { // false for NaN
		t.Highest = level
	}
}

// predictInRange is like predict, but for a row with its inputs moved into their ranges.
func (t *trend) predictInRange(cells []sizing.Value) float64 {
	sum := t.Base
	for _, s := range t.Slopes {
		sum += s.Slope * t.transform(s.Field, t.rangeOf(s.Field).edge(t.known(s.Field, cells)))
	}
	return t.logOf(sum)
}

// findJoint records that a row has a jointExcess, and the inputs of the trend as outside.
func (t *trend) findJoint(cells []sizing.Value, found *extrapolation) {
	excess := t.jointExcess(cells)
	if excess == 0 {
		return
	}
	found.isJoint, found.aboveRange = true, max(found.aboveRange, 2)
	found.noRisk = found.noRisk || excess*max(1, t.ConvexSlope) > math.Log(noRiskFactor)
	for _, s := range t.Slopes {
		if !slices.Contains(found.outside, s.Field) {
			found.outside = append(found.outside, s.Field)
		}
	}
}

// moveToHighest moves the numbers of a row, whose inputs are in their ranges, so that the trend predicts at most t.Highest, as far as
// these numbers can lower the prediction. Each number moves by the same share of its distance from the end of its range with the
// smallest peaks.
func (t *trend) moveToHighest(cells []sizing.Value) {
	if t.jointExcess(cells) == 0 {
		return
	}
	sum, most, total := t.Base, t.Highest, 0.0
	if t.Linear {
		most = math.Exp(most)
	}
	for _, s := range t.Slopes {
		x := t.known(s.Field, cells)
		sum += s.Slope * t.transform(s.Field, x)
		total += s.Slope * t.aboveLeast(&s, cells)
	}
	if total <= 0 {
		return
	}
	share := min(1, (sum-most)/total)
	for _, s := range t.Slopes {
		if above := t.aboveLeast(&s, cells); above != 0 {
			x, _ := t.value(s.Field, cells)
			x = t.inverse(s.Field, t.transform(s.Field, x)-share*above)
			if t.isInText(s.Field) {
				x = shortNumber(x)
			}
			t.setValue(s.Field, cells, x)
		}
	}
}

// shortNumber rounds a positive number down so that it has few digits: at most maxTextDigits can be read from a text.
func shortNumber(x float64) float64 {
	if x >= 1000 {
		return math.Floor(x)
	}
	return math.Floor(1000*x) / 1000
}

// aboveLeast returns the distance of a number from the end of its range with the smallest peaks, as the trend transforms it; zero for
// a missing number and for a difference of two features.
func (t *trend) aboveLeast(s *slope, cells []sizing.Value) float64 {
	x, known := t.value(s.Field, cells)
	if t.isPair(s.Field) || !known {
		return 0
	}
	least := t.rangeOf(s.Field).Low
	if s.Slope < 0 {
		least = t.rangeOf(s.Field).High
	}
	return t.transform(s.Field, x) - t.transform(s.Field, least)
}

// inverse is the inverse function of transform.
func (t *trend) inverse(j int, z float64) float64 {
	if t.Linear {
		return z
	}
	return math.Copysign(t.logOffsetOf(j)*math.Expm1(math.Abs(z)), z)
}

// raiseToLine raises p to the prediction of the line without the bound of levelOf: a base plus a product of several inputs rises
// faster than the trend. It raises p at most to `edge` plus maxConvexSlope times the rise of the trend. `edge` is the prediction
// for the row b.atEdge, whose inputs were moved into their ranges.
func (m *models) raiseToLine(cells []sizing.Value, p, edge *experts.Point, rise float64, b *buffers) {
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
	line := withOffset(m.lineRidge().Predict(b.line), m.Offset)
	for k := range p.Level {
		p.Level[k] = max(p.Level[k], min(line, edge.Level[k]+maxConvexSlope*rise))
	}
}
