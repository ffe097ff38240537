package backtest

import (
	"maps"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// tries collects rows, one for each try. A row that repeats a try is taken as the service
// takes a second report: it fills in what is not known, or adds nothing; one that
// contradicts the first is left out.
type tries struct {
	rows         []sizing.Observation
	place        map[sizing.TryKey]int // of a try in rows
	repeated     int
	contradicted int // of repeated
}

func (t *tries) add(o sizing.Observation) {
	if t.place == nil {
		t.place = map[sizing.TryKey]int{}
	}
	at, known := t.place[o.Try]
	if !known {
		t.place[o.Try] = len(t.rows)
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

// amend fills in what first leaves open, and reports false where the two contradict each
// other.
func amend(first sizing.Observation, again *sizing.Observation) (sizing.Observation, bool) {
	ok := fill(&first.Outcome, again.Outcome) &&
		fill(&first.MemoryMax, again.MemoryMax) && fill(&first.MemorySampled, again.MemorySampled) &&
		fill(&first.CPUMax, again.CPUMax) && fill(&first.Duration, again.Duration) &&
		fillTime(&first.StartedAt, again.StartedAt) && fillTime(&first.EndedAt, again.EndedAt) &&
		fill(&first.Allocated.Memory, again.Allocated.Memory) && fill(&first.Allocated.CPU, again.Allocated.CPU) &&
		fill(&first.Requested.Memory, again.Requested.Memory) && fill(&first.Requested.CPU, again.Requested.CPU) &&
		fill(&first.PredictionID, again.PredictionID)
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

// fill takes over a value that was not known (zero), and reports false for another value
// than the known one.
func fill[T comparable](known *T, again T) bool {
	var unknown T
	if *known == unknown {
		*known = again
	}
	return again == unknown || again == *known
}

func fillTime(known *time.Time, again time.Time) bool {
	if known.IsZero() {
		*known = again
	}
	return again.IsZero() || again.Equal(*known)
}
