// Package drift finds the change points of a series, such as the peaks of a task after a release.
//
// It splits the series at the most significant change point of Pettitt's test (1979), and then splits
// each part again (binary segmentation). The test compares ranks, so a few extreme values have little
// effect.
package drift

import (
	"cmp"
	"math"
	"slices"
)

// Change is a change point.
type Change struct {
	At     int     // index of the first value after the change
	Before float64 // median of the values between the previous change and At
	After  float64 // median of the values from At to the next change
	P      float64 // p value of Pettitt's test: the probability of such a difference without a change
}

// Factor returns the ratio of After to Before.
func (c Change) Factor() float64 { return c.After / c.Before }

// Limits of a change.
const (
	minPart   = 15    // smallest number of values in a part
	maxP      = 0.001 // largest P of a change
	minFactor = 1.2   // smallest factor of an increase; a decrease has at most the factor 1/minFactor
	maxDepth  = 4     // largest depth of splits, which allows 15 changes
)

// Find returns the changes of a series of positive values, in order. Each has at least the factor minFactor, up or
// down.
func Find(values []float64) []Change {
	var changes []Change
	find(values, 0, maxDepth, &changes)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	// Later splits shorten the parts beside a change, so the ratio of their medians may have become too small. The loop
	// drops the smallest such change, joins the two parts beside it, and computes the medians again.
	for {
		setMedians(values, changes)
		smallest := -1
		for i := range changes {
			if !changes[i].isRelevant() && (smallest < 0 || changes[i].magnitude() < changes[smallest].magnitude()) {
				smallest = i
			}
		}
		if smallest < 0 {
			return changes
		}
		changes = slices.Delete(changes, smallest, smallest+1)
	}
}

// setMedians sets Before and After of the changes, which are in order.
func setMedians(values []float64, changes []Change) {
	edges := []int{0}
	for _, c := range changes {
		edges = append(edges, c.At)
	}
	edges = append(edges, len(values))
	for i := range changes {
		changes[i].Before, changes[i].After = median(values[edges[i]:edges[i+1]]), median(values[edges[i+1]:edges[i+2]])
	}
}

// find appends the changes within `values`, the part of the series that starts at the index `from`. `depth` is the number of
// levels of splits that are left.
func find(values []float64, from, depth int, changes *[]Change) {
	if depth == 0 || len(values) < 2*minPart {
		return
	}
	at, p := split(values)
	if p > maxP {
		return
	}
	c := Change{At: from + at, Before: median(values[:at]), After: median(values[at:]), P: p}
	if !c.isRelevant() {
		return
	}
	*changes = append(*changes, c)
	find(values[:at], from, depth-1, changes)
	find(values[at:], from+at, depth-1, changes)
}

func (c *Change) isRelevant() bool {
	return c.Before > 0 && c.magnitude() >= math.Log(minFactor)
}

func (c *Change) magnitude() float64 { return math.Abs(math.Log(c.Factor())) }

// split returns the index at which the ranks before and after differ most, with at least minPart values on each side.
// p approximates the probability of such a difference without a change: 2·exp(−6K²/(n³+n²)), at most 1, where K is the
// largest |U| and n the number of values.
func split(values []float64) (at int, p float64) {
	ranks, n := ranksOf(values), float64(len(values))
	sum, largest := 0.0, 0.0
	for i := range len(values) - minPart {
		sum += ranks[i]
		// U = 2·Σ ranks − t·(n+1), where t is the number of values before the split.
		if u := math.Abs(2*sum - float64(i+1)*(n+1)); i+1 >= minPart && u > largest {
			at, largest = i+1, u
		}
	}
	return at, min(1, 2*math.Exp(-6*largest*largest/(n*n*n+n*n)))
}

// ranksOf returns the ranks of the values, starting at 1. Equal values get their mean rank.
func ranksOf(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to+1) / 2
		}
		from = to
	}
	return ranks
}

// median returns the median; of an even number of values the larger of the two middle ones, and NaN without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
