package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/loadaware/loadaware/internal/sizing"
)

// starvation describes a program that uses at most a share of its memory limit. If it needs more, it is not killed: it spills
// to disk and gets slower (DuckDB, Spark, Dask). Such a run is starved. A smaller limit leads to a smaller peak; if the models
// learned this peak, the next grant would be smaller, too, and so on. In contrast, the programs that limitFollower detects
// are not slower with less memory.
//
// The evidence is a comparison of runs with similar inputs but clearly different limits: with the smaller limit, the peak is
// smaller, too, and the run time longer (matching, Rubin 1973). The grants then rise, and if the peaks or the run times of the
// next runs do not change, the comparison with these runs refutes the evidence.
type starvation struct {
	Share float64 `cbor:",omitzero"`  // median of peak/allocation of starved runs; 0: no starvation is known
	Rows  []int64 `cbor:",omitempty"` // Seq of the starved runs, ascending; see withoutStarved
}

const (
	starvationWindow = 300  // number of newest runs that are compared
	minStarvedRows   = 16   // smallest number of runs to compare
	maxStarved       = 4000 // largest length of starvation.Rows
	minStarvedPairs  = 5    // smallest number of runs with small limits, and of different runs with larger limits
	minStarvedDrop   = 1.05 // smallest mean ratio of the peak with the larger limit to the peak with the smaller one; see starvedPair
	minSlowdown      = 1.03 // smallest mean ratio of the run time with the smaller limit to that with the larger one
	starvedDrop      = 1.1  // smallest ratio of the two peaks of a pair (see minStarvedDrop) with which its run counts as starved; the mean of this ratio may be smaller, because some of the compared runs are not starved
	starvedDeviation = 4.0  // smallest mean of the log ratios of the pairs, in standard errors of this mean
	starvedFill      = 0.9  // smallest peak/allocation of a starved run, divided by the fillQuantile of peak/allocation over all compared runs
	fillQuantile     = 0.9
	shareTolerance   = 0.05 // how far the log of peak/allocation of a starved run may be below the log of starvation.Share
	maxInputGap      = 0.2  // largest sum of the differences of the predicted log peaks and log run times of two runs with similar inputs
)

func (s *starvation) isKnown() bool { return s.Share > 0 }

// comparedRun is a measured success of a first try. All its fields except seq are logarithms.
type comparedRun struct {
	seq                  int64
	allocated, peak      float64
	seconds              float64
	likePeak, likeLength float64 // predicted log peak and log run time
}

func (r *comparedRun) fill() float64 { return r.peak - r.allocated }

// starvedPair compares `run` with a run that has similar inputs and a larger limit.
type starvedPair struct {
	run, larger    *comparedRun
	drop, slowdown float64 // log ratios of the peaks and of the run times, minus the predicted log ratios
}

// findStarvation compares the runs of h. It returns m.Starvation if the comparison is not conclusive. s raises the sampled
// peaks.
func (m *Model) findStarvation(h *sizing.History, s *sampling) starvation {
	known := m.Starvation
	if m.Models == nil || m.Experts.LearnedRows < minStarvedRows {
		return known
	}
	pairs := starvedPairs(m.comparedRuns(s.raiseHistory(h)))
	if known.isKnown() { // a run that used clearly less than this share of its limit had enough memory, so its pair shows nothing
		pairs = slices.DeleteFunc(pairs, func(p starvedPair) bool { return p.run.fill() < math.Log(known.Share)-shareTolerance })
	}
	larger := map[*comparedRun]bool{}
	var drops, slowdowns, fills []float64
	for i := range pairs {
		larger[pairs[i].larger] = true
		drops, slowdowns = append(drops, pairs[i].drop), append(slowdowns, pairs[i].slowdown)
	}
	n := min(len(pairs), len(larger))
	switch {
	case n < minStarvedPairs:
		return known
	case !exceeds(drops, minStarvedDrop, n) || !exceeds(slowdowns, minSlowdown, n):
		if stat.Mean(drops, nil) < math.Log(minStarvedDrop)/2 || stat.Mean(slowdowns, nil) < math.Log(minSlowdown)/2 {
			return starvation{} // refuted
		}
		return known
	}
	found := known
	found.Rows = slices.Clone(known.Rows)
	for i := range pairs {
		if pairs[i].drop < math.Log(starvedDrop) {
			continue
		}
		fills = append(fills, pairs[i].run.fill())
		if at, isListed := slices.BinarySearch(found.Rows, pairs[i].run.seq); !isListed {
			found.Rows = slices.Insert(found.Rows, at, pairs[i].run.seq)
		}
	}
	if len(fills) == 0 || known.isKnown() && len(found.Rows) < len(known.Rows)+max(minStarvedPairs, len(known.Rows)/4) {
		return known
	}
	found.Rows = found.Rows[max(0, len(found.Rows)-maxStarved):]
	slices.Sort(fills)
	found.Share = min(1, math.Exp(fills[len(fills)/2]))
	return found
}

