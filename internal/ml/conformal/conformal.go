// Package conformal turns honest residuals into margins that keep a promise: a
// quantile with a finite-sample guarantee, its local form around a predicted
// level, an online correction under drift, and intervals for the realised risk.
//
//	residuals (actual − predicted, of rows the model had not seen)
//	   ├─ Quantile                 one margin for all
//	   ├─ Residuals ─▶ Window      margins and probabilities near a level
//	   └─ Adaptive                 which quantile to ask for next
//	kills, rows ─▶ ClopperPearson
//
// It knows numbers only: no tasks, no bytes, no clock; rows come in an order that
// the caller chose.
package conformal

import (
	"cmp"
	"math"
	"slices"
)

// Quantile is the split-conformal quantile of scores (Vovk et al. 2005; Lei et al.
// 2018): a new score, exchangeable with these, is at most it with probability ≥ q.
// Of n scores it is the ⌈(n+1)·q⌉-th smallest: of 99 scores the 95th at q = 0.95.
//
// With weights it is the weighted one of Barber et al. (2023): the new score
// counts 1, an old one its weight, 1 for a row as telling as the next and less for
// an older one; nil weights are all 1. +Inf where the scores are too few for q,
// −Inf for q ≤ 0.
func Quantile(scores, weights []float64, q float64) float64 {
	if q <= 0 {
		return math.Inf(-1)
	}
	var near [256]int // keeps usual windows off the heap
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

// rounding lets 0.95·100 be 95, whatever the last bit says.
const rounding = 1e-12

func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// Recency weighs n rows, oldest first: the newest 1, and half as much for every
// halfLife rows of age. +Inf weighs all alike.
func Recency(n int, halfLife float64) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = math.Exp2(-float64(n-1-i) / halfLife)
	}
	return weights
}
