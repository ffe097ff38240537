package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// runTimeTrend extrapolates the run time outside the range of the inputs, as PeakTrend does for the peak. It has the
// fields of a trend that was fitted on the run times; it shares the ranges and the pairs of PeakTrend.
type runTimeTrend struct {
	Slopes      []slope
	Base        float64
	Linear      bool
	ConvexSlope float64
}

// fitRunTime fits the trend of the run time on the rows with a known one.
func (m *models) fitRunTime(rows []row) {
	timed := make([]row, 0, len(rows))
	var y []float64
	for _, r := range rows {
		if !r.Untimed {
			r.Peak = 1 + r.Seconds // trend reads the quantity that it predicts from here
			timed, y = append(timed, r), append(y, math.Log(r.Peak))
		}
	}
	// The ranges are copied, because fit replaces their shares of the variance of the peak.
	t := trend{Ranges: slices.Clone(m.PeakTrend.Ranges), Pairs: slices.Clone(m.PeakTrend.Pairs)}
	t.fit(timed, y)
	m.RunTimeTrend = runTimeTrend{t.Slopes, t.Base, t.Linear, t.ConvexSlope}
}

// extrapolateRunTime sets the point prediction of the log run time for a row outside the range: the prediction at the
// edge of the range, moved along the trend of the run time. edge are the cells with their inputs moved into the range.
// It records the rise and its margin in b.extrapolation.
func (m *models) extrapolateRunTime(cells, edge []sizing.Value, p, atEdge *experts.Point, b *buffers) {
	f := &m.RunTimeTrend
	t := trend{Ranges: m.PeakTrend.Ranges, Pairs: m.PeakTrend.Pairs, Slopes: f.Slopes, Base: f.Base, Linear: f.Linear, ConvexSlope: f.ConvexSlope}
	change, margin := t.change(cells, edge)
	if change > 0 {
		change = min(change, math.Log(maxExtrapolation), maxLogSeconds-atEdge.Duration)
		b.extrapolation.runTimeRise, b.extrapolation.runTimeMargin = change, change*margin
	}
	p.Duration = max(0, atEdge.Duration+change)
}
