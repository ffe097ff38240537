package experts

import "math"

// Pool is what the tasks of a service share: the mean cost of a row, and how
// promises made at an age were kept. A task's own share is a Pool too: pools add.
type Pool struct {
	Cost, Rows float64       // forgetting sums
	Promised   [ages]float64 // by age, forgetting sums of nominal promises …
	Killed     [ages]float64 // … and of kills
}

// An age is a power of two of rows told: 1, 2–3, 4–7, …
const (
	ages       = 10
	poolMemory = 1 - 1.0/2000
	agePrior   = 4.0 // kills of belief in the promise as it stands
)

func age(told int) int { return min(ages-1, int(math.Log2(float64(max(told, 1))))) }

// Add joins another share.
func (p *Pool) Add(o *Pool) { p.join(o, 1) }

// Remove takes a share back.
func (p *Pool) Remove(o *Pool) { p.join(o, -1) }

func (p *Pool) join(o *Pool, sign float64) {
	p.Cost, p.Rows = p.Cost+sign*o.Cost, p.Rows+sign*o.Rows
	for a := range ages {
		p.Promised[a] += sign * o.Promised[a]
		p.Killed[a] += sign * o.Killed[a]
	}
}

// Spent tells what a row used, in cost.
func (p *Pool) Spent(cost float64) {
	p.Cost, p.Rows = p.Cost*poolMemory+cost, p.Rows*poolMemory+1
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

// mean is the mean cost of a row; 0 before the first.
func (p *Pool) mean() float64 {
	if p.Rows <= 0 {
		return 0
	}
	return p.Cost / p.Rows
}

// factor corrects a nominal promise of a task with told rows.
func (p *Pool) factor(told int) float64 {
	a := age(told)
	return max(0.3, min(4, (p.Killed[a]+agePrior)/(p.Promised[a]+agePrior)))
}
