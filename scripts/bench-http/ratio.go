package main

import (
	"fmt"
	"slices"
)

// ratio compares two alternating loads. In each round, the figure of one load is divided by the
// figure of the other. A ratio contains the median and the range of these quotients.
type ratio struct {
	median, low, high float64
	rounds            int
}

// ratioOf returns the ratio of the figures of two loads, one figure per round.
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
