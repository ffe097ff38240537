package sizing

import (
	"math"
	"slices"
)

// Bins are ranges of peaks, given by their ascending upper edges. A run in a bin is granted the upper edge of the bin.
//
//	usage   0 ──────┬─────────┬─────────┬──────▶
//	edge           512M      2G        8G
//	bin         0   │    1    │    2    │  over
type Bins []Bytes

// Index returns the first bin with an upper edge of at least b, or len(bins) if b is above
// the last edge.
func (bins Bins) Index(b Bytes) int {
	i, _ := slices.BinarySearch(bins, b)
	return i
}

// RoundUp returns the smallest edge of at least b, or b itself if it is above the last edge.
func (bins Bins) RoundUp(b Bytes) Bytes {
	if i := bins.Index(b); i < len(bins) {
		return bins[i]
	}
	return b
}

// Valid reports whether there are edges, all positive and strictly ascending.
func (bins Bins) Valid() bool {
	for i, edge := range bins {
		if edge <= 0 || i > 0 && edge <= bins[i-1] {
			return false
		}
	}
	return len(bins) > 0
}

// LeastCost returns the increasing ladder over bins with the least expected cost, by dynamic
// programming from the top bin down. p[i] is P(peak in bin i); the last bin includes all peaks
// above its edge. Each try costs its whole allocation, and each kill costs `price` bytes in addition. The
// probability that the peak exceeds the first rung is at most `risk`. `bins` must not be empty, and p must be as long.
//
// With bins of 1, 4 and 10 GiB, p = 0.90, 0.09, 0.01, price 0 and risk 1, the ladder
// 1, 4, 10 costs 1 + 0.10·4 + 0.01·10 = 1.5, and 1, 10 costs 1 + 0.10·10 = 2. With risk
// 0.05 the first rung must be 4: 4 + 0.01·10 = 4.1.
func LeastCost(bins Bins, p []float64, risk, price float64) []Bytes {
	k := len(bins)
	above := make([]float64, k) // P(peak > bins[i])
	for i := k - 2; i >= 0; i-- {
		above[i] = above[i+1] + p[i+1]
	}
	// rest[i] is the expected cost after rung i, and next[i] is the rung that follows rung i.
	rest, next := make([]float64, k), make([]int, k)
	for i := k - 1; i >= 0; i-- {
		next[i] = k
		if above[i] <= 0 {
			continue
		}
		rest[i] = math.Inf(1)
		for j := i + 1; j < k; j++ {
			if cost := above[i]*(float64(bins[j])+price) + rest[j]; cost < rest[i] {
				rest[i], next[i] = cost, j
			}
		}
	}
	first := k - 1
	for i := range k {
		if above[i] <= risk && float64(bins[i])+rest[i] < float64(bins[first])+rest[first] {
			first = i
		}
	}
	var ladder []Bytes
	for i := first; i < k; i = next[i] {
		ladder = append(ladder, bins[i])
	}
	return ladder
}
