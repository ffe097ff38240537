package experts

import "math"

// Pool is what tasks that are alike share: the mean cost of a row, and how
// promises made at an age were kept. A task's own share is a Pool too: pools add.
type Pool struct {
	Cost, Rows float64       // forgetting sums
	Promised   [ages]float64 // by age, forgetting sums of nominal promises …
	Killed     [ages]float64 // … and of kills
	LogSquares float64       // forgetting sums of the log of squared honest residuals …
	Residuals  float64       // … and of one

	Requests, Exceeded float64 `cbor:",omitzero"` // forgetting sums of rows with a static request, and of those above it
}

// An age is a power of two of rows told: 1, 2–3, 4–7, …
const (
	ages       = 10
	poolMemory = 1 - 1.0/2000
	agePrior   = 2.0 // kills of belief in the promise as it stands
)

func age(told int) int { return min(ages-1, int(math.Log2(float64(max(told, 1))))) }

// Add joins another share.
func (p *Pool) Add(o *Pool) { p.join(o, 1) }

// Remove takes a share back.
func (p *Pool) Remove(o *Pool) { p.join(o, -1) }

func (p *Pool) join(o *Pool, sign float64) {
	p.Cost, p.Rows = p.Cost+sign*o.Cost, p.Rows+sign*o.Rows
	p.LogSquares, p.Residuals = p.LogSquares+sign*o.LogSquares, p.Residuals+sign*o.Residuals
	p.Requests, p.Exceeded = p.Requests+sign*o.Requests, p.Exceeded+sign*o.Exceeded
	for a := range ages {
		p.Promised[a] += sign * o.Promised[a]
		p.Killed[a] += sign * o.Killed[a]
	}
}

// Spent tells what a row used, in cost.
func (p *Pool) Spent(cost float64) {
	p.Cost, p.Rows = p.Cost*poolMemory+cost, p.Rows*poolMemory+1
}

// Requested tells whether a row needed more than its static request.
func (p *Pool) Requested(exceeded bool) {
	p.Requests, p.Exceeded = p.Requests*poolMemory+1, p.Exceeded*poolMemory
	if exceeded {
		p.Exceeded++
	}
}

// requestRisk is how often a row needs more than its static request: the share so far,
// with a prior of 10 rows at 1 %.
func (p *Pool) requestRisk() float64 {
	const rows, risk = 10, 0.01
	return (p.Exceeded + rows*risk) / (p.Requests + rows)
}

// Kept tells how a nominal promise of a task with told rows ended.
func (p *Pool) Kept(told int, promised float64, killed bool) {
	a := age(told)
	p.Promised[a] = p.Promised[a]*poolMemory + promised
	p.Killed[a] *= poolMemory
	if killed {
		p.Killed[a]++
	}
}

// Missed tells an honest residual of the model that a young task would follow.
func (p *Pool) Missed(residual float64) {
	p.LogSquares = p.LogSquares*poolMemory + math.Log(residual*residual+1e-4)
	p.Residuals = p.Residuals*poolMemory + 1
}

// span is the deviation of log peaks to expect of a task of which nothing is
// known: the usual one among the others, from the prior until they are many. The
// mean of a log is taken, so that a few wild tasks do not set it for all.
func (p *Pool) span(prior float64) float64 {
	const doubt = 50  // residuals' worth of belief in the prior
	const bias = 1.27 // minus the mean log of a squared standard normal
	log := (doubt*math.Log(prior*prior) + p.LogSquares + bias*p.Residuals) / (doubt + p.Residuals)
	return max(0.1, min(1, math.Exp(log/2)))
}

// mean is the mean cost of a row; 0 before the first.
func (p *Pool) mean() float64 {
	if p.Rows <= 0 {
		return 0
	}
	return p.Cost / p.Rows
}

// factor corrects a nominal promise of a task with told rows: kills to promises at its
// age, shrunk to the ratio over all ages, which is shrunk to one.
func (p *Pool) factor(told int) float64 {
	killed, promised := 0.0, 0.0
	for a := range ages {
		killed, promised = killed+p.Killed[a], promised+p.Promised[a]
	}
	overall := (killed + agePrior) / (promised + agePrior)
	a := age(told)
	return max(0.3, min(4, (p.Killed[a]+agePrior*overall)/(p.Promised[a]+agePrior)))
}
