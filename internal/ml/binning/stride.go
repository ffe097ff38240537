package binning

import (
	"fmt"
	"math"
)

const maxChoices = 5_000_000

// Stride returns the edges that the exhaustive search of the publication (see History.Improvement)
// finds, for comparison with Search. It evaluates every ascending choice of bins−1 edges among
// the multiples of stride below top, with top as the last edge. It returns the cheapest choice and,
// of equally cheap choices, the one with the lowest edges. If there are fewer than bins−1 multiples, all of
// them are edges. If all peaks are positive, Search with a step equal to `stride` finds equally cheap edges in far
// less time, and Search with a step of 0 finds edges that cost no more.
//
// Stride returns ErrEdges for invalid arguments and for more than maxChoices choices, and ErrHistory for an invalid
// history.
func (h History) Stride(bins int, top, stride float64) ([]float64, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	if bins < 1 || !(top > 0) || math.IsInf(top, 0) || !(stride > 0) {
		return nil, fmt.Errorf("%w: %d bins up to %v with a stride of %v; at least one bin, a positive, finite top and a positive stride are necessary", ErrEdges, bins, top, stride)
	}
	multiples := math.Floor(top / stride)
	if multiples*stride >= top*(1-1e-12) { // the last multiple equals top, which is already an edge
		multiples--
	}
	inner := int(min(float64(bins-1), multiples))
	if inner == 0 {
		return []float64{top}, nil
	}
	if n := choices(multiples, inner); n > maxChoices {
		return nil, fmt.Errorf("%w: a stride of %v gives %.3g choices of %d edges, above %d; use a longer stride or Search", ErrEdges, stride, n, inner, maxChoices)
	}
	grid := make([]float64, int(multiples)+1)
	for i := range grid {
		grid[i] = float64(i+1) * stride
	}
	grid[len(grid)-1] = top
	return h.aggregate(grid).cheapest(grid, inner), nil
}

// aggregate raises each peak to its edge of the grid and merges equal peaks. Any choice of
// edges from the grid has the same cost on both histories.
func (h History) aggregate(grid []float64) History {
	weights := make([]float64, len(grid))
	for i, peak := range h.Peaks {
		weights[Index(grid, peak)] += h.weight(i)
	}
	var out History
	for i, w := range weights {
		if w > 0 {
			out.Peaks, out.Weights = append(out.Peaks, grid[i]), append(out.Weights, w)
		}
	}
	return out
}

// cheapest returns the cheapest choice of `inner` edges from the grid, followed by the last value of the grid.
func (h History) cheapest(grid []float64, inner int) []float64 {
	at, edges := make([]int, inner), make([]float64, inner+1)
	for i := range at {
		at[i] = i
	}
	edges[inner] = grid[len(grid)-1]
	var best []float64
	lowest := math.Inf(1)
	for more := true; more; more = nextCombination(at, len(grid)-1) {
		for i, j := range at {
			edges[i] = grid[j]
		}
		if cost := h.Cost(edges); cost < lowest {
			best, lowest = append(best[:0], edges...), cost
		}
	}
	return best
}

// choices returns the binomial coefficient "n choose k", as a float because it may be huge.
func choices(n float64, k int) float64 {
	product := 1.0
	for i := range k {
		product *= (n - float64(i)) / float64(i+1)
	}
	return math.Round(product)
}

// nextCombination replaces the indices in the slice `at` with the next ascending choice from 0 … n−1 in
// lexicographic order. It returns false after the last choice.
func nextCombination(at []int, n int) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i] < n-(len(at)-i) {
			at[i]++
			for j := i + 1; j < len(at); j++ {
				at[j] = at[j-1] + 1
			}
			return true
		}
	}
	return false
}
