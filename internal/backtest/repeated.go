package backtest

import (
	"maps"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// tries collects one row per try. As in the service, a repeated row fills in unknown fields of the
// first row, and a row that contradicts the first row is ignored.
type tries struct {
	rows         []sizing.Observation
	index        map[sizing.TryKey]int // index of a try in rows
	repeated     int
	contradicted int // repeated rows that contradict the first row
}

func (t *tries) add(o sizing.Observation) {
	if t.index == nil {
		t.index = map[sizing.TryKey]int{}
	}
	at, known := t.index[o.Try]
	if !known {
		t.index[o.Try] = len(t.rows)
		t.rows = append(t.rows, o)
		return
	}
	t.repeated++
	amended, ok := amend(t.rows[at], &o)
	if !ok {
		t.contradicted++
		return
	}
	t.rows[at] = amended
}

// amend fills in the unknown fields of the first row from the repeated one. It returns false if the two rows contradict each
// other.
func amend(first sizing.Observation, again *sizing.Observation) (sizing.Observation, bool) {
	ok := fill(&first.Outcome, again.Outcome) &&
		fill(&first.MemoryMax, again.MemoryMax) && fill(&first.MemorySampled, again.MemorySampled) &&
		fill(&first.CPUMax, again.CPUMax) && fill(&first.Duration, again.Duration) &&
		fillTime(&first.StartedAt, again.StartedAt) && fillTime(&first.EndedAt, again.EndedAt) &&
		fill(&first.Allocated.Memory, again.Allocated.Memory) && fill(&first.Allocated.CPU, again.Allocated.CPU) &&
		fill(&first.Requested.Memory, again.Requested.Memory) && fill(&first.Requested.CPU, again.Requested.CPU)
	fill(&first.PredictionID, again.PredictionID) // another id is no contradiction
	if !first.HasContext() {                      // the context (metadata, usage and placement) comes from the first row that has one
		first.Metadata, first.Usage, first.Placement = again.Metadata, again.Usage, again.Placement
	}
	if !ok || again.Features == nil {
		return first, ok
	}
	features := maps.Clone(first.Features)
	if features == nil {
		features = sizing.Features{}
	}
	for name, v := range again.Features {
		known := features[name]
		if !fill(&known, v) {
			return first, false
		}
		features[name] = known
	}
	first.Features = features
	return first, true
}

// fill sets an unknown (zero) value to `again`. It returns false if both values are known and differ.
func fill[T comparable](known *T, again T) bool {
	var unknown T
	if *known == unknown {
		*known = again
	}
	return again == unknown || again == *known
}

// fillTime is fill for times, which can have different locations.
func fillTime(known *time.Time, again time.Time) bool {
	if known.IsZero() {
		*known = again
	}
	return again.IsZero() || again.Equal(*known)
}
