package backtest

import (
	"math"
	"slices"
)

// tovarStep is the resolution of the peaks in bytes. It bounds the number of distinct peaks.
const tovarStep = 50e6

// tovar computes the first allocation of Tovar et al. (2018), "A job sizing strategy for
// high-throughput scientific workflows". It allocates one of the peaks so far. It chooses the peak a with the least
// cost if every try with a peak above a runs again with the largest peak aMax (t is the run time):
//
//	cost(a) = a · E[t] + aMax · E[t; peak > a]
//
// For peaks of 1, 2 and 10 GB with equal durations, 2 GB cost 2 + 10/3 = 5.3, 1 GB costs
// 1 + 20/3 = 7.7, and 10 GB cost 10. So the first try gets 2 GB.
type tovar struct {
	peaks   []float64 // distinct, ascending
	seconds []float64 // total run time at each peak
}

func (r *tovar) learn(o *Outcome) {
	peak := math.Ceil(float64(o.Peak)/tovarStep) * tovarStep
	at, known := slices.BinarySearch(r.peaks, peak)
	if !known {
		r.peaks = slices.Insert(r.peaks, at, peak)
		r.seconds = slices.Insert(r.seconds, at, 0)
	}
	r.seconds[at] += o.Duration.Seconds()
}

func (r *tovar) allocate(*Question) float64 {
	total := 0.0
	for _, s := range r.seconds {
		total += s
	}
	best, least, above := 0.0, math.Inf(1), 0.0
	for i := len(r.peaks) - 1; i >= 0; i-- {
		if cost := r.peaks[i]*total + r.peaks[len(r.peaks)-1]*above; cost < least {
			best, least = r.peaks[i], cost
		}
		above += r.seconds[i]
	}
	return best
}
