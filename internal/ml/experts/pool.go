package experts

import "math"

// Pool holds statistics that similar tasks share: the mean cost of a row, and the ratio of
// kills to promised risk by the age of a task (empirical Bayes shrinkage). The share of one
// task is a Pool too, and pools can be added.
type Pool struct {
	Cost, Rows float64       // decayed sums
	Promised   [ages]float64 // by age, decayed sums of nominal promises …
	Killed     [ages]float64 // … and of kills
	LogSquares float64       // decayed sums of the log of squared out-of-sample residuals …
	Residuals  float64       // … and of their number

	Requests, Exceeded float64 `cbor:",omitzero"` // decayed numbers of rows with a static request, and of rows above it
}

// An age is a power of two of learned rows: 1, 2–3, 4–7, …
const (
	ages      = 10
	poolDecay = 1 - 1.0/2000
	agePrior  = 2.0 // kills of prior belief that promises are correct
)

func age(rows int) int { return min(ages-1, int(math.Log2(float64(max(rows, 1))))) }

// Add adds the share of a task.
func (p *Pool) Add(o *Pool) { p.addScaled(o, 1) }

// Remove subtracts the share of a task.
func (p *Pool) Remove(o *Pool) { p.addScaled(o, -1) }

func (p *Pool) addScaled(o *Pool, sign float64) {
	p.Cost, p.Rows = p.Cost+sign*o.Cost, p.Rows+sign*o.Rows
	p.LogSquares, p.Residuals = p.LogSquares+sign*o.LogSquares, p.Residuals+sign*o.Residuals
	p.Requests, p.Exceeded = p.Requests+sign*o.Requests, p.Exceeded+sign*o.Exceeded
	for a := range ages {
		p.Promised[a] += sign * o.Promised[a]
		p.Killed[a] += sign * o.Killed[a]
	}
}

// RecordCost records the cost of a row.
func (p *Pool) RecordCost(cost float64) {
	p.Cost, p.Rows = p.Cost*poolDecay+cost, p.Rows*poolDecay+1
}

// RecordRequest records whether a row exceeded its static request.
func (p *Pool) RecordRequest(exceeded bool) {
	p.Requests, p.Exceeded = p.Requests*poolDecay+1, p.Exceeded*poolDecay
	if exceeded {
		p.Exceeded++
	}
}

// requestRisk returns the share of rows that exceed their static request, with a prior of
// 10 rows at 1 %.
func (p *Pool) requestRisk() float64 {
	const rows, risk = 10, 0.01
	return (p.Exceeded + rows*risk) / (p.Requests + rows)
}

// RecordOutcome records the outcome of a nominal promise of a task with a number of learned rows.
func (p *Pool) RecordOutcome(rows int, promised float64, killed bool) {
	a := age(rows)
	p.Promised[a] = p.Promised[a]*poolDecay + promised
	p.Killed[a] *= poolDecay
	if killed {
		p.Killed[a]++
	}
}

// RecordResidual records an out-of-sample residual of the cold-start model.
func (p *Pool) RecordResidual(residual float64) {
	p.LogSquares = p.LogSquares*poolDecay + math.Log(residual*residual+1e-4)
	p.Residuals = p.Residuals*poolDecay + 1
}

// span returns the expected deviation of the log peak of a new task: the typical deviation
// among the other tasks, shrunk to the prior. It averages logarithms, so that a few noisy
// tasks do not dominate.
func (p *Pool) span(prior float64) float64 {
	const weight = 50 // the prior counts as this many residuals
	const bias = 1.27 // minus the mean log of a squared standard normal
	log := (weight*math.Log(prior*prior) + p.LogSquares + bias*p.Residuals) / (weight + p.Residuals)
	return max(0.1, min(1, math.Exp(log/2)))
}

// mean returns the mean cost of a row, and 0 before the first row.
func (p *Pool) mean() float64 {
	if p.Rows <= 0 {
		return 0
	}
	return p.Cost / p.Rows
}

// factor returns the correction of a nominal promise of a task with a number of learned
// rows: the ratio of kills to promises at its age, shrunk to the ratio over all ages, which
// is shrunk to one.
func (p *Pool) factor(rows int) float64 {
	killed, promised := 0.0, 0.0
	for a := range ages {
		killed, promised = killed+p.Killed[a], promised+p.Promised[a]
	}
	overall := (killed + agePrior) / (promised + agePrior)
	a := age(rows)
	return max(0.3, min(4, (p.Killed[a]+agePrior*overall)/(p.Promised[a]+agePrior)))
}
