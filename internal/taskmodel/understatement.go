package taskmodel

import (
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// understatement estimates by how much the measured peaks of a task are too low, for example because the samples miss short
// peaks or because the measurement lacks a part of the memory. A success whose peak is below an allocation with which an
// earlier try of its run was OOM-killed contradicts this kill. One such pair may have another cause, such as an OOM of the node
// or other data at the retry. So the factor comes from a comparison of ratios: for each recent run, the ratios of its killed
// allocation and of the allocation of its success to its peak. If the peaks are too low by a factor, the tries with a ratio
// below this factor are killed, and the others are not. Kills with another cause have the same ratios as successes.
//
// The models learn the peaks as measured. The factor converts these to allocations; see Model.bound.
type understatement struct {
	Runs   []allocationRatio `cbor:",omitempty"` // newest runs, oldest first, from the oldest contradiction on
	Factor float64           `cbor:",omitzero"`  // by which a grant exceeds the amount for peaks as measured; 0 counts as 1
}

// allocationRatio holds, for a run with a measured peak, the ratios of its allocations to this peak.
type allocationRatio struct {
	_         struct{} `cbor:",toarray"`
	Killed    float64  // largest allocation of a killed try; zero if it is below the peak, or so high that it has another cause
	Succeeded float64  // allocation of the success; zero: unknown
}

const (
	maxUnderstatement  = 2.0   // a killed allocation above this multiple of the peak has another cause
	maxRatios          = 200   // number of runs that count; with the default risk target, about minContradictions of these are killed
	minContradictions  = 3     // smallest number of contradictions, less twice the successes with smaller ratios, that give a factor
	similarRatio       = 1.1   // a contradiction supports ratios up to this multiple of its own
	understatementDrop = 0.995 // smallest ratio of the factor to the previous one; with a slow fall, few runs are killed before new contradictions raise the factor again
)

func (u *understatement) factor() float64 { return max(1, u.Factor) }

// learn records a success with a measured peak. killed is the largest allocation of its run that was killed before (zero:
// none), and allocated that of the success (zero: unknown). All are in bytes.
func (u *understatement) learn(peak, killed, allocated float64) {
	var r allocationRatio
	if ratio := killed / max(1, peak); ratio > 1 && ratio <= maxUnderstatement {
		r.Killed = ratio
	}
	if r.Killed == 0 && len(u.Runs) == 0 && u.Factor == 0 {
		return
	}
	r.Succeeded = allocated / max(1, peak)
	u.Runs = append(u.Runs, r)
	oldest := max(0, len(u.Runs)-maxRatios)
	for oldest < len(u.Runs) && u.Runs[oldest].Killed == 0 {
		oldest++
	}
	u.Runs = slices.Delete(u.Runs, 0, oldest)
	if u.Factor = max(u.bestRatio(), u.factor()*understatementDrop); u.Factor <= 1 {
		u.Factor = 0
	}
}

// bestRatio returns the ratio of a contradiction that best separates kills from successes: it maximises the number of
// contradictions up to the ratio, less twice the successes with a smaller ratio. Ratios without minContradictions similar or
// larger ones do not count. Without enough contradictions it returns 1.
func (u *understatement) bestRatio() float64 {
	var killed, succeeded []float64
	for _, r := range u.Runs {
		if r.Killed > 0 {
			killed = append(killed, r.Killed)
		}
		if r.Succeeded > 0 {
			succeeded = append(succeeded, r.Succeeded)
		}
	}
	slices.Sort(killed)
	slices.Sort(succeeded)
	best, most := 1.0, minContradictions-1
	for i, ratio := range killed {
		supported, _ := slices.BinarySearch(killed, ratio/similarRatio)
		if len(killed)-supported < minContradictions {
			break // even larger ratios have less support
		}
		if smaller, _ := slices.BinarySearch(succeeded, ratio); i+1-2*smaller > most {
			best, most = ratio, i+1-2*smaller
		}
	}
	return best
}

// risk returns P(killed) at the grant: the number of contradictions that the factor does not explain, except the first one,
// divided by the number of runs from the first one on plus unresolvedPrior.
func (u *understatement) risk() float64 {
	unexplained, runs := 0, 0
	for _, r := range u.Runs {
		if r.Killed > u.factor() {
			unexplained++
		}
		runs += boolToInt(unexplained > 0)
	}
	return float64(max(0, unexplained-1)) / (float64(runs) + unresolvedPrior)
}

// describe returns a part of a reason or a warning; "" if the factor is 1.
func (u *understatement) describe() string {
	if u.Factor <= 1 {
		return ""
	}
	return fmt.Sprintf("raised by %.0f %% because runs were OOM-killed with more than their measured peaks", 100*(u.Factor-1))
}

func (u *understatement) warning() string {
	if u.Factor <= 1 {
		return ""
	}
	contradictions := 0
	for _, r := range u.Runs {
		contradictions += boolToInt(r.Killed > 0)
	}
	return fmt.Sprintf("%d of the newest %d runs were OOM-killed with more than their measured peaks, so the measurement is probably too low: grants are raised by %.0f %%",
		contradictions, len(u.Runs), 100*(u.Factor-1))
}

// ContradictionReason describes that an earlier try of the run was OOM-killed with more than the peak of its success; "" if
// none was.
func (m *Model) ContradictionReason(t TrainingRow) string {
	m.Sampling.raise(&t)
	killed := m.killedBefore(t.Run)
	if t.Censoring != sizing.Exact || killed <= float64(t.Peak) {
		return ""
	}
	return fmt.Sprintf("an earlier try of this run was OOM-killed with %s, more than the peak of %s: does the measurement miss a part of the memory?",
		sizing.Bytes(killed).Approx(), t.Peak.Approx())
}

// killedBefore returns the largest killed allocation of a run without a measured peak so far, in bytes; zero if none is
// known. It searches both lists of kills: a success without a peak removes those of its run from the unresolved kills, and a
// peak of another run may remove them from the known kills.
func (m *Model) killedBefore(run uint64) float64 {
	killed := max(m.Unresolved.bound(run), float64(m.AppOOMs.allocation(run)))
	for i := range m.KnownKills {
		if k := &m.KnownKills[i]; k.Run == run {
			killed = max(killed, float64(k.Killed))
		}
	}
	return killed
}
