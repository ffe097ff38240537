package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// runTimeTrend extrapolates the run time outside the range of the inputs, as PeakTrend does for the peak. It has the
// fields of a trend that was fitted on the run times. It shares the inputs, the ranges and the log offsets (Units) of the trend of
// the peaks to which it belongs: PeakTrend or valueTrend.Peaks.
type runTimeTrend struct {
	Slopes      []slope
	Base        float64
	Linear      bool
	ConvexSlope float64
}

// fitRunTime fits the trend of the run times on rows from which the ranges of t come.
func (t *trend) fitRunTime(rows []row) runTimeTrend {
	timed := make([]row, 0, len(rows))
	var y []float64
	for _, r := range rows {
		if !r.Untimed {
			r.Peak = 1 + r.Seconds // trend.fit predicts Peak, so here Peak holds the run time
			timed, y = append(timed, r), append(y, math.Log(r.Peak))
		}
	}
	// fit overwrites interval.Share, the share of the variance of the peak that an input explains, so it gets copies.
	f := *t
	f.Ranges, f.Pairs, f.Texts = slices.Clone(t.Ranges), slices.Clone(t.Pairs), slices.Clone(t.Texts)
	f.fit(timed, y)
	return runTimeTrend{f.Slopes, f.Base, f.Linear, f.ConvexSlope}
}

func (m *models) runTimeTrendOf(cells []sizing.Value) trend {
	if v := m.valueTrendOf(cells); v != nil {
		return v.Peaks.with(&v.RunTime)
	}
	return m.PeakTrend.with(&m.RunTimeTrend)
}

// with returns a copy of a trend of the peaks with the slopes of a run-time trend.
func (t trend) with(f *runTimeTrend) trend {
	t.Slopes, t.Base, t.Linear, t.ConvexSlope = f.Slopes, f.Base, f.Linear, f.ConvexSlope
	return t
}

// extrapolateRunTime sets p.Duration, the point prediction of the log run time, for a row outside the range: the forecast
// from remote numbers or, without one, the prediction at the edge of the range plus the change of the run-time trend. Below
// the largest remote numbers, the rise ends at noRiskFactor times the longest run time with such a number. `atEdge` is
// `cells` with the inputs moved into their ranges, and `edge` is the prediction for this row.
func (m *models) extrapolateRunTime(cells, atEdge []sizing.Value, p, edge *experts.Point, b *buffers) {
	found := &b.extrapolation
	if f := &found.remote; f.seconds > 0 {
		found.runTimeMargin, p.Duration = f.secondsMargin, max(0, min(f.seconds, maxLogSeconds))
		return
	}
	t := m.runTimeTrendOf(cells)
	c := t.change(cells, atEdge)
	rise := c.total
	if rise > 0 {
		most := min(math.Log(maxExtrapolation), maxLogSeconds-edge.Duration)
		if longest := m.PeakTrend.longestRemote(); longest > 0 && found.mostAmount > 0 {
			most = min(most, max(0, longest+math.Log(noRiskFactor)-edge.Duration))
		}
		rise = min(rise*max(1, t.ConvexSlope), most)
		found.runTimeRise, found.runTimeMargin = rise, rise*c.margin
	}
	p.Duration = max(0, edge.Duration+rise)
}

// raiseRunTimeToEdge raises the run time of a row without a dropped large number to that of the nearest known row, if that is
// longer. `given` is the row with the number. Such a run probably takes longer than most runs, and their mean would
// understate the probability of a timeout. p stays the same, because the amount of memory has its own minimum (raiseToEdge).
func (m *models) raiseRunTimeToEdge(given []sizing.Value, p *experts.Point, b *buffers) {
	at := bufferPool.Get().(*buffers)
	defer bufferPool.Put(at)
	at.cells = m.nearestKnown(given, b, at.cells[:0])
	var edge experts.Point
	m.predictInRange(at.cells, &edge, at)
	found := &b.extrapolation
	if found.edgeRunTime = max(0, edge.Duration+found.runTimeRise-p.Duration); found.edgeRunTime == 0 {
		return
	}
	b.donorSeconds = append(b.donorSeconds[:0], noDifference...)
	if edge.Imputed { // the row lacks other features, too
		b.donorSeconds = append(b.donorSeconds[:0], at.donorSeconds...)
	}
}
