package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// limitFollower detects a program whose peak follows its limit, because the program uses a share of any limit: its heap is
// sized from the limit, or its page cache counts as used memory. Each grant above such a peak raises the next peak, although
// the smallest limit so far was enough. limitFollower compares the ratio of the peaks with the ratio of the allocations in
// pairs of successive successes. It ignores retries, reproduced runs, and pairs whose allocations do not differ clearly. If the
// grants follow the peaks instead, they do so one run later, and then the two ratios of a pair do not correlate. A kill deletes
// all pairs.
//
// If the features of a pair differ, they may be the cause of both ratios. So such a pair counts only if both peaks filled
// their limits, and its ratios are divided by the ratio of the peaks that the models predict from the features.
type limitFollower struct {
	limitPairs // with the same features; after a kill, Pairs starts at −minFollowed, so that more pairs are needed

	Features  uint64       // featureKey of the last success
	Allocated sizing.Bytes // of the last success
	Peak      sizing.Bytes // of the last success
	Least     sizing.Bytes // smallest allocation (within provenTolerance) of the successes since the last kill or change of features
	Proven    int          // number of these successes with an allocation of about Least; see provenTolerance

	Across       limitPairs     `cbor:",omitzero"`  // pairs with any features; after a kill, its Pairs also starts at −minFollowed
	FilledCells  []sizing.Value `cbor:",omitempty"` // features of the last success if it filled its limit
	AcrossLeast  sizing.Bytes   `cbor:",omitzero"`  // smallest allocation (within provenTolerance) of the successes since the last kill
	AcrossProven int            `cbor:",omitzero"`  // number of these successes with an allocation of about AcrossLeast
}

// limitPairs compares the peaks and the allocations of pairs of successes.
type limitPairs struct {
	Pairs      int     // number of compared pairs
	AA, AP, PP float64 // Σ a·a, Σ a·p and Σ p·p over the pairs, where a is the log ratio of the allocations and p that of the peaks
}

const (
	minFollowed     = 3    // smallest number of pairs with the same features from which peaks can count as following the limits
	minFilled       = 2    // the same for pairs of filled limits, which are rarer
	minLimitRatio   = 1.2  // smallest ratio of two allocations that differ clearly
	minFollowSlope  = 0.8  // smallest slope of the log peak over the log allocation
	minFollowShare  = 0.95 // smallest squared correlation of these two logarithms
	minFilledShare  = 0.95 // a peak of at least this share of its allocation fills the allocation
	provenTolerance = 1.02 // an allocation and Least count as equal up to this ratio of the larger to the smaller
)

// followLimit adds a try with the features in `cells` to m.Follower. It must run before the models learn the try.
func (m *Model) followLimit(t *TrainingRow, cells []sizing.Value) {
	f := &m.Follower
	if t.Outcome.OOM() { // the smallest limit so far may not be enough
		*f = limitFollower{limitPairs: limitPairs{Pairs: -minFollowed}, Across: limitPairs{Pairs: -minFollowed}}
		return
	}
	if t.Outcome != sizing.Success || !t.FirstTry || t.Reproduced || t.Peak <= 0 || t.Allocated.Memory <= 0 {
		return
	}
	key := featureKey(&m.Schema, cells)
	isFilled := float64(t.Peak) >= minFilledShare*float64(t.Allocated.Memory)
	if f.Allocated > 0 {
		a, p := logRatio(t.Allocated.Memory, f.Allocated), logRatio(t.Peak, f.Peak)
		if f.Features == key {
			f.add(a, p)
		}
		if isFilled && f.FilledCells != nil && math.Abs(a) >= math.Log(minLimitRatio) {
			explained := m.explainedRatio(f.FilledCells, cells, p)
			f.Across.add(a-explained, p-explained)
		}
	}
	if f.Features != key {
		f.Least = 0
	}
	f.Least, f.Proven = leastLimit(f.Least, f.Proven, t.Allocated.Memory)
	f.AcrossLeast, f.AcrossProven = leastLimit(f.AcrossLeast, f.AcrossProven, t.Allocated.Memory)
	f.Features, f.Allocated, f.Peak, f.FilledCells = key, t.Allocated.Memory, t.Peak, nil
	if isFilled {
		f.FilledCells = cells
	}
}

// leastLimit returns the smallest allocation and the number of successes with about this allocation, after one more success
// with the allocation `allocated`. `least` and `proven` are the values before this success; `least` is zero before the first
// success.
func leastLimit(least sizing.Bytes, proven int, allocated sizing.Bytes) (sizing.Bytes, int) {
	if least == 0 || float64(allocated)*provenTolerance < float64(least) {
		least, proven = allocated, 0
	}
	if float64(allocated) <= provenTolerance*float64(least) {
		proven++
	}
	return least, proven
}

// explainedRatio returns the log ratio of the peaks of two rows as far as their features explain it. The models and the
// cold-start rule each predict this log ratio (0 if the cold-start rule does not predict). explainedRatio returns the
// prediction that is nearest to p, the observed log ratio, because any of these models may have set the grants.
func (m *Model) explainedRatio(from, to []sizing.Value, p float64) (explained float64) {
	if m.Models == nil {
		return 0
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.isLift = false
	var first, second experts.Point
	m.predict(padCells(slices.Clip(from), len(m.Schema.Fields)), sizing.DefaultRiskTarget, &first, b)
	firstStart := 0.0
	if first.ColdStart != nil { // it refers to the memory of b
		firstStart = first.ColdStart.MeanLevel()
	}
	m.predict(to, sizing.DefaultRiskTarget, &second, b)
	if second.ColdStart != nil {
		explained = second.ColdStart.MeanLevel() - firstStart
	}
	for k := range second.Level {
		if ratio := second.Level[k] - first.Level[k]; math.Abs(p-ratio) < math.Abs(p-explained) {
			explained = ratio
		}
	}
	return explained
}

// add adds a pair with the log ratios a of the allocations and p of the peaks.
func (f *limitPairs) add(a, p float64) {
	if math.Abs(a) < math.Log(minLimitRatio) {
		return
	}
	f.Pairs++
	f.AA, f.AP, f.PP = f.AA+a*a, f.AP+a*p, f.PP+p*p
}

// logRatio returns log(a/b).
func logRatio(a, b sizing.Bytes) float64 { return math.Log(float64(a) / float64(b)) }

// isFollowing reports whether the peaks follow the limits; false for fewer than minPairs pairs.
func (f *limitPairs) isFollowing(minPairs int) bool {
	return f.Pairs >= minPairs && f.AP >= minFollowSlope*f.AA && f.AP*f.AP >= minFollowShare*f.AA*f.PP
}

// leastFor returns the smallest limit that was enough for runs with the features of key, and P(killed) at this limit by the
// rule of succession; zero if no evidence says that the peaks of such runs follow the limits.
func (f *limitFollower) leastFor(key uint64) (least sizing.Bytes, risk float64) {
	switch {
	case f.Features == key && f.isFollowing(minFollowed):
		return f.Least, 1 / float64(f.Proven+2)
	case f.Across.isFollowing(minFilled):
		return f.AcrossLeast, 1 / float64(f.AcrossProven+2)
	}
	return 0, 0
}
