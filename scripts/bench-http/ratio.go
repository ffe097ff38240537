package main

import (
	"fmt"
	"slices"
)

// ratio is what two things did in turn, in one run: the median over the rounds of
// what one did, divided by what the other did in the same round, and its range.
type ratio struct {
	median, low, high float64
	rounds            int
}

// ratioOf takes the rounds of one and of the other.
func ratioOf(one, other []float64) ratio {
	quotients := make([]float64, len(one))
	for i := range one {
		quotients[i] = one[i] / other[i]
	}
	slices.Sort(quotients)
	n := len(quotients)
	return ratio{median: median(quotients), low: quotients[0], high: quotients[n-1], rounds: n}
}

func (r ratio) String() string { return fmt.Sprintf("%.2f [%.2f .. %.2f]", r.median, r.low, r.high) }

// median of values that are not empty: the mean of the middle two of an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
