package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// limitFollower detects a program whose peak follows its limit, because the program uses a share of any limit: its heap is
// sized from the limit, or its page cache counts as used memory. Each grant above such a peak raises the next peak, although
// the smallest limit so far was enough. limitFollower compares the ratio of the peaks with the ratio of the allocations in
// pairs of successive successes with the same features. It ignores retries, reproduced runs, and pairs whose allocations do
// not differ clearly. If the grants follow the peaks instead, they do so one run later, so that the two ratios of a pair do
// not correlate. A kill deletes all pairs.
type limitFollower struct {
	Pairs      int     // number of compared pairs; after a kill it starts at −minFollowed, so that twice as many pairs are needed
	AA, AP, PP float64 // sums of the squares and the product of the log ratios of allocations (A) and of peaks (P)

	Features  uint64       // featureKey of the last success
	Allocated sizing.Bytes // of the last success
	Peak      sizing.Bytes // of the last success
	Least     sizing.Bytes // smallest allocation (within provenTolerance) of the successes since the last kill or change of features
	Proven    int          // number of these successes with an allocation of about Least; see provenTolerance
}

const (
	minFollowed     = 3    // smallest number of pairs with which isFollowing may return true
	minLimitRatio   = 1.2  // smallest ratio of two allocations that differ clearly
	minFollowSlope  = 0.8  // smallest slope of the log peak over the log allocation
	minFollowShare  = 0.95 // smallest squared correlation of these two logarithms
	provenTolerance = 1.02 // an allocation and Least count as equal up to this ratio of the larger to the smaller
)

// learn adds a try that ended. features is the featureKey of its features; for an OOM kill it is not used.
func (f *limitFollower) learn(t *TrainingRow, features uint64) {
	switch {
	case t.Outcome.OOM():
		*f = limitFollower{Pairs: -minFollowed}
	case t.Outcome != sizing.Success || !t.FirstTry || t.Reproduced || t.Peak <= 0 || t.Allocated.Memory <= 0:
	default:
		f.compare(t, features)
		if f.Features != features || float64(t.Allocated.Memory)*provenTolerance < float64(f.Least) {
			f.Least, f.Proven = t.Allocated.Memory, 0
		}
		f.Features, f.Allocated, f.Peak = features, t.Allocated.Memory, t.Peak
		if float64(f.Allocated) <= provenTolerance*float64(f.Least) {
			f.Proven++
		}
	}
}

// compare adds the pair of a success and the last success if both have the same features and their allocations
// differ clearly.
func (f *limitFollower) compare(t *TrainingRow, features uint64) {
	if f.Allocated == 0 || f.Features != features {
		return
	}
	a, p := logRatio(t.Allocated.Memory, f.Allocated), logRatio(t.Peak, f.Peak)
	if math.Abs(a) < math.Log(minLimitRatio) {
		return
	}
	f.Pairs++
	f.AA, f.AP, f.PP = f.AA+a*a, f.AP+a*p, f.PP+p*p
}

// logRatio returns log(a/b).
func logRatio(a, b sizing.Bytes) float64 { return math.Log(float64(a) / float64(b)) }

// isFollowing reports whether the peaks follow the limits.
func (f *limitFollower) isFollowing() bool {
	return f.Pairs >= minFollowed && f.AP >= minFollowSlope*f.AA && f.AP*f.AP >= minFollowShare*f.AA*f.PP
}

// risk returns P(killed) at Least by the rule of succession.
func (f *limitFollower) risk() float64 { return 1 / float64(f.Proven+2) }
