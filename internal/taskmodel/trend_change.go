package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

// trendChange is the change of the trend from one row to another, in log units without ConvexSlope.
type trendChange struct {
	total     float64 // within the bound of maxPower
	margin    float64 // log margin per unit of total
	isBounded bool    // the trend changes more than maxPower allows
	isTooFar  bool    // the change exceeds this bound by more than the factor outsideFactor
}

// maxPower bounds a trend outside the range: the peak changes at most like this power of the input. A size hardly has a larger
// effect; three nested loops over n rows have the power 3. Inputs with a steeper trend count time or runs. If their steps vary,
// as from 202512 to 202601, the trend is wrong.
const maxPower = 3.0

// change returns the change of the trend from the row `from` to the row `cells`. `from` is `cells` with inputs moved into
// their ranges or to remote numbers. The change is zero if no input of the trend was moved, or if a linear trend predicts a
// negative peak.
func (t *trend) change(cells, from []sizing.Value) (c trendChange) {
	uncertainty, most := 0.0, 0.0
	isMoved := false
	for _, s := range t.Slopes {
		raw, _ := t.value(s.Field, cells)
		if moved, known := t.value(s.Field, from); known && moved != raw {
			isMoved, uncertainty = true, uncertainty+2*s.Relative
			offset := t.logOffsetOf(s.Field)
			most += maxPower * math.Abs(bayes.SignedLog(raw, offset)-bayes.SignedLog(moved, offset))
		}
	}
	if !isMoved {
		return c
	}
	c.total, c.margin = t.predict(cells)-t.predict(from), trendMargin+uncertainty
	if math.IsNaN(c.total) { // a linear trend predicts a negative peak
		return trendChange{}
	}
	if excess := math.Abs(c.total) - most; excess > 0 {
		c.total, c.isBounded, c.isTooFar = math.Copysign(most, c.total), true, excess > math.Log(outsideFactor)
	}
	return c
}
