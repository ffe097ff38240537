package fitting

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	// leastContainer is what a pause container takes; no program takes less.
	minContainer = sizing.MiB
	// leastGranted is the default minimum grant. To believe a kill at or below it costs
	// one pod that much more memory at most.
	minGranted = 64 * sizing.MiB
)

// killedAsGranted reports whether t was OOM-killed at or below what this service granted
// it: then the allocation is known for certain, however far it is from other peaks.
func killedAsGranted(t *TrainingRow) bool {
	return t.Censoring == sizing.AtLeast && t.Peak <= max(t.Granted, minGranted)
}

// releaseGranted releases the kills in quarantine whose receipt was stored after them.
func (m *Model) releaseGranted(h *sizing.History) {
	for i := 0; i < len(m.Quarantine); {
		t := &m.Quarantine[i].TrainingRow
		at := slices.IndexFunc(h.Rows, func(r sizing.HistoryRow) bool { return r.Seq == t.Seq })
		if at >= 0 {
			t.Granted = h.Rows[at].Granted
		}
		if at >= 0 && killedAsGranted(t) && t.Confirmable() {
			m.release(i)
			continue
		}
		i++
	}
}

// tooSmall reports whether a success used less memory than any container, and is a
// mistaken unit below what it had or requested. Nothing confirms such a peak: each row of
// a file in the wrong unit makes the same mistake.
func isTooSmall(peak sizing.Bytes, censoring sizing.Censoring, allocated, requested sizing.Bytes) bool {
	return censoring == sizing.Exact && peak < minContainer && float64(peak)*unitFactor < float64(max(allocated, requested))
}

// Confirmable reports whether another report may confirm t at all.
func (t *TrainingRow) Confirmable() bool {
	return t.Peak <= maxPossible && !isTooSmall(t.Peak, t.Censoring, t.Allocated.Memory, t.Requested.Memory)
}

// doubtAlways judges what no history makes plausible.
func checkAlways(t *TrainingRow) (implausibility, bool) {
	switch {
	case t.Peak > maxPossible:
		return implausibility{float64(maxPossible), "twice the largest server"}, true
	case t.Confirmable():
		return implausibility{}, false
	case t.Allocated.Memory >= t.Requested.Memory:
		return implausibility{math.Max(1, float64(t.Allocated.Memory)), "what was allocated"}, true
	}
	return implausibility{float64(t.Requested.Memory), "what was requested"}, true
}
