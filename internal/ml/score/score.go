// Package score evaluates predicted bins against actual bins, and converts probabilities
// into the bin with the least expected cost.
//
// The package handles class numbers only: bins 0 … k−1 in ascending order. An over-estimate
// is a row whose predicted bin is above its actual bin (memory is wasted), and an
// under-estimate is a row whose predicted bin is below its actual bin (the run is killed).
// A row above the last bin has the actual bin k, so it is an under-estimate for every prediction.
package score

import (
	"errors"
	"fmt"
)

// DefaultPenalty is the cost of an under-estimate relative to an over-estimate. The value is that of the published
// scheduler: a load-aware scheduler for an industrial ML workflow (2021) that predicts the bin of the memory of each run.
const DefaultPenalty = 10

// ErrShape reports different numbers of actual and predicted rows, or a bin that does not exist.
var ErrShape = errors.New("score: invalid rows or bins")

// Confusion is the confusion matrix: Confusion[actual][predicted] counts rows. It has a row for each actual bin 0 … k and
// a column for each bin 0 … k−1.
type Confusion [][]int

// Count returns the confusion matrix of n rows over k bins. It returns ErrShape if the
// lengths differ, an actual bin is outside 0 … k, or a predicted bin is outside 0 … k−1.
func Count(actual, predicted []int, k int) (Confusion, error) {
	if len(actual) != len(predicted) {
		return nil, fmt.Errorf("%w: %d actual rows, %d predicted", ErrShape, len(actual), len(predicted))
	}
	c := make(Confusion, k+1)
	for i := range c {
		c[i] = make([]int, k)
	}
	for i, a := range actual {
		if p := predicted[i]; min(a, p) < 0 || a > k || p >= k {
			return nil, fmt.Errorf("%w: row %d has the actual bin %d and the predicted bin %d of %d bins", ErrShape, i, a, p, k)
		}
		c[a][predicted[i]]++
	}
	return c, nil
}

// Total returns the number of rows.
func (c Confusion) Total() int { return c.sum(func(_, _ int) bool { return true }) }

// Over returns the number of over-estimates. The distance between the bins does not matter.
func (c Confusion) Over() int {
	return c.sum(func(actual, predicted int) bool { return predicted > actual })
}

// Under returns the number of under-estimates. The distance between the bins does not matter.
func (c Confusion) Under() int {
	return c.sum(func(actual, predicted int) bool { return predicted < actual })
}

// Accuracy returns the share of correct rows; 0 without rows.
func (c Confusion) Accuracy() float64 {
	return share(c.sum(func(actual, predicted int) bool { return predicted == actual }), c.Total())
}

// URate returns the share of under-estimates; 0 without rows.
func (c Confusion) URate() float64 { return share(c.Under(), c.Total()) }

// UScore returns 100 · (over + penalty · under) / total, the metric of the published
// scheduler. Lower is better. 3 over-estimates and 1 under-estimate in 100 rows give 13 at
// penalty 10. UScore is 0 without rows.
func (c Confusion) UScore(penalty float64) float64 {
	if c.Total() == 0 {
		return 0
	}
	return 100 * (float64(c.Over()) + penalty*float64(c.Under())) / float64(c.Total())
}

// EstimatedSaving returns the estimate of the published scheduler for the saved share of the
// static cost: optimal · accuracy − u rate. The argument `optimal` is the improvement that a perfect classifier
// over the bins would reach (binning.History.Improvement).
func (c Confusion) EstimatedSaving(optimal float64) float64 { return optimal*c.Accuracy() - c.URate() }

func (c Confusion) sum(include func(actual, predicted int) bool) int {
	n := 0
	for a, row := range c {
		for p, count := range row {
			if include(a, p) {
				n += count
			}
		}
	}
	return n
}

func share(part, total int) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// Decide returns the bin with the least expected cost for P(bin) = p, where an over-estimate
// costs 1 and an under-estimate costs `penalty`. It ignores the risk target. On a tie the higher bin
// wins. Decide does not allocate.
//
// Example with two bins and penalty 10: at p = (.9, .1) bin 0 costs 10·.1 = 1 and bin 1
// costs .9, so the result is 1. At (.95, .05) the bins cost .5 and .95, so the result is 0.
func Decide(p []float64, penalty float64) int {
	below, above := 0.0, 0.0
	for _, v := range p {
		above += v
	}
	best, bestCost := 0, 0.0
	for b, v := range p {
		above -= v
		cost := below + penalty*above
		if b == 0 || cost <= bestCost {
			best, bestCost = b, cost
		}
		below += v
	}
	return best
}