// exceeds reports whether the mean is at least log(least), and at least starvedDeviation standard errors above zero. n is the
// number of independent values.
func exceeds(logs []float64, least float64, n int) bool {
	average, deviation := stat.MeanStdDev(logs, nil)
	return average >= math.Log(least) && average >= starvedDeviation*deviation/math.Sqrt(float64(n))
}

func (m *Model) comparedRuns(h *sizing.History) []comparedRun {
	var runs []comparedRun
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	quarantined, previous := m.quarantinedSeqs(), h.Schema.PreviousSameName()
	for i := len(h.Rows) - 1; i >= 0 && len(runs) < starvationWindow; i-- {
		r := &h.Rows[i]
		peak, censoring := r.Peak()
		if censoring != sizing.Exact || r.Try != 1 || r.Duration <= 0 || r.Allocated.Memory <= 0 || quarantined[r.Seq] || sizing.IsReproduction(r.RunID) {
			continue
		}
		next := comparedRun{
			seq: r.Seq, allocated: math.Log(float64(r.Allocated.Memory)), peak: math.Log(float64(peak)), seconds: math.Log(r.Duration.Seconds()),
		}
		if m.Models.ridges != nil { // the lines alone are fast enough for each training
			b.line, b.tree = m.Models.Enc.encode(padCells(cellsOf(&h.Schema, previous, r.Features), len(m.Models.Enc.Columns)), b.line[:0], b.tree[:0])
			next.likePeak, next.likeLength = m.Models.levelOf(m.Models.lineRidge().Predict(b.line)), m.Models.lineRunTime(b.line)
		}
		runs = append(runs, next)
	}
	return runs
}

// starvedPairs compares each run that uses a large share of its limit (see starvedFill) with another run: of those with similar
// inputs and a clearly larger limit, the one whose inputs and position are nearest.
func starvedPairs(runs []comparedRun) []starvedPair {
	if len(runs) < minStarvedRows {
		return nil
	}
	fills := make([]float64, len(runs))
	for i := range runs {
		fills[i] = runs[i].fill()
	}
	slices.Sort(fills)
	least := fills[int(fillQuantile*float64(len(fills)-1))] + math.Log(starvedFill)
	var pairs []starvedPair
	for i := range runs {
		r := &runs[i]
		if r.fill() < least {
			continue
		}
		var nearest *comparedRun
		shortest := math.Inf(1)
		for j := range runs {
			other := &runs[j]
			if other.allocated-r.allocated < math.Log(minLimitRatio) {
				continue
			}
			gap := math.Abs(other.likePeak-r.likePeak) + math.Abs(other.likeLength-r.likeLength)
			if distance := gap + maxInputGap*math.Abs(float64(i-j))/starvationWindow; gap <= maxInputGap && distance < shortest {
				nearest, shortest = other, distance
			}
		}
		if nearest != nil {
			pairs = append(pairs, starvedPair{
				run: r, larger: nearest,
				drop:     nearest.peak - r.peak - (nearest.likePeak - r.likePeak),
				slowdown: r.seconds - nearest.seconds - (r.likeLength - nearest.likeLength),
			})
		}
	}
	return pairs
}

// withoutStarved returns h with the starved runs as failed tries. So their peaks are not learned, and their durations count
// only as lower bounds of run times (learnCensored). It does not modify h.
func (s *starvation) withoutStarved(h *sizing.History) *sizing.History {
	if len(s.Rows) == 0 {
		return h
	}
	changed := *h
	changed.Rows = slices.Clone(h.Rows)
	for i := range changed.Rows {
		if _, found := slices.BinarySearch(s.Rows, changed.Rows[i].Seq); found {
			changed.Rows[i].Outcome = sizing.Failed
		}
	}
	return &changed
}

// raiseAmount returns the limit with which a run that needs `amount` bytes is not starved, but at most the larger of the amount
// and the static request. If q has no request, the larger of the last reported request and the largest allocation replaces it.
// Without known starvation it returns 0.
func (s *starvation) raiseAmount(amount float64, q Question, m *Model) float64 {
	if !s.isKnown() {
		return 0
	}
	enough := q.Requested.Memory
	if enough == 0 {
		enough = max(m.Requested.Memory, m.Started)
	}
	return min(amount/s.Share, max(amount, float64(enough)))
}

func (s *starvation) describe() string {
	return fmt.Sprintf("raised because runs with smaller limits were slower: they use about %.0f %% of any limit", 100*s.Share)
}

func (s *starvation) warning() string {
	if !s.isKnown() {
		return ""
	}
	return fmt.Sprintf("%d runs with small limits were slower than runs with larger limits, and used %.0f %% of their limits, so the program probably spills to disk: "+
		"grants are raised, the peaks of these runs are not learned, and the savings that are shown for these runs are too high", len(s.Rows), 100*s.Share)
}
