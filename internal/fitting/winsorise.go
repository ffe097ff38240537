package fitting

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// A run far below its prediction, such as one of empty input, is common and says little
// of the next. The models therefore learn it as if it had been only as low as an outlier
// starts (winsorising: Huber 1964). Each training clips anew, against models that have
// moved since, so that what the features explain is still learned in full. Runs far above
// their prediction are not clipped: a kill costs more than waste.

// winsorised returns rows with their low outliers raised. It copies rows if there are any.
func (m *Model) winsorise(rows []row) []row {
	lowest := m.Experts.LowestResidual()
	if m.Models == nil || m.Models.ridges == nil || math.IsInf(lowest, -1) {
		return rows
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	copied := false
	for i := range rows {
		r := &rows[i]
		if !(r.Residual < lowest) { // NaN: nothing was predicted
			continue
		}
		m.Models.predict(padded(r.Cells, len(m.Models.Enc.Columns)), &p, b)
		if raised := math.Exp(p.Level[experts.LineTrees] + lowest); raised > r.Peak {
			if !copied {
				rows, copied = append([]row(nil), rows...), true
			}
			rows[i].Weight *= outlierWeight(r.Peak, raised, lowest)
			rows[i].Peak = raised
		}
	}
	return rows
}

// lowWeight is what a raised row counts, so that its pull falls with its distance.
func outlierWeight(peak, raised, lowest float64) float64 {
	return lowest / (lowest - math.Log(raised/peak))
}

// settle takes out of the smoothed errors what a training has taken into the models, so
// that the stack does not correct for it again. Only errors from predictions that were too
// high are reduced: the others keep grants up for a while.
func (m *models) settleDrift(rows []row) {
	if m.ridges == nil || m.Drift >= 0 && m.Trend >= 0 {
		return
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	drift, trend := 0.0, 0.0
	for _, r := range rows[max(0, len(rows)-maxSettleRows):] {
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

const maxSettleRows = 60 // Trend remembers about twenty

// nearerZero moves a negative error up to a newer one, at most to zero.
func nearerZero(old, newer float64) float64 {
	if old >= 0 {
		return old
	}
	return max(old, min(0, newer))
}

// move tells the experts where a training that follows a fall has put the models.
func (m *Model) moveResiduals(fitted *models, rows []row) {
	if m.Models == nil || fitted.ridges == nil || !m.Experts.JustFell() {
		return
	}
	known := make(map[float64]*row, len(rows)) // no two residuals are equal but by chance
	for i := range rows {
		known[rows[i].Residual] = &rows[i]
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	before, after := m.Experts.Move(func(residual float64) *experts.Point {
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
