// Package binning discretises memory usage into bins with optimal edges. The upper edge of a
// bin is the granted amount, so good edges are just above clusters of peaks.
//
//	peaks   ▂▅█▅▂▁▁  ▁▂▁         ▁
//	usage ────────┬──────┬───────────┬──▶
//	edge         10     20          350    the last edge is called the top
//
// The package handles numbers only: peaks and edges share one unit. It does not know tasks,
// requests or prices.
package binning

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEdges reports edges that are not positive, finite and strictly ascending, or arguments that give no
// such edges.
var ErrEdges = errors.New("binning: invalid edges or arguments for edges")

// ErrHistory reports peaks or weights that cannot be binned.
var ErrHistory = errors.New("binning: history cannot be binned")

// History holds the peaks to bin.
type History struct {
	Peaks   []float64 // n ≥ 1 peaks ≥ 0, in any order
	Weights []float64 // n weights > 0, such as durations; nil: all 1
}

// Cost returns Σ weight · edge(peak): the cost of the history if every run is granted the
// upper edge of its peak's bin. A peak above the top costs the top, the largest amount that can be
// granted.
func (h History) Cost(edges []float64) float64 {
	cost := 0.0
	for i, peak := range h.Peaks {
		cost += h.weight(i) * edges[Index(edges, peak)]
	}
	return cost
}

// Improvement returns the share of the static cost that a perfect classifier over these edges
// saves: 1 − Cost(edges) / (static · Σ weight). The measure comes from the publication of a load-aware scheduler for an
// industrial ML workflow (2021). That scheduler predicts the bin of the memory of each run, and this service is based on it.
// With the top edge as `static`, the publication calls this share the optimal improvement if all weights are one, and the
// time-weighted improvement if the weights are durations. To compare with an actual allocation, pass the request as `static`.
//
// Example: for the peaks 5, 5 and 50, the edges {10, 100} and the static amount 100, the result is 1 − 120/300 = 0.6.
func (h History) Improvement(edges []float64, static float64) float64 {
	return 1 - h.Cost(edges)/(static*h.total())
}

func (h History) weight(i int) float64 {
	if h.Weights == nil {
		return 1
	}
	return h.Weights[i]
}

func (h History) total() float64 {
	total := 0.0
	for i := range h.Peaks {
		total += h.weight(i)
	}
	return total
}

func (h History) check() error {
	if len(h.Peaks) == 0 || h.Weights != nil && len(h.Weights) != len(h.Peaks) {
		return fmt.Errorf("%w: %d peaks, %d weights", ErrHistory, len(h.Peaks), len(h.Weights))
	}
	for i, peak := range h.Peaks {
		if !(peak >= 0) || math.IsInf(peak, 0) {
			return fmt.Errorf("%w: peak %d is %v", ErrHistory, i, peak)
		}
		if w := h.weight(i); !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%w: weight %d is %v", ErrHistory, i, w)
		}
	}
	return nil
}

// Check validates the edges that a user configures. It returns ErrEdges if there is no edge, or if the edges are not
// positive, finite and strictly ascending.
func Check(edges []float64) error {
	if len(edges) == 0 {
		return fmt.Errorf("%w: no edges; at least one is necessary", ErrEdges)
	}
	for i, edge := range edges {
		if !(edge > 0) || math.IsInf(edge, 0) || i > 0 && edge <= edges[i-1] {
			return fmt.Errorf("%w: %v; edges must be positive, finite and strictly ascending", ErrEdges, edges)
		}
	}
	return nil
}

// Index returns the bin of a peak: the index of the first edge at or above it, or of the last edge for a
// peak above the top.
func Index(edges []float64, peak float64) int {
	i, _ := slices.BinarySearch(edges, peak)
	return min(i, len(edges)-1)
}

// Top returns a last edge for the peaks: their maximum plus a margin, rounded up to a multiple of step.
// A margin of 0.2 adds 20 %, and a step of 0 disables rounding.
func Top(peaks []float64, margin, step float64) float64 {
	return roundUp(slices.Max(peaks)*(1+margin), step)
}

// Geometric returns a geometric grid of ascending edges. The last edge is `top`, and only the
// first one is at or below `low`, which must be above 0. Each edge is `ratio` > 1 times the one before: with a
// ratio of 1.1, a run whose peak is between `low` and `top` gets at most 10 % more than its peak.
func Geometric(low, top, ratio float64) ([]float64, error) {
	if !(low > 0 && low <= top && ratio > 1) || math.IsInf(top, 0) {
		return nil, fmt.Errorf("%w: grid from %v to %v with a ratio of %v; it must begin above 0, end at a finite number that is not lower, and have a ratio above 1", ErrEdges, low, top, ratio)
	}
	steps := int(math.Ceil(math.Log(top/low) / math.Log(ratio)))
	edges := make([]float64, steps+1)
	for i := range edges {
		edges[steps-i] = top * math.Pow(ratio, -float64(i))
	}
	return edges, nil
}

func roundUp(v, step float64) float64 {
	if step <= 0 {
		return v
	}
	edge := math.Ceil(v/step) * step
	if edge < v { // the division rounded v/step down to an integer
		edge += step
	}
	return edge
}
