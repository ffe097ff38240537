package growth

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

const segmentCount = 4

// minSegment is the smallest limit of a segment, 100 MB, as in the programs of the authors of both methods.
const minSegment = 100e6

// history has only runs with at least segmentCount samples.
type history map[sizing.TaskKey][]*Run

func (h history) learn(r *Run, _ grant) {
	if len(r.Memory) >= segmentCount {
		h[r.Task] = append(h[r.Task], r)
	}
}

// kSegments is the method k-Segments of Bader et al. (2023) without inputs. It divides the run time
// of the shortest earlier run into equal segments. The limit of a segment is the largest peak of the
// earlier runs in the same part of the run. Limits never shrink. A kill doubles the limits of the
// segment in which it happens and of all later segments.
type kSegments struct{ history }

func (kSegments) name() string { return "k-segments" }

func (k kSegments) plan(r *Run, g grant) limiter {
	runs := k.history[r.Task]
	if len(runs) == 0 {
		return constant(g.memory)
	}
	s := segments{ends: make([]float64, segmentCount), peaks: make([]float64, segmentCount)}
	shortest := math.Inf(1)
	for _, run := range runs {
		shortest = min(shortest, run.duration())
		n := len(run.Memory)
		for i := range segmentCount {
			to := (i + 1) * (n / segmentCount)
			if i == segmentCount-1 {
				to = n
			}
			s.peaks[i] = max(s.peaks[i], slices.Max(run.Memory[i*(n/segmentCount):to]))
		}
	}
	for i := range segmentCount {
		s.ends[i] = shortest * float64(i+1) / segmentCount
	}
	return s.ascending()
}

// segments is a step function of time: the ends of the segments in seconds, and their limits in bytes. The last limit
// also applies after the last end.
type segments struct{ ends, peaks []float64 }

// ascending raises each limit to at least minSegment and the largest limit before it.
func (s segments) ascending() segments {
	most := minSegment
	for i, p := range s.peaks {
		most = math.Max(most, p)
		s.peaks[i] = most
	}
	return s
}

func (s segments) at(seconds float64) int {
	i := 0
	for i < len(s.ends)-1 && s.ends[i] <= seconds {
		i++
	}
	return i
}

func (s segments) limits(r *Run) []float64 {
	all := make([]float64, len(r.Memory))
	for i, now := range r.Seconds {
		all[i] = s.peaks[s.at(now)]
	}
	return all
}

func (s segments) lift(r *Run, _ []float64, at int) limiter {
	lifted := segments{s.ends, slices.Clone(s.peaks)}
	for i := s.at(r.Seconds[at]); i < len(lifted.peaks); i++ {
		lifted.peaks[i] *= 2
	}
	return lifted
}

// ksPlus is the method KS+ (Bader et al. 2024) without inputs. It divides each run into segments by its
// running maximum (cutRun). The segments of a plan have the mean ends of the earlier runs times 0.85 and
// their mean peaks times 1.1. A kill moves the end of the segment in which it happens to the time of the
// kill, and multiplies the later ends by the same factor. A kill in the last segment instead raises the limit of this
// segment by a fifth.
type ksPlus struct{ history }

func (ksPlus) name() string { return "ks+" }

func (k ksPlus) plan(r *Run, g grant) limiter {
	runs := k.history[r.Task]
	if len(runs) == 0 {
		return constant(g.memory)
	}
	s := segments{ends: make([]float64, segmentCount), peaks: make([]float64, segmentCount)}
	for _, run := range runs {
		cut := cutRun(run)
		for i := range segmentCount {
			s.ends[i] += .85 * cut.ends[i] / float64(len(runs))
			s.peaks[i] += 1.1 * cut.peaks[i] / float64(len(runs))
		}
	}
	return shiftedSegments{s.ascending()}
}

// cutRun returns the segments of a run. It begins with one segment for each value of the running maximum
// of the memory, and merges the neighbouring segments with the least added cost (the difference of their
// peaks times the duration of the earlier segment) until segmentCount segments remain. If there are fewer, the last
// segment is repeated.
func cutRun(r *Run) segments {
	type segment struct{ peak, seconds float64 }
	var all []segment
	for i, m := range r.Memory {
		if n := len(all); n > 0 && all[n-1].peak >= m {
			all[n-1].seconds += r.width(i)
			continue
		}
		all = append(all, segment{m, r.width(i)})
	}
	for len(all) > segmentCount {
		best, least := 0, math.Inf(1)
		for i := range len(all) - 1 {
			if c := (all[i+1].peak - all[i].peak) * all[i].seconds; c < least {
				best, least = i, c
			}
		}
		all[best+1].seconds += all[best].seconds
		all = slices.Delete(all, best, best+1)
	}
	var s segments
	end := 0.0
	for i := range segmentCount {
		if i < len(all) {
			end += all[i].seconds
			s.peaks = append(s.peaks, all[i].peak)
		} else {
			s.peaks = append(s.peaks, all[len(all)-1].peak)
		}
		s.ends = append(s.ends, end)
	}
	return s
}

// shiftedSegments is a step function whose later steps move in time after a kill.
type shiftedSegments struct{ segments }

func (s shiftedSegments) lift(r *Run, _ []float64, at int) limiter {
	now := r.Seconds[at]
	i := s.at(now)
	if i == len(s.ends)-1 {
		peaks := slices.Clone(s.peaks)
		peaks[i] *= 1.2
		return shiftedSegments{segments{s.ends, peaks}}
	}
	ends := slices.Clone(s.ends)
	factor := now / ends[i]
	for j := i; j < len(ends); j++ {
		ends[j] *= factor
	}
	return shiftedSegments{segments{ends, s.peaks}}
}
