package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// pendingRow is a row that lacks a rarely missing feature. The experts have not learned its residual yet. They learn it
// when the models have been fitted on enough rows that lack the feature: from then on the models predict such rows
// without imputation, and the experts need margins for such rows.
type pendingRow struct {
	Seq           int64
	Cells         []sizing.Value
	Point         experts.Point // mean of the predictions over the donor rows, without the margin for the differences between them
	Peak, Seconds float64
}

// maxPending is the largest number of stored pending rows. More are not needed: with minNewRows rows without the
// feature a fit learns the effect of its absence.
const maxPending = minNewRows

// addPending stores a row with imputed features, instead of the oldest one if maxPending are stored. `center` is the
// prediction for the row, without the margin.
func (m *Model) addPending(r *row, center *experts.Point, seq int64) {
	if len(m.Pending) == maxPending {
		m.Pending = slices.Delete(m.Pending, 0, 1)
	}
	m.Pending = append(m.Pending, pendingRow{Seq: seq, Cells: slices.Clone(r.Cells), Point: *center, Peak: r.Peak, Seconds: r.Seconds})
}

// learnPending lets the experts learn the pending rows that the newly fitted models predict without imputation.
func (m *Model) learnPending() {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	remaining := m.Pending[:0]
	for i := range m.Pending {
		p := &m.Pending[i]
		if p.Cells = padCells(p.Cells, len(m.Models.Enc.Columns)); m.Models.Enc.isIncomplete(p.Cells) {
			remaining = append(remaining, *p)
			continue
		}
		m.OutOfSample = append(m.OutOfSample, outOfSample{Seq: p.Seq, Residual: math.Log(p.Peak) - p.Point.Level[experts.LineTrees]})
		m.Experts.LearnDeferred(&p.Point, p.Peak, p.Seconds, &b.scratch)
	}
	if len(remaining) < len(m.Pending) {
		m.Experts.SetPool(&m.Share, nil)
	}
	clear(m.Pending[len(remaining):])
	m.Pending = remaining
}
