package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The ridge regression of the log run time follows an input outside its range only if the slope of the log
// run time over the log input has a small standard error. One of the two bounds suffices: a small absolute
// error limits the harm of a wrong slope, and a small relative error shows that the run time depends on the
// input. The bound for the peak (maxSlopeError) is stricter, because an excessive grant costs more than a
// wrong run time.
const (
	maxRunTimeSlopeError         = 0.3
	maxRunTimeSlopeRelativeError = 0.4
)

// runTimeInputs returns the inputs over which the slope of the log run time is reliable. The slope over
// another input, such as a date difference that varied by a few days, is mostly noise, and the predicted
// run time would diverge outside the range of this input.
func (t *trend) runTimeInputs(rows []row) []int {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Untimed })
	if len(rows) < minTrendRows {
		return nil
	}
	y := make([]float64, len(rows))
	for i := range rows {
		y[i] = math.Log1p(rows[i].Seconds)
	}
	// The ranges are copied, because strongestInputs would replace their shares of the variance of the peak.
	power := trend{Ranges: slices.Clone(t.Ranges), Pairs: slices.Clone(t.Pairs)}
	if _, ok := power.solve(power.strongestInputs(rows, y), rows, y); !ok {
		return nil
	}
	var inputs []int
	for _, s := range power.Slopes {
		if s.Relative <= maxRunTimeSlopeRelativeError || s.Relative*math.Abs(s.Slope) <= maxRunTimeSlopeError {
			inputs = append(inputs, s.Field)
		}
	}
	return inputs
}

// extrapolateRunTime returns the point prediction of the log run time for a row outside the range. It
// follows the ridge regression in the inputs with a reliable slope. Any other input outside its range counts as
// if it were at the edge.
func (m *models) extrapolateRunTime(cells []sizing.Value, b *buffers) float64 {
	b.atEdge = m.clampToRange(cells, m.RunTimeInputs, b.atEdge[:0])
	var p experts.Point
	m.predictInRange(b.atEdge, &p, b)
	return p.Duration
}
