package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A run far below its prediction, such as a run with empty input, is a low outlier. Low outliers are common and say little
// about the next run. The models therefore learn such a run as if its peak were at the threshold of low outliers (winsorising:
// Huber 1964), with less weight. There is no threshold while there are few residuals, and none after a recent fall of the peaks
// (see LowOutlierBound). Each fit compares the runs with the current models, so that the models learn low peaks fully once
// the features explain them. Runs far above their prediction are not changed, because a kill costs more than waste.
//
// The groups of identical runs list the measured peaks, and use them in their means once enough runs agree (see groups.add).
// Raised peaks in such a group would raise the next predictions for its runs, although all of them need little memory.

// winsorise returns the rows, with the peaks of low outliers raised to the threshold. It does not modify `rows`.
func (m *Model) winsorise(rows []row) []row {
	lowest := m.Experts.LowOutlierBound()
	if m.Models == nil || m.Models.ridges == nil || math.IsInf(lowest, -1) {
		return rows
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	copied := false
	usual := m.usualNumbers(rows, lowest)
	for i := range rows {
		r := &rows[i]
		if !(r.Residual < lowest) || usual.isBelow(r.Cells, &m.Models.PeakTrend) { // a residual of NaN (the row was not predicted) is not below `lowest`
			continue
		}
		m.Models.predict(padCells(r.Cells, len(m.Models.Enc.Columns)), &p, b)
		m.Levels.shiftToNewest(&p)
		if raised := math.Exp(p.Level[experts.LineTrees] + lowest); r.Peak < raised {
			if !copied {
				rows, copied = append([]row(nil), rows...), true
			}
			rows[i].winsorise(raised, lowest)
		}
	}
	return rows
}

// usualNumbers are, by input of the trend, the largest numbers in rows that are no low outliers. For a larger number the models
// extrapolate, so a low peak shows that their prediction is too high, and is no outlier.
type usualNumbers map[int]float64

func (m *Model) usualNumbers(rows []row, lowest float64) usualNumbers {
	largest, t := usualNumbers{}, &m.Models.PeakTrend
	for _, s := range t.Slopes {
		if t.isPair(s.Field) {
			continue
		}
		largest[s.Field] = math.Inf(-1)
		for i := range rows {
			if v := t.numberOf(rows[i].Cells, s.Field); !(rows[i].Residual < lowest) && v > largest[s.Field] {
				largest[s.Field] = v
			}
		}
	}
	return largest
}

// isBelow reports whether a row has a number above the usual ones.
func (u usualNumbers) isBelow(cells []sizing.Value, t *trend) bool {
	for j, largest := range u {
		if t.numberOf(cells, j) > largest {
			return true
		}
	}
	return false
}

// numberOf returns NaN if a row, which may be older than the schema, lacks input j.
func (t *trend) numberOf(cells []sizing.Value, j int) float64 {
	field := j
	if t.isInText(j) {
		field = t.inText(j).Field
	}
	if field < len(cells) {
		if x, known := t.value(j, cells); known {
			return x
		}
	}
	return math.NaN()
}

// winsorise raises the peak of r, a low outlier, to `threshold` in bytes, and reduces its weight. `lowest` is the (negative)
// residual at the threshold.
func (r *row) winsorise(threshold, lowest float64) {
	r.Weight *= outlierWeight(r.Peak, threshold, lowest)
	r.Measured, r.Peak = r.Peak, threshold
}

// measured returns the peak before winsorising.
func (r *row) measured() float64 {
	if r.Measured > 0 {
		return r.Measured
	}
	return r.Peak
}

// outlierWeight falls with the distance of the peak from the threshold; `lowest` is the (negative) residual there.
func outlierWeight(peak, raised, lowest float64) float64 {
	return lowest / (lowest - math.Log(raised/peak))
}

// reduceDrift reduces the smoothed errors Drift and Trend to the errors of the newly fitted models, so that models.Stack
// does not correct an error that the fit has already corrected. It reduces only negative errors (predictions that were too
// high); positive errors continue to raise grants for a while.
func (m *models) reduceDrift(rows []row) {
	if m.ridges == nil || m.Drift >= 0 && m.Trend >= 0 {
		return
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	drift, trend := 0.0, 0.0
	for _, r := range rows[max(0, len(rows)-maxDriftRows):] {
		if r.Imputed {
			continue
		}
		m.predict(r.Cells, &p, b)
		err := math.Log(r.Peak) - p.Level[experts.LineTrees]
		drift += (err - drift) * driftRate
		trend += (err - trend) * trendRate
	}
	m.Drift, m.Trend = nearerZero(m.Drift, drift), nearerZero(m.Trend, trend)
}

const maxDriftRows = 60 // newest rows that reduceDrift predicts; Trend averages over about twenty (1/trendRate)

// nearerZero changes only a negative `old`, and never to more than zero.
func nearerZero(old, newer float64) float64 {
	if old >= 0 {
		return old
	}
	return max(old, min(0, newer))
}

// moveResiduals lowers, after a recent fall of the peaks, the predictions in the experts' residual store towards those of the
// fitted models (see Experts.MoveResiduals), and updates m.OutOfSample, because the fit has moved the models towards the new
// peaks.
func (m *Model) moveResiduals(fitted *models, rows []row) {
	if m.Models == nil || fitted.ridges == nil || !m.Experts.RecentlyFell() {
		return
	}
	known := make(map[float64]*row, len(rows)) // by residual; two rows have the same residual only by chance
	for i := range rows {
		known[rows[i].Residual] = &rows[i]
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	before, after := m.Experts.MoveResiduals(func(residual float64) *experts.Point {
		r := known[residual]
		if r == nil {
			return nil
		}
		fitted.predict(r.Cells, &p, b)
		return &p
	})
	moved := make(map[float64]float64, len(before))
	for i := range before {
		moved[before[i]] = after[i]
	}
	for i := range m.OutOfSample {
		if to, ok := moved[m.OutOfSample[i].Residual]; ok {
			m.OutOfSample[i].Residual = to
		}
	}
}
