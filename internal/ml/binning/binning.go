// Package binning finds where to cut usage into bins. A bin is worth its upper
// edge, because the upper edge is what is granted: good edges lie just above
// crowds of peaks.
//
//	peaks   ▂▅█▅▂▁▁  ▁▂▁         ▁
//	usage ────────┬──────┬───────────┬──▶
//	edge         10     20          350    the last one is the top
//
// It knows numbers only: peaks and edges share one unit, whatever it is, and no
// task, request or price is known here.
package binning

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrEdges reports edges that are not positive, finite and strictly ascending.
var ErrEdges = errors.New("binning: edges must be positive, finite and strictly ascending")

// ErrHistory reports peaks or weights that cannot be binned.
var ErrHistory = errors.New("binning: history cannot be binned")

// History is what is binned.
type History struct {
	Peaks   []float64 // n ≥ 1 peaks ≥ 0, in any order
	Weights []float64 // n weights > 0, such as durations; nil: all one
}

// Bill is Σ weight · edge(peak): what the history costs when every run is granted
// the upper edge of its peak's bin. A peak above the top is billed the top, which
// is all that could have been granted.
func (h History) Bill(edges []float64) float64 {
	bill := 0.0
	for i, peak := range h.Peaks {
		bill += h.weight(i) * edges[Index(edges, peak)]
	}
	return bill
}

// Improvement is the share of the static bill that a perfect classifier over
// these edges saves: 1 − Bill(edges) / (static · Σ weight). With weights of one it
// is the study's optimal improvement, with durations its time-weighted one. The
// study's static is the top edge; pass the request to compare with what is paid.
//
// Two runs of 5 and one of 50, edges {10; 100}, static 100: 1 − 120/300 = 0.6.
func (h History) Improvement(edges []float64, static float64) float64 {
	return 1 - h.Bill(edges)/(static*h.total())
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

// Check returns ErrEdges unless the edges can be bins: at least one, positive,
// finite, strictly ascending. Fixed edges from a user pass here.
func Check(edges []float64) error {
	if len(edges) == 0 {
		return fmt.Errorf("%w: none given", ErrEdges)
	}
	for i, edge := range edges {
		if !(edge > 0) || math.IsInf(edge, 0) || i > 0 && edge <= edges[i-1] {
			return fmt.Errorf("%w: %v", ErrEdges, edges)
		}
	}
	return nil
}

// Index is the bin of a peak: the first edge that holds it, or the last bin for a
// peak above the top.
func Index(edges []float64, peak float64) int {
	i, _ := slices.BinarySearch(edges, peak)
	return min(i, len(edges)-1)
}

// Top is the upper edge above everything seen: the maximum and a share more
// (margin 0.2: a fifth), rounded up to a multiple of step (0: not rounded).
func Top(peaks []float64, margin, step float64) float64 {
	return roundUp(slices.Max(peaks)*(1+margin), step)
}

// Geometric is a fine grid: edges from the top down, each the one above divided
// by ratio > 1, until one is at or below low > 0. With ratio 1.1 a run is granted
// at most a tenth more than an exact prediction would have.
func Geometric(low, top, ratio float64) ([]float64, error) {
	if !(low > 0 && low <= top && ratio > 1) || math.IsInf(top, 0) {
		return nil, fmt.Errorf("%w: a grid from %v to %v by a ratio of %v", ErrEdges, low, top, ratio)
	}
	steps := int(math.Ceil(math.Log(top/low) / math.Log(ratio)))
	edges := make([]float64, steps+1)
	for i := range edges {
		edges[steps-i] = top * math.Pow(ratio, -float64(i))
	}
	return edges, nil
}

// roundUp is v at the next multiple of step: an edge must hold its peak.
func roundUp(v, step float64) float64 {
	if step <= 0 {
		return v
	}
	edge := math.Ceil(v/step) * step
	if edge < v { // v/step was rounded down to a whole number
		edge += step
	}
	return edge
}
