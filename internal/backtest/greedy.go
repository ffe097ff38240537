package backtest

import (
	"math/rand/v2"
	"slices"
)

const (
	greedyColdRows     = 10  // with fewer rows, every try gets greedyColdBytes
	greedyColdBytes    = 1e9 // allocation before the first buckets
	greedyRebuildShare = 100 // the buckets are rebuilt when 1/greedyRebuildShare of the rows are new
)

// greedy implements greedy bucketing (Phung et al. 2021, "Not all tasks are created
// equal"). It splits the sorted peaks where two buckets have the least expected
// waste, and splits each part again as long as that reduces the waste. A try draws a
// bucket with a probability proportional to the weight of the bucket, and gets the
// largest peak of this bucket. The weight of a peak is its position in the order of arrival.
type greedy struct {
	rng     *rand.Rand
	points  []weightedPeak // ordered by peak
	buckets []bucket
	built   int // number of points at the last build
}

type weightedPeak struct{ peak, weight float64 }

// bucket is a group of similar peaks.
type bucket struct {
	top   float64 // the largest peak of the bucket
	below float64 // the cumulative weight up to and including the bucket
}

func (r *greedy) learn(o *Outcome) {
	p := weightedPeak{float64(o.Peak), float64(len(r.points) + 1)}
	at, _ := slices.BinarySearchFunc(r.points, p.peak, func(a weightedPeak, peak float64) int {
		if a.peak < peak {
			return -1
		}
		return 1 // the order of equal peaks does not matter: a split between them never helps
	})
	r.points = slices.Insert(r.points, at, p)
}

func (r *greedy) allocate(*Question) float64 {
	n := len(r.points)
	if n < greedyColdRows {
		return greedyColdBytes
	}
	if r.buckets == nil || n-r.built >= max(1, n/greedyRebuildShare) {
		r.build()
	}
	drawn := r.rng.Float64() * r.buckets[len(r.buckets)-1].below
	for _, b := range r.buckets {
		if drawn < b.below {
			return b.top
		}
	}
	return r.buckets[len(r.buckets)-1].top
}

func (r *greedy) build() {
	s := newSums(r.points)
	r.buckets, r.built = r.buckets[:0], len(r.points)
	s.split(0, len(r.points), func(end int) {
		r.buckets = append(r.buckets, bucket{r.points[end-1].peak, s.weight[end]})
	})
}

// sums has prefix sums over the sorted points: entry i covers the first i points.
type sums struct {
	points         []weightedPeak
	weight, moment []float64
}

func newSums(points []weightedPeak) *sums {
	s := &sums{points, make([]float64, len(points)+1), make([]float64, len(points)+1)}
	for i, p := range points {
		s.weight[i+1] = s.weight[i] + p.weight
		s.moment[i+1] = s.moment[i] + p.weight*p.peak
	}
	return s
}

// split calls emit with the ends of the buckets within points[from:to] in ascending order.
func (s *sums) split(from, to int, emit func(end int)) {
	best, least := to, s.waste(from, to, to)
	for end := to - 1; end > from; end-- {
		if w := s.waste(from, end, to); w < least {
			best, least = end, w
		}
	}
	if best < to {
		s.split(from, best, emit)
		s.split(best, to, emit)
		return
	}
	emit(to)
}

// waste returns the expected waste in bytes of a try from points[from:to], if these points are split at
// end. The try draws one of the two buckets by weight and gets its top. If the peak of the try is above
// this top, the try runs again with the largest peak of points[from:to].
func (s *sums) waste(from, end, to int) float64 {
	all := s.weight[to] - s.weight[from]
	low, high := s.weight[end]-s.weight[from], s.weight[to]-s.weight[end]
	mid, top := s.points[end-1].peak, s.points[to-1].peak
	w := low / all * (low/all*mid + high/all*top - (s.moment[end]-s.moment[from])/low)
	if high > 0 {
		w += high / all * (low/all*mid + top - (s.moment[to]-s.moment[end])/high)
	}
	return w
}
