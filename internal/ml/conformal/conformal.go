// Package conformal derives margins with a coverage guarantee from out-of-sample residuals
// (split conformal prediction): a quantile with a finite-sample guarantee, its local form
// around a predicted level, an online correction under drift, and confidence intervals for
// the realised risk.
//
//	out-of-sample residuals (actual − predicted)
//	   ├─ Quantile                 one margin for all rows
//	   ├─ Residuals ─▶ Window      margins and probabilities near a level
//	   └─ Adaptive                 quantile level of the next row
//	kills, rows ─▶ ClopperPearson
//
// The package handles numbers only: no tasks, bytes or clock. The caller orders the rows.
package conformal

import (
	"cmp"
	"math"
	"slices"
)

// Quantile returns the split-conformal quantile of scores (Vovk et al. 2005; Lei et al.
// 2018): a new exchangeable score is at most this value with probability ≥ q. It is the
// ⌈(n+1)·q⌉-th smallest of n scores: the 95th of 99 scores at q = 0.95.
//
// With weights it is the weighted quantile of Barber et al. (2023): the new score has
// weight 1, and less relevant (older) scores have lower weights; nil weights are all 1.
// Quantile returns +Inf if there are too few scores for q, and −Inf for q ≤ 0.
func Quantile(scores, weights []float64, q float64) float64 {
	if q <= 0 {
		return math.Inf(-1)
	}
	var near [256]int // avoids a heap allocation for typical windows
	order := near[:]
	if len(scores) > len(near) {
		order = make([]int, len(scores))
	}
	order = order[:len(scores)]
	total := 1.0
	for i := range order {
		order[i] = i
		total += weightOf(weights, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[a], scores[b]), a-b)
	})
	needed := q*total - rounding*total
	below := 0.0
	for _, i := range order {
		if below += weightOf(weights, i); below >= needed {
			return scores[i]
		}
	}
	return math.Inf(1)
}

// rounding tolerates rounding errors, so that 0.95·100 counts as 95.
const rounding = 1e-12

func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// Recency returns the weights of n rows, oldest first. The newest row has weight 1, and the
// weight halves with every halfLife rows of age. A half-life of +Inf gives equal weights.
func Recency(n int, halfLife float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = math.Exp2(-float64(n-1-i) / halfLife)
	}
	return weights
}
