package taskmodel

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// appOOMs holds what the errors of programs that ran out of memory and exited (sizing.AppOOM) show about the peaks. Unlike a
// kill by the kernel, such an error does not prove that the allocation was too little: the program may have a limit of its
// own, such as the -Xmx of a JVM. If its limit follows the allocation, such as the MaxRAMPercentage of a JVM, more memory
// helps.
type appOOMs struct {
	Runs   []appOOMRun  `cbor:",omitempty"` // the newest runs with such an error and no success, oldest first
	Helped sizing.Bytes `cbor:",omitzero"`  // largest allocation of a success whose run had such an error with less
}

type appOOMRun struct {
	_         struct{} `cbor:",toarray"`
	Run       uint64   // sizing.RunHash
	Allocated sizing.Bytes
}

const maxAppOOMRuns = 64 // largest number of stored runs

// noteAppOOM stores the run of a try that ended with sizing.AppOOM, and replaces the peak of t by what the error proves. It
// ignores a try with another outcome.
func (m *Model) noteAppOOM(t *TrainingRow) {
	if t.Outcome != sizing.AppOOM {
		return
	}
	m.AppOOMs.add(t.Run, t.Allocated.Memory)
	t.Peak, t.Censoring = m.boundAppOOM(t.Outcome, t.Peak, t.Censoring, t.Allocated.Memory)
}

// boundAppOOM returns the given peak and censoring of a try or, after sizing.AppOOM, only what the error proves.
//
// A measured peak clearly below the allocation (sizing.OwnLimit) proves nothing, unless a success had a clearly larger peak:
// then the program has no fixed limit at the peak of the error, and the allocation was too little. An allocation that was too
// little counts only up to the largest of the request, the largest peak and the allocations that helped after such an error.
// So errors that occur with any amount of memory do not raise grants without bound.
func (m *Model) boundAppOOM(outcome sizing.Outcome, peak sizing.Bytes, censoring sizing.Censoring, allocated sizing.Bytes) (sizing.Bytes, sizing.Censoring) {
	if outcome != sizing.AppOOM {
		return peak, censoring
	}
	if censoring == sizing.OwnLimit {
		if float64(m.Largest) <= sizing.SamePeak*float64(peak) {
			return peak, censoring
		}
		peak, censoring = allocated, sizing.AtLeast
	}
	enough := max(m.Requested.Memory, m.Largest.Times(m.Understatement.factor()), m.AppOOMs.Helped)
	if peak == allocated && enough > 0 { // otherwise the peak was measured
		peak = min(peak, enough)
	}
	return peak, censoring
}

// peakOf returns HistoryRow.Peak, changed by boundAppOOM.
func (m *Model) peakOf(r *sizing.HistoryRow) (sizing.Bytes, sizing.Censoring) {
	peak, censoring := r.Peak()
	return m.boundAppOOM(r.Outcome, peak, censoring, r.Allocated.Memory)
}

func (a *appOOMs) add(run uint64, allocated sizing.Bytes) {
	if i := a.find(run); i >= 0 {
		a.Runs[i].Allocated = max(a.Runs[i].Allocated, allocated)
		return
	}
	if len(a.Runs) >= maxAppOOMRuns {
		a.Runs = slices.Delete(a.Runs, 0, 1)
	}
	a.Runs = append(a.Runs, appOOMRun{Run: run, Allocated: allocated})
}

// resolve removes the run of a success. If the success had a larger allocation than the run's errors, more memory helped.
func (a *appOOMs) resolve(t *TrainingRow) {
	if failed := a.allocation(t.Run); failed > 0 && t.Allocated.Memory > failed {
		a.Helped = max(a.Helped, t.Allocated.Memory)
	}
	a.remove(t.Run)
}

func (a *appOOMs) remove(run uint64) {
	a.Runs = slices.DeleteFunc(a.Runs, func(r appOOMRun) bool { return r.Run == run })
}

func (a *appOOMs) find(run uint64) int {
	return slices.IndexFunc(a.Runs, func(r appOOMRun) bool { return r.Run == run })
}

// allocation returns the largest allocation with which a run ended with sizing.AppOOM; zero if a.Runs does not contain the run.
func (a *appOOMs) allocation(run uint64) sizing.Bytes {
	if i := a.find(run); i >= 0 {
		return a.Runs[i].Allocated
	}
	return 0
}

// HasFailedWith reports whether the run ended with sizing.AppOOM, and another run did so with at least `limit`. Runs that have
// succeeded since do not count.
func (m *Model) HasFailedWith(run uint64, limit sizing.Bytes) bool {
	return m.AppOOMs.find(run) >= 0 &&
		slices.ContainsFunc(m.AppOOMs.Runs, func(r appOOMRun) bool { return r.Run != run && r.Allocated >= limit })
}

func (a *appOOMs) rename(rename func(run *uint64)) {
	for i := range a.Runs {
		rename(&a.Runs[i].Run)
	}
}
