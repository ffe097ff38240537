package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// limitFollower detects a program that uses a share of whatever it gets: a heap sized from the limit,
// or a page cache that counts as used. Each grant above such a peak raises the next peak, although
// the smallest limit so far was enough. It compares successive successes of first tries with the same
// features whose allocations differ clearly. If instead grants follow the peaks, they do so one run later.
// A kill forgets everything.
type limitFollower struct {
	Pairs      int     // compared pairs; negative after a kill, which needs more evidence
	AA, AP, PP float64 // sums of the squares and the product of the log ratios of allocations (A) and of peaks (P)

	Features  uint64       // of the last success
	Allocated sizing.Bytes // of the last success
	Peak      sizing.Bytes // of the last success
	Least     sizing.Bytes // smallest allocation of the successes with these features
	Proven    int          // successes with it
}

const (
	minFollowed     = 3    // pairs from which a program is known to follow its limit
	minLimitRatio   = 1.2  // ratio of two allocations that differ clearly
	minFollowSlope  = 0.8  // slope of the log peak over the log allocation
	minFollowShare  = 0.95 // squared correlation of both
	provenTolerance = 1.02 // ratio up to which an allocation counts as Least
)

// learn adds a try that ended.
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

// compare compares a success with the last one.
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

func logRatio(a, b sizing.Bytes) float64 { return math.Log(float64(a) / float64(b)) }

// isFollowing reports whether the peaks follow the limits.
func (f *limitFollower) isFollowing() bool {
	return f.Pairs >= minFollowed && f.AP >= minFollowSlope*f.AA && f.AP*f.AP >= minFollowShare*f.AA*f.PP
}

// risk returns P(killed) at Least by the rule of succession.
func (f *limitFollower) risk() float64 { return 1 / float64(f.Proven+2) }
