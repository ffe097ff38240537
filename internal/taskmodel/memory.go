package taskmodel

import (
	"unsafe"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/linear"
)

// perEntry is the overhead of an entry of a Go map at its average load, in bytes.
const perEntry = 16

// MemoryBytes returns the approximate memory of the model, so that a cache of models can be
// bounded; see TestMemoryBytesMatchesTheHeap. A call takes microseconds.
func (m *Model) MemoryBytes() int64 {
	size := int64(unsafe.Sizeof(*m)) + m.Experts.MemoryBytes() + m.Overrun.MemoryBytes()
	for i := range m.CPU.Residuals {
		size += m.CPU.Residuals[i].MemoryBytes()
	}
	size += sliceBytes(m.OutOfSample) + sliceBytes(m.Unpredicted) + sliceBytes(m.Quarantine) + sliceBytes(m.QuarantineCores) + sliceBytes(m.KnownKills)
	size += sliceBytes(m.Unresolved.Kills) + sliceBytes(m.EarlyRows) + sliceBytes(m.Pending) + averageBytes(&m.ColdStart)
	size += sliceBytes(m.DAGRuns) + sliceBytes(m.KilledStarts) + sliceBytes(m.NewFeatures.Names) + sliceBytes(m.NewFeatures.Rows) + sliceBytes(m.Understatement.Runs) + sliceBytes(m.Resumed.Runs) + sliceBytes(m.Levels.Changes) + sliceBytes(m.Levels.Fall)
	size += sliceBytes(m.DurationLevels.Level.Changes) + sliceBytes(m.DurationLevels.Level.Earlier)
	if c := m.DurationLevels.Level.Candidate; c != nil {
		size += int64(unsafe.Sizeof(*c)) + sliceBytes(c.Shared)
	}
	for i := range m.DurationLevels.Level.Earlier {
		size += sliceBytes(m.DurationLevels.Level.Earlier[i].Cells)
	}
	if m.Levels.Candidate != nil {
		size += int64(unsafe.Sizeof(*m.Levels.Candidate))
	}
	if f := m.Levels.Form; f != nil {
		size += int64(unsafe.Sizeof(*f)) + sliceBytes(f.Rows)
	}
	size += int64(len(m.RepeatedKills))*(16+perEntry) + int64(len(m.Levels.Added))*(24+perEntry)
	for i := range m.DAGRuns {
		size += sliceBytes(m.DAGRuns[i].Launches)
	}
	for i := range m.EarlyRows {
		size += sliceBytes(m.EarlyRows[i].Cells)
	}
	for i := range m.Pending {
		size += sliceBytes(m.Pending[i].Cells)
	}
	size += sliceBytes(m.Schema.Fields) + m.ratios.bytes()
	for i := range m.Schema.Fields {
		size += sliceBytes(m.Schema.Fields[i].Categories)
	}
	if m.Models != nil {
		size += m.Models.bytes()
	}
	return size
}

func averageBytes(a *bayes.Average) int64 {
	size := sliceBytes(a.Lines) + sliceBytes(a.Affines) + sliceBytes(a.Narrow) + sliceBytes(a.Ranges) + sliceBytes(a.Units) + sliceBytes(a.Kills) +
		sliceBytes(a.Modes.Modes) + sliceBytes(a.Trend.Overlap.Ends) + sliceBytes(a.Trend.Overlap.Runs)
	for i := range a.Kills {
		size += sliceBytes(a.Kills[i].Inputs) + sliceBytes(a.Kills[i].Levels)
	}
	if a.Imputed != nil {
		size += int64(unsafe.Sizeof(*a.Imputed)) + averageBytes(a.Imputed)
	}
	return size
}

func (t *trend) bytes() int64 {
	return sliceBytes(t.Ranges) + sliceBytes(t.Texts) + sliceBytes(t.Units) + sliceBytes(t.Remote) + sliceBytes(t.Slopes)
}

func (m *models) bytes() int64 {
	size := int64(unsafe.Sizeof(*m)) + m.Recent.MemoryBytes() + m.PeakTrend.bytes() + sliceBytes(m.RunTimeTrend.Slopes) + m.ValueTrends.bytes()
	size += m.Groups.bytes() + sliceBytes(m.RecurringColumns)
	if m.Recurring != nil {
		size += m.Recurring.bytes()
	}
	size += sliceBytes(m.Combinations.Columns) + int64(len(m.Combinations.Effects))*(2*8+perEntry)
	size += int64(len(m.NewValues)) * (3*8 + perEntry)
	size += m.RunTimeCycles.bytes() + m.CoreCycles.bytes()
	if m.Trees != nil {
		size += m.Trees.MemoryBytes()
	}
	if m.Resid != nil {
		size += m.Resid.MemoryBytes()
	}
	if m.Spread != nil {
		size += m.Spread.MemoryBytes()
	}
	if m.line != nil {
		size += m.line.MemoryBytes()
	}
	for _, r := range m.ridges {
		size += r.MemoryBytes()
	}
	for _, above := range []*linear.Ridge{m.Above, m.RunTimeAbove} {
		if above != nil {
			size += above.MemoryBytes()
		}
	}
	if m.Restart != nil {
		size += int64(unsafe.Sizeof(*m.Restart)) + m.Restart.Position.MemoryBytes()
	}
	return size + m.Enc.bytes()
}

func (e *encoder) bytes() int64 {
	size := int64(unsafe.Sizeof(*e)) + sliceBytes(e.Columns) + e.DonorRows.bytes()
	for i := range e.Columns {
		size += e.Columns[i].bytes()
	}
	return size
}

func (c *column) bytes() int64 {
	size := sliceBytes(c.Parts.Columns)
	for text, level := range c.Levels {
		size += int64(len(text)) + perEntry + int64(unsafe.Sizeof(text)+unsafe.Sizeof(level)+unsafe.Sizeof(*level))
	}
	for k := range c.Parts.Columns {
		size += c.Parts.Columns[k].bytes()
	}
	return size
}

func sliceBytes[E any](s []E) int64 {
	var e E
	return int64(cap(s)) * int64(unsafe.Sizeof(e))
}
