package taskmodel

import (
	"fmt"
	"math"
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
	Killed    float64  // largest allocation of a killed try; zero: none was killed
	Succeeded float64  // allocation of the success; zero: unknown
}

func (r *allocationRatio) contradicts() bool { return r.Killed > 1 }

const (
	maxRatios          = 200   // number of runs that count; with the default risk target, about minContradictions of these are killed
	minContradictions  = 3     // smallest number of contradictions, less twice the successes with smaller ratios, that give a factor
	similarRatio       = 1.1   // a contradiction supports ratios up to this multiple of its own
	understatementDrop = 0.995 // largest ratio of the factor to the previous one while it exceeds the best ratio; with a slow fall, few runs are killed before new contradictions raise the factor again
	excessRuns         = 32.0  // number of runs in which the logarithm of the ratio of the factor to the best ratio falls to 1/e
)

func (u *understatement) factor() float64 { return max(1, u.Factor) }

// learn records a success with a measured peak. killed is the largest allocation of its run that was killed before (zero:
// none), and allocated that of the success (zero: unknown). All are in bytes.
func (u *understatement) learn(peak, killed, allocated float64) {
	peak = max(1, peak)
	r := allocationRatio{Killed: killed / peak, Succeeded: allocated / peak}
	if !r.contradicts() && len(u.Runs) == 0 && u.Factor == 0 {
		return
	}
	u.Runs = append(u.Runs, r)
	oldest := max(0, len(u.Runs)-maxRatios)
	for oldest < len(u.Runs) && !u.Runs[oldest].contradicts() {
		oldest++
	}
	u.Runs = slices.Delete(u.Runs, 0, oldest)
	best, factor := u.bestRatio(), u.factor()
	if !u.isConfirmed(best) && !r.contradicts() {
		best = 1
	}
	if best > factor {
		u.Factor = u.enough(best)
	} else {
		u.Factor = max(best, understatementDrop*factor*math.Pow(best/factor, 1/excessRuns))
	}
	if u.Factor <= 1 {
		u.Factor = 0
	}
}

// forgetBefore handles a change of the peaks, after which there were `newest` runs. It forgets all earlier runs if a success
// among the newest ones refutes the factor: the measurement was probably corrected, so the measured peaks rose without kills.
func (u *understatement) forgetBefore(newest int) {
	since := u.Runs[max(0, len(u.Runs)-newest):]
	if !slices.ContainsFunc(since, func(r allocationRatio) bool { return r.Succeeded > 0 && similarRatio*r.Succeeded < u.factor() }) {
		return
	}
	u.Runs = slices.Clone(since)
	if u.Factor = u.bestRatio(); u.Factor == 1 {
		u.Factor, u.Runs = 0, nil
	}
}

// bestRatio returns the ratio of a contradiction that best separates kills from successes: it maximises the number of
// contradictions up to the ratio, less twice the successes with a smaller ratio. Ratios without minContradictions similar or
// larger ones do not count. Without enough contradictions it returns 1.
func (u *understatement) bestRatio() float64 {
	var killed, succeeded []float64
	for i := range u.Runs {
		r := &u.Runs[i]
		if r.contradicts() {
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

// isConfirmed reports whether a run without a kill lies between those that support the ratio. Successive runs may all be
// killed by the same other cause, such as a node without memory.
func (u *understatement) isConfirmed(ratio float64) bool {
	supported, interrupted := false, false
	for i := range u.Runs {
		switch r := &u.Runs[i]; {
		case similarRatio*r.Killed >= ratio && interrupted:
			return true
		case similarRatio*r.Killed >= ratio:
			supported = true
		case supported && r.Killed == 0:
			interrupted = true
		}
	}
	return false
}

// enough returns the smallest ratio of a success that is at least the given one; the given one if there is none.
func (u *understatement) enough(ratio float64) float64 {
	least := math.Inf(1)
	for i := range u.Runs {
		if succeeded := u.Runs[i].Succeeded; succeeded >= ratio {
			least = min(least, succeeded)
		}
	}
	if math.IsInf(least, 1) {
		return ratio
	}
	return least
}

// risk returns P(killed) at the grant: the number of contradictions that neither the factor nor resumed retries explain, except
// the first one, divided by the number of runs after the first one plus unresolvedPrior. Both numbers are discounted with every
// run. resumedFrom is resumedRetries.From.
func (u *understatement) risk(resumedFrom float64) float64 {
	killed, runs, isFirst := 0.0, 0.0, true
	for i := range u.Runs {
		r := &u.Runs[i]
		isUnexplained := r.Killed > u.factor() && (resumedFrom == 0 || r.Killed < resumedFrom)
		if isFirst {
			isFirst = !isUnexplained
			continue
		}
		killed, runs = killed*unresolvedMemory, runs*unresolvedMemory+1
		if isUnexplained {
			killed++
		}
	}
	return killed / (runs + unresolvedPrior)
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
		contradictions += boolToInt(r.contradicts())
	}
	return fmt.Sprintf("%d of the newest %d runs were OOM-killed with more than their measured peaks, so the measurement is probably too low: grants are raised by %.0f %%",
		contradictions, len(u.Runs), 100*(u.Factor-1))
}

// ContradictionReason describes that an earlier try of the run was OOM-killed with more than the peak of its success; "" if
// none was, or if the peak was not measured.
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
// known. It also counts allocations with which the run ended with sizing.AppOOM. It searches the known kills as well as the
// unresolved ones: a success without a peak removes the kills of its run from the unresolved kills, and a peak of another run
// may remove them from the known kills.
func (m *Model) killedBefore(run uint64) float64 {
	killed := max(m.Unresolved.bound(run), float64(m.AppOOMs.allocation(run)))
	for i := range m.KnownKills {
		if k := &m.KnownKills[i]; k.Run == run {
			killed = max(killed, float64(k.Killed))
		}
	}
	return killed
}
