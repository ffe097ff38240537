package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// limitFollower detects a program whose peak follows its limit, because the program uses a share of any limit: its heap is
// sized from the limit, or its page cache counts as used memory. Each grant above such a peak raises the next peak, although
// the smallest limit so far was enough. limitFollower compares successive successes. It ignores the successes of retries and of
// reproduced runs, but not their kills.
//
// If the features of the two successes are equal, it compares the ratio of their peaks with the ratio of their allocations. It
// ignores pairs whose allocations do not differ clearly. If the grants follow the peaks instead, they do so one run later, and
// then the two ratios of a pair do not correlate. A kill deletes these pairs.
//
// If the features differ, they may be the cause of both ratios, so such pairs do not count here. limitRises compares successes
// with any features.
type limitFollower struct {
	limitPairs      // with the same features; after a kill, Pairs starts at −minFollowed, so that more pairs are needed
	sufficientLimit // of the successes since the last kill or change of features

	Features  uint64       // featureKey of the last success
	Allocated sizing.Bytes // of the last success
	Peak      sizing.Bytes // of the last success

	Rises limitRises `cbor:",omitzero"` // with any features
}

type limitPairs struct {
	Pairs      int     // number of compared pairs
	AA, AP, PP float64 // Σ a·a, Σ a·p and Σ p·p over the pairs, where a is the log ratio of the allocations and p that of the peaks
}

// limitRises compares two explanations of the peaks of runs with larger allocations than Least: a constant share of the
// allocation, or the features and the earlier peaks. If the peaks follow the limits, this share hardly changes from run to run,
// while all models lag behind the rising peaks. If the peaks do not follow the limits, the share changes more than the best
// model errs: an allocation is a prediction times a margin, so errors of the prediction and changes of the margin both change
// the share. Allocations up to Least say nothing about a rise, so they do not count.
type limitRises struct {
	sufficientLimit // of the successes since the last kill whose allocation or peak was at least Least; at least the static request

	Pairs   int                             // number of compared runs; a kill at or above Least sets it to −minFollowed, and the sums exclude the runs until it is above zero
	Changes float64                         // Σ c·c/2, where c is the change of log(peak/allocation) since the previous success; the variance of the logarithm is half that of its change
	Errors  [experts.ModelCount + 2]float64 // sums of the squared errors of the log peak: of each model, of the cold-start rule, and of the peak before as prediction
}

// sufficientLimit is the smallest allocation (within provenTolerance) that was enough.
type sufficientLimit struct {
	Least  sizing.Bytes // zero: none is known
	Proven int          // number of successes that show that Least is enough: their allocation or their peak was at most about Least
}

const (
	minFollowed         = 3    // smallest number of pairs with the same features from which peaks can count as following the limits
	minRises            = 2    // smallest number of runs for limitRises, whose evidence is stronger
	minLimitRatio       = 1.2  // smallest ratio of two allocations that differ clearly
	minFollowSlope      = 0.8  // smallest slope of the log peak over the log allocation
	minFollowShare      = 0.95 // smallest squared correlation of the log peak and the log allocation
	maxShareChange      = 0.1  // largest ratio of limitRises.Changes to the errors of the best model
	maxFirstShareChange = 0.01 // maxShareChange with only minRises runs
	minRiseError        = 1.05 // smallest typical error of the best model, as a factor; if peaks grow slowly and steadily, they are a nearly constant share of the allocations, too, but the models err less
	provenTolerance     = 1.02 // an allocation and Least count as equal up to this ratio of the larger to the smaller
	priorRuns           = 10.0 // weight, in runs, of the prior distribution of the risk of a sufficient limit
)

