package backtest

import (
	"math"
	"time"
)

// These are the parameters of the memory estimator of the Kubernetes vertical pod autoscaler. The estimator takes the p90 of a
// histogram with exponentially growing buckets, in which the weight of a peak has a half-life of one day, adds a safety
// margin of 15 %, and recommends at least a minimum. Amounts are in bytes.
const (
	vpaFirstBucket = 10e6
	vpaGrowth      = 1.05
	vpaHalfLife    = 24 * time.Hour
	vpaShare       = 0.9
	vpaMargin      = 1.15
	vpaMinimum     = 250 << 20
)

// vpa allocates like the vertical pod autoscaler. Instead of reducing the weights of old peaks, it gives newer peaks
// larger weights, and rescales all weights before they overflow.
type vpa struct {
	weights []float64 // by bucket
	total   float64   // sum of the weights
	origin  time.Time // a peak at this time weighs 1
}

func (r *vpa) learn(o *Outcome) {
	end := o.end()
	if r.origin.IsZero() {
		r.origin = end
	}
	halfLives := end.Sub(r.origin).Hours() / vpaHalfLife.Hours()
	if halfLives > 500 { // 2^500 is far from both ends of the range of float64
		r.scale(math.Exp2(-halfLives))
		r.origin, halfLives = end, 0
	}
	at := vpaBucket(float64(o.Peak))
	for len(r.weights) <= at {
		r.weights = append(r.weights, 0)
	}
	r.weights[at] += math.Exp2(halfLives)
	r.total += math.Exp2(halfLives)
}

func (r *vpa) scale(by float64) {
	for i := range r.weights {
		r.weights[i] *= by
	}
	r.total *= by
}

func (r *vpa) allocate(*Question) float64 {
	sum := 0.0
	for at, w := range r.weights {
		if sum += w; sum >= vpaShare*r.total {
			return max(vpaMinimum, vpaEdge(at)*vpaMargin)
		}
	}
	return 0
}

// vpaEdge returns the upper edge of a bucket: 10 MB, 20.5 MB, 31.525 MB, …
func vpaEdge(at int) float64 {
	return vpaFirstBucket * (math.Pow(vpaGrowth, float64(at+1)) - 1) / (vpaGrowth - 1)
}

// vpaBucket returns the index of the bucket of a peak. The lower edge of a bucket belongs to the bucket.
func vpaBucket(peak float64) int {
	if peak < vpaFirstBucket {
		return 0
	}
	return int(math.Log(peak*(vpaGrowth-1)/vpaFirstBucket+1) / math.Log(vpaGrowth))
}
