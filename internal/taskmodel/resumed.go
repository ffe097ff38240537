package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// resumedRetries detects tasks whose retries need less than the killed tries, for example because a retry resumes from a
// checkpoint. Then the peak of the retry says nothing about a first try, but a first try needs more than the killed allocation.
//
// The evidence is the ratio of the first allocation of a run to its measured peak. If retries need less, the ratios of the
// killed first tries are larger than those of the successful ones. Kills with another cause, such as an OOM of the node, have
// the same ratios as successes. If the peaks are too low by a factor (see understatement), the killed tries have the smaller
// ratios.
type resumedRetries struct {
	Runs []firstTry `cbor:",omitempty"` // newest runs, oldest first, from the oldest killed first try on
	From float64    `cbor:",omitzero"`  // smallest ratio of a killed first try whose retry needed less; 0: no retry needs less
}

// firstTry holds the ratio of the first allocation of a run to its measured peak. The ratio of a killed first try is above 1.
type firstTry struct {
	_      struct{} `cbor:",toarray"`
	Ratio  float64
	Killed bool
}

// learn records a success with a measured peak. killed is the smallest killed allocation of its run with the same features
// (zero: none), and allocated is that of the success if it was a first try (zero: unknown, or a retry). All are in bytes.
func (r *resumedRetries) learn(peak, killed, allocated float64) {
	peak = max(1, peak)
	switch {
	case killed > peak:
		r.Runs = append(r.Runs, firstTry{Ratio: killed / peak, Killed: true})
	case len(r.Runs) == 0 || allocated == 0:
		return
	default:
		r.Runs = append(r.Runs, firstTry{Ratio: allocated / peak})
	}
	oldest := max(0, len(r.Runs)-maxRatios)
	for oldest < len(r.Runs) && !r.Runs[oldest].Killed {
		oldest++
	}
	r.Runs = slices.Delete(r.Runs, 0, oldest)
	r.From = r.smallest()
}

// smallest returns the ratio of a killed first try that best separates the killed tries above it from the successful ones: it
// maximises the number of killed tries from the ratio on, less twice the successful ones from it on. This difference must be at
// least minContradictions. Also, fewer tries from the ratio on must be killed than are successful below it: without enough
// successes below it, peaks that are measured too low would explain the kills, too. If there is no such ratio, smallest returns 0.
func (r *resumedRetries) smallest() float64 {
	var killed, succeeded []float64
	for _, t := range r.Runs {
		if t.Killed {
			killed = append(killed, t.Ratio)
		} else {
			succeeded = append(succeeded, t.Ratio)
		}
	}
	slices.Sort(killed)
	slices.Sort(succeeded)
	smallest, most := 0.0, minContradictions-1
	for i, ratio := range killed {
		below, _ := slices.BinarySearch(succeeded, ratio)
		if n := len(killed) - i; n < below && n-2*(len(succeeded)-below) > most {
			smallest, most = ratio, n-2*(len(succeeded)-below)
		}
	}
	return smallest
}

// needed returns the peak that a first try of a run would have: the assumed peak of its killed try (KilledPeakFactor) if the
// retry needed less; otherwise `peak`, the measured peak of the run. `killed` is the smallest killed allocation of the run;
// zero: none.
func (r *resumedRetries) needed(peak, killed sizing.Bytes) sizing.Bytes {
	if r.From > 0 && float64(killed) >= r.From*float64(peak) {
		return killed.Times(KilledPeakFactor)
	}
	return peak
}

func (r *resumedRetries) warning() string {
	if r.From == 0 {
		return ""
	}
	resumed := 0
	for _, t := range r.Runs {
		resumed += boolToInt(t.Killed && t.Ratio >= r.From)
	}
	return fmt.Sprintf("the retries of %d runs needed less memory than their OOM-killed tries: grants follow the kills", resumed)
}

// raiseResumed records a success with a measured peak, and replaces this peak by resumedRetries.needed.
func (m *Model) raiseResumed(t *TrainingRow) {
	killed, allocated := m.firstKilled(t), t.Allocated.Memory
	if !t.FirstTry {
		allocated = 0
	}
	m.Resumed.learn(float64(t.Peak), float64(killed), float64(allocated))
	t.Peak = m.Resumed.needed(t.Peak, killed)
}

// firstKilled returns the smallest killed allocation of a try's run with the same features; zero if none is known.
func (m *Model) firstKilled(t *TrainingRow) sizing.Bytes {
	least := sizing.Bytes(math.MaxInt64)
	for i := range m.KnownKills {
		if k := &m.KnownKills[i]; k.Run == t.Run && k.Killed < least && k.Key == featureKey(&m.Schema, m.cells(t.Features, nil)) {
			least = k.Killed
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// raiseHistory returns h with the peaks of retries that needed less replaced by those of first tries. It does not modify h.
func (r *resumedRetries) raiseHistory(h *sizing.History) *sizing.History {
	if r.From == 0 {
		return h
	}
	type input struct {
		run
		features uint64
	}
	previous := h.Schema.PreviousSameName()
	firstKilled := map[input]sizing.Bytes{}
	raised := *h
	raised.Rows = slices.Clone(h.Rows)
	for i := range raised.Rows {
		row := &raised.Rows[i]
		peak, censoring := row.Peak()
		if censoring != sizing.AtLeast && (censoring != sizing.Exact || row.Try <= 1) {
			continue
		}
		in := input{runOf(row), featureKey(&h.Schema, cellsOf(&h.Schema, previous, row.Features))}
		killed, known := firstKilled[in]
		switch {
		case censoring == sizing.Exact:
			row.MemoryMax = r.needed(peak, killed)
		case !known || peak < killed:
			firstKilled[in] = peak
		}
	}
	return &raised
}
