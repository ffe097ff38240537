package taskmodel

import (
	"cmp"
	"math"
	"slices"
)

const (
	minConvexRows  = 12  // smallest number of rows in the upper half with which the slope is reliable
	maxConvexSlope = 2.0 // upper bound of the slope, because few rows may determine it
)

// convexSlope returns the slope of the log peak over the trend's prediction, by least squares on the half of the rows with
// the largest predictions; zero if it is unreliable or negative. If the peak is convex in the inputs (a constant base plus a
// growing part, or a product of inputs), the trend is too flat at the edge of the range, where an extrapolation starts.
func (t *trend) convexSlope(rows []row, y []float64) float64 {
	if len(t.Slopes) == 0 || len(rows) < 2*minConvexRows {
		return 0
	}
	type point struct{ line, y float64 }
	var points []point
	for i := range rows {
		if v := t.predict(rows[i].Cells); v-v == 0 { // false for NaN and infinity
			points = append(points, point{v, y[i]})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.y, b.y)) })
	upper := points[len(points)/2:]
	if len(upper) < minConvexRows {
		return 0
	}
	n := float64(len(upper))
	meanLine, meanY, xx, xy := 0.0, 0.0, 0.0, 0.0
	for _, p := range upper {
		meanLine, meanY = meanLine+p.line/n, meanY+p.y/n
	}
	for _, p := range upper {
		xx, xy = xx+(p.line-meanLine)*(p.line-meanLine), xy+(p.line-meanLine)*(p.y-meanY)
	}
	if slope := xy / xx; slope > 0 && !math.IsInf(slope, 0) {
		return min(maxConvexSlope, slope)
	}
	return 0
}
