package main

import (
	"fmt"
	"slices"
)

// ratio compares two alternating loads by the quotients of their figures in each round.
type ratio struct {
	median, low, high float64
	rounds            int
}

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

// median returns the median of a non-empty slice.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
