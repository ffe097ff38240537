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

	"gonum.org/v1/gonum/stat/distuv"
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
	var buffer [256]int // avoids a heap allocation for typical windows
	order := buffer[:]
	if len(scores) > len(buffer) {
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

// weightOf returns weights[i], and 1 if weights is nil.
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

// ClopperPearson returns the exact confidence interval (1934) for a probability, given k
// hits in n independent rows. It contains the true value with probability ≥ level, so it is
// conservative. 0 kills in 30 rows at 0.95 give (0, 0.116). It returns (0, 1) if n is 0.
func ClopperPearson(k, n int, level float64) (low, high float64) {
	tail := (1 - level) / 2
	low, high = 0, 1
	if k > 0 {
		low = distuv.Beta{Alpha: float64(k), Beta: float64(n - k + 1)}.Quantile(tail)
	}
	if k < n {
		high = distuv.Beta{Alpha: float64(k + 1), Beta: float64(n - k)}.Quantile(1 - tail)
	}
	return low, high
}

// Adaptive implements adaptive conformal inference (Gibbs & Candès 2021). It raises the
// quantile level after a miss and lowers it slightly after a hit, so that the share of
// misses converges to the target even if the data drift.
//
//	alpha ← alpha + Step · (Target − missed)
//
// With Target 0.015 and Step 0.05 a miss raises the level by .04925, and 66 hits lower it
// by about the same amount. If a level of 1 or more never misses and a level of 0 or less always
// misses, then after T rows |misses/T − Target| ≤ (1 + Step) / (Step · T) for any data
// (their Proposition 4.1).
type Adaptive struct {
	Target float64 // target share of misses, in (0, 1)
	Step   float64 // γ > 0: a larger step adapts faster and varies more
	Alpha  float64 // current miss level; may leave [0, 1]
}

// NewAdaptive returns an Adaptive that starts at the target.
func NewAdaptive(target, step float64) Adaptive {
	return Adaptive{Target: target, Step: step, Alpha: target}
}

// Level returns the quantile level of the next row, 1 − Alpha. At 1 or more no finite
// margin is sufficient; at 0 or less every margin is.
func (a Adaptive) Level() float64 { return 1 - a.Alpha }

// Update records whether the last row was missed: its score was above the quantile.
func (a *Adaptive) Update(missed bool) {
	a.Alpha += a.Step * a.Target
	if missed {
		a.Alpha -= a.Step
	}
}
