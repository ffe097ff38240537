package fitting

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	// minContainer is the memory of a pause container; no program uses less.
	minContainer = sizing.MiB
	// minGranted is the default minimum grant. Believing a false kill at or below it costs at
	// most one pod that much extra memory.
	minGranted = 64 * sizing.MiB
)

// killedAsGranted reports whether t was OOM-killed at or below the amount that this service
// granted: then the allocation is certain, however far it is from other peaks.
func killedAsGranted(t *TrainingRow) bool {
	return t.Censoring == sizing.AtLeast && t.Peak <= max(t.Granted, minGranted)
}

// releaseGranted releases the quarantined kills whose receipt was stored after them.
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

// isTooSmall reports whether a success used less memory than any container and, compared with its
// allocation or request, looks like a mistaken unit. No report can confirm such a peak, because
// every row of a file in the wrong unit repeats the mistake.
func isTooSmall(peak sizing.Bytes, censoring sizing.Censoring, allocated, requested sizing.Bytes) bool {
	return censoring == sizing.Exact && peak < minContainer && float64(peak)*unitFactor < float64(max(allocated, requested))
}

// Confirmable reports whether another report can confirm t.
func (t *TrainingRow) Confirmable() bool {
	return t.Peak <= maxPossible && !isTooSmall(t.Peak, t.Censoring, t.Allocated.Memory, t.Requested.Memory)
}

// checkAlways finds reports that are implausible whatever the history.
func checkAlways(t *TrainingRow) (implausibility, bool) {
	switch {
	case t.Peak > maxPossible:
		return implausibility{float64(maxPossible), "twice the largest server"}, true
	case t.Confirmable():
		return implausibility{}, false
	case t.Allocated.Memory >= t.Requested.Memory:
		return implausibility{math.Max(1, float64(t.Allocated.Memory)), "the allocation"}, true
	}
	return implausibility{float64(t.Requested.Memory), "the request"}, true
}
