package backtest

import (
	"math/rand/v2"
	"slices"
)

const (
	greedyCold       = 10  // rows that get greedyColdStart
	greedyColdStart  = 1e9 // bytes
	greedyRebuilding = 100 // buckets are rebuilt when this share of the rows is new
)

// greedy is greedy bucketing (Phung et al. 2021, "Not all tasks are created
// equal"): the sorted peaks are split where the expected waste of two buckets is
// least, then each part again while a split helps. A try draws a bucket by its
// weight and gets its largest peak. Newer peaks weigh more: a peak's significance
// is its place in order of arrival.
type greedy struct {
	dice    *rand.Rand
	points  []arrival // by peak
	buckets []bucket
	built   int // points at the last building
}

type arrival struct{ peak, significance float64 }

// bucket is worth its largest peak; below is the weight of it and of all before it.
type bucket struct{ top, below float64 }

func (r *greedy) learn(o *Outcome) {
	p := arrival{float64(o.Peak), float64(len(r.points) + 1)}
	at, _ := slices.BinarySearchFunc(r.points, p.peak, func(a arrival, peak float64) int {
		if a.peak < peak {
			return -1
		}
		return 1 // ties stay in order of arrival or its reverse: no split falls between them for good
	})
	r.points = slices.Insert(r.points, at, p)
}

func (r *greedy) allocate(*Question) float64 {
	n := len(r.points)
	if n < greedyCold {
		return greedyColdStart
	}
	if r.buckets == nil || n-r.built >= max(1, n/greedyRebuilding) {
		r.build()
	}
	drawn := r.dice.Float64() * r.buckets[len(r.buckets)-1].below
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

// sums are prefix sums over the sorted points: entry i is over the first i.
type sums struct {
	points         []arrival
	weight, moment []float64
}

func newSums(points []arrival) *sums {
	s := &sums{points, make([]float64, len(points)+1), make([]float64, len(points)+1)}
	for i, p := range points {
		s.weight[i+1] = s.weight[i] + p.significance
		s.moment[i+1] = s.moment[i] + p.significance*p.peak
	}
	return s
}

// split emits the ends of the buckets of points[from:to], ascending.
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

// waste is what a try from points[from:to] is expected to waste, if it draws the
// bucket that ends at end or the one that ends at to, by their weights: a low draw
// for a high need is retried at the top.
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
