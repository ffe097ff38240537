// Package conformal calibrates predictions with their out-of-sample residuals (conformal
// prediction, Vovk et al. 2005): probabilities around a predicted level (the logarithm of a peak), and a
// quantile level that adapts to drift.
//
//	out-of-sample residuals (actual − predicted)
//	   ├─ Residuals ─▶ Window      probabilities near a level
//	   └─ Adaptive                 quantile level of the next row
//
// The package handles numbers only: no tasks, bytes or clock. The caller orders the rows.
package conformal

// Adaptive implements adaptive conformal inference (Gibbs & Candès 2021). It raises the
// quantile level after a miss and lowers it slightly after a hit, so that the share of
// misses converges to the target even if the data drift.
//
//	alpha ← alpha + Step · (Target − missed)
//
// With Target 0.015 and Step 0.05 a miss raises the level by .04925, and 66 hits lower it
// by about the same amount. If a level of 1 or more means an infinite margin (no row is missed), and a level of 0
// or less a margin of minus infinity (every row is missed), then after T rows
// |misses/T − Target| ≤ (1 + Step) / (Step · T) for any data (Proposition 4.1 of Gibbs & Candès).
type Adaptive struct {
	Target float64 // target share of misses, in (0, 1)
	Step   float64 // γ > 0: a larger step adapts faster and varies more
	Alpha  float64 // 1 minus the current quantile level; may leave [0, 1]
}

// NewAdaptive returns an Adaptive that starts at the target.
func NewAdaptive(target, step float64) Adaptive {
	return Adaptive{Target: target, Step: step, Alpha: target}
}

// Level returns the quantile level of the next row, 1 − Alpha. It may be below 0 or above 1.
func (a Adaptive) Level() float64 { return 1 - a.Alpha }

// Update records whether the last row was missed, which means that its score was above the quantile.
func (a *Adaptive) Update(missed bool) {
	a.Alpha += a.Step * a.Target
	if missed {
		a.Alpha -= a.Step
	}
}
