package taskmodel

import (
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The row counts at which a task is fitted depend only on its history, except after a long backlog of new rows or a manual
// training. A training that starts late fits at the counts that it missed, in order, so that its model, and thus residuals
// and margins, do not depend on the load of the machine.

const (
	// A model fitted on fewer than frequentFitRows measured rows is fitted again when their number has grown by
	// 1/frequentFitGrowth, and by at least minFrequentFitRows rows.
	frequentFitRows    = 200
	frequentFitGrowth  = 8
	minFrequentFitRows = 2

	// A model fitted on at least frequentFitRows rows is fitted again when their number has grown by 1/fitGrowth, and by at
	// least fitEvery rows.
	fitEvery  = 25
	fitGrowth = 50

	// A fit is also due when at least one reproduced run was learned since the last fit, and the number of these runs is at
	// least 1/reproducedShare of the rows of that fit: the inputs of such runs may be new to the model.
	reproducedShare = 128

	// These rules apply if a training starts with at most minCatchUpRows unlearned rows, or with at most 1/catchUpShare of the
	// number of learned rows.
	minCatchUpRows = 100
	catchUpShare   = 25

	// With a longer backlog, such as an import, a model fitted on at least frequentFitRows rows is fitted again when their
	// number has grown by the factor bulkGrowth, and at the end if a fit is then due by the rules above (IsFitDue).
	bulkGrowth  = 1.35
	minBulkRows = 20 // see hasGrown
)

// nextFit returns the number of measured rows at which a model fitted on n rows is fitted again.
func nextFit(n int) int {
	if n < frequentFitRows {
		return n + max(minFrequentFitRows, n/frequentFitGrowth)
	}
	return n + max(fitEvery, n/fitGrowth)
}

func (m *Model) isLongBacklog(unlearned int) bool {
	return unlearned > max(minCatchUpRows, m.Experts.LearnedRows/catchUpShare)
}

// IsFitDue reports whether a fit is due for one of these reasons: enough rows or reproduced runs were learned since the last
// fit, the models have not learned an accepted change of a level or its form (level_change.go, runtime_level_change.go), or
// a comparison with a fresh model is due (relearn.go).
func (m *Model) IsFitDue() bool {
	if m.isEarly() { // then Learn fits
		return false
	}
	return m.Levels.unfitted() != affine{} || m.DurationLevels.Level.Unfitted != 0 || m.Levels.changesForm() || m.Experts.LearnedRows >= nextFit(m.Fitted) || m.Reproduced > 0 && m.Reproduced >= m.Fitted/reproducedShare || m.isRelearnDue()
}

func (m *Model) isBulkFitDue() bool {
	if m.Fitted < frequentFitRows {
		return m.IsFitDue()
	}
	return m.hasGrown()
}

// hasGrown reports whether the number of rows has grown by the factor bulkGrowth since the last fit. A last fit on fewer
// than minBulkRows rows counts as one on minBulkRows.
func (m *Model) hasGrown() bool {
	return !m.isEarly() && float64(m.Experts.LearnedRows) >= bulkGrowth*float64(max(m.Fitted, minBulkRows))
}

// fitKey hashes the features, peaks, run times, cores and weights of the rows on which a model is fitted (FNV-1a, 64 bit).
func fitKey(rows []row) uint64 {
	h := fnv.New64a()
	var b []byte
	number := func(v float64) { b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) }
	for i := range rows {
		r := &rows[i]
		b = b[:0]
		for _, v := range []float64{r.Peak, r.Seconds, r.Cores, r.Weight} {
			number(v)
		}
		for _, cell := range r.Cells {
			b = append(b, byte(cell.Kind))
			if cell.Kind == sizing.Category {
				b = append(append(b, cell.Text...), 0)
				continue
			}
			number(cell.Num)
		}
		_, _ = h.Write(b) // a hash returns no error
	}
	return h.Sum64()
}
