package conformal

// Adaptive is adaptive conformal inference (Gibbs & Candès 2021): after a miss it
// asks for a higher quantile, after a hit for a slightly lower one, so that the
// share of misses comes to the target even when the data drift.
//
//	alpha ← alpha + Step · (Target − missed)
//
// With Target 0.015 and Step 0.05 a miss adds .04925 to the level, and 66 hits
// take it back. If a level of 1 or more never misses and one of 0 or less always
// does, then after T rows |misses/T − Target| ≤ (1 + Step) / (Step · T), whatever
// the data (their Proposition 4.1).
type Adaptive struct {
	Target float64 // share of misses wanted, in (0, 1)
	Step   float64 // γ > 0: larger follows faster and swings more
	Alpha  float64 // the current share asked for; may leave [0, 1]
}

// NewAdaptive starts at the target.
func NewAdaptive(target, step float64) Adaptive {
	return Adaptive{Target: target, Step: step, Alpha: target}
}

// Level is the quantile to ask for next: 1 − Alpha. At 1 or more no finite margin
// will do; at 0 or less any will.
func (a Adaptive) Level() float64 { return 1 - a.Alpha }

// Update learns whether the last row was missed: its score was above the quantile.
func (a *Adaptive) Update(missed bool) {
	a.Alpha += a.Step * a.Target
	if missed {
		a.Alpha -= a.Step
	}
}