// followLimit compares a try with the tries before it. It must run before the models learn the try, whose features are in
// `cells`.
func (m *Model) followLimit(t *TrainingRow, cells []sizing.Value) {
	f := &m.Follower
	if t.Outcome.OOM() { // the smallest limit so far may not be enough
		rises := f.Rises
		if max(t.Peak, t.Allocated.Memory) >= rises.Least {
			rises = limitRises{Pairs: -minFollowed}
		}
		*f = limitFollower{limitPairs: limitPairs{Pairs: -minFollowed}, Rises: rises}
		return
	}
	allocated := t.Allocated.Memory
	if t.Outcome != sizing.Success || !t.FirstTry || t.Reproduced || t.Peak <= 0 || allocated <= 0 {
		return
	}
	key := featureKey(&m.Schema, cells)
	if f.Allocated > 0 {
		a, p := logRatio(allocated, f.Allocated), logRatio(t.Peak, f.Peak)
		if f.Features == key {
			f.add(a, p)
		}
		if f.Rises.Least > 0 && float64(allocated) > provenTolerance*float64(f.Rises.Least) {
			m.addRise(t, cells, p-a)
		}
	}
	if f.Features != key {
		f.sufficientLimit = sufficientLimit{}
	}
	f.learn(allocated, t.Peak, 0)
	f.Rises.learn(allocated, t.Peak, t.Requested.Memory)
	f.Features, f.Allocated, f.Peak = key, allocated, t.Peak
}

// learn records a success. It ignores allocations below `request` as candidates for Least.
func (s *sufficientLimit) learn(allocated, peak, request sizing.Bytes) {
	raised := provenTolerance * float64(allocated)
	switch {
	case raised >= float64(request) && (s.Least == 0 || raised < float64(s.Least)):
		s.Least, s.Proven = allocated, 1
	case float64(allocated) <= provenTolerance*float64(s.Least) || peak <= s.Least:
		s.Proven++
	}
}

// risk returns P(killed) at Least: the posterior mean after Proven successes. The prior mean is the risk target, for which the
// models granted Least, unless Least is the static request.
func (s *sufficientLimit) risk(target float64) float64 {
	return target * priorRuns / (priorRuns + float64(s.Proven))
}

// addRise adds a success with an allocation above Least to m.Follower.Rises. change is the change of log(peak/allocation)
// since the success before.
func (m *Model) addRise(t *TrainingRow, cells []sizing.Value, change float64) {
	r := &m.Follower.Rises
	if r.Pairs++; r.Pairs <= 0 || m.Models == nil {
		return
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.isLift = false
	var p experts.Point
	m.predict(cells, sizing.DefaultRiskTarget, &p, b)
	r.Changes += change * change / 2
	for k, level := range append(p.Level[:], m.Experts.ColdStartLevel(&p), math.Log(float64(m.Follower.Peak))) {
		residual := math.Log(float64(t.Peak)) - level
		r.Errors[k] += residual * residual
	}
}

func (r *limitRises) isFollowing() bool {
	least, smallest := slices.Min(r.Errors[:]), math.Log(minRiseError)
	most := maxShareChange
	if r.Pairs == minRises {
		most = maxFirstShareChange
	}
	return r.Pairs >= minRises && least >= smallest*smallest*float64(r.Pairs) && r.Changes <= most*least
}

func (f *limitPairs) add(a, p float64) {
	if math.Abs(a) < math.Log(minLimitRatio) {
		return
	}
	f.Pairs++
	f.AA, f.AP, f.PP = f.AA+a*a, f.AP+a*p, f.PP+p*p
}

func logRatio(a, b sizing.Bytes) float64 { return math.Log(float64(a) / float64(b)) }

func (f *limitPairs) isFollowing() bool {
	return f.Pairs >= minFollowed && f.AP >= minFollowSlope*f.AA && f.AP*f.AP >= minFollowShare*f.AA*f.PP
}

// sufficientFor returns the limit that suffices for a run with the given featureKey; nil if no evidence says that the peaks
// follow the limits. The evidence of Rises is valid for runs with any features.
func (f *limitFollower) sufficientFor(key uint64) *sufficientLimit {
	switch {
	case f.Features == key && f.limitPairs.isFollowing():
		return &f.sufficientLimit
	case f.Rises.isFollowing():
		return &f.Rises.sufficientLimit
	}
	return nil
}
