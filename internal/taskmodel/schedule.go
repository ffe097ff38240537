package taskmodel

import (
	"encoding/binary"
	"hash/fnv"
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The row counts at which a task is fitted depend only on its history. A training that starts late
// fits at the counts that it missed, in order, so that its model equals that of a training in time:
// residuals and margins do not depend on the load of the machine.

const (
	fineFitRows     = 200 // up to so many measured rows, a fit is due after each eighth more
	fineFitGrowth   = 8
	minFineFitRows  = 2
	fitEvery        = 25 // above fineFitRows, a fit is due after 25 more rows, or after a fiftieth more if that is more
	fitGrowth       = 50
	reproducedShare = 128 // a fit is due after a reproduced run, or 1/128 more rows if that is more: a campaign chooses runs that the model lacks
	minCatchUpRows  = 100
	catchUpShare    = 25  // the rules above apply if at most 1/25 of the rows, or minCatchUpRows, are still to be learned
	bulkGrowth      = 1.5 // with a longer backlog, such as an import: growth in rows between two fits
	minBulkRows     = 20  // the first fit of such a backlog is due at bulkGrowth times as many rows
)

// nextFit returns the number of measured rows at which a model fitted on n rows is fitted again.
func nextFit(n int) int {
	if n < fineFitRows {
		return n + max(minFineFitRows, n/fineFitGrowth)
	}
	return n + max(fitEvery, n/fitGrowth)
}

// IsFitDue reports whether the rows learned since the last fit make a fit due, so that Update fits.
func (m *Model) IsFitDue() bool { return m.isFitDue(0) }

// isFitDue reports whether enough rows were learned since the last fit. unlearned is the number
// of rows that the model has still to learn.
func (m *Model) isFitDue(unlearned int) bool {
	learned := m.Experts.LearnedRows
	switch {
	case m.isEarly(): // Learn fits
		return false
	case unlearned <= max(minCatchUpRows, learned/catchUpShare):
		return learned >= nextFit(m.Fitted) || m.Reproduced > 0 && m.Reproduced >= m.Fitted/reproducedShare
	}
	return float64(learned) >= bulkGrowth*float64(max(m.Fitted, minBulkRows))
}

// fitKey returns a hash of the content of rows to fit (FNV-1a).
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
