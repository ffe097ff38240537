package experts

import "math"

// Guard watches how a task's promises are kept: a one-sided cumulative sum
// (Page 1954) of kills beyond what was promised. Past the slack that chance may
// bring, every further kill widens the allocations, until the sum has drained.
type Guard struct {
	Sum float64
}

const (
	guardSlack = 3.0  // kills beyond the promise that chance may bring
	guardStep  = 0.12 // log allocation per further kill
	guardMost  = 1.5  // log allocation
	guardDrain = 1.5  // faster than the promise, so that chance alone does not fill it
	guardLeast = 0.005
)

// Kept tells how a promise ended.
func (g *Guard) Kept(promised float64, killed bool) {
	g.Sum = max(0, g.Sum-max(guardDrain*promised, guardLeast))
	if killed {
		g.Sum = min(guardSlack+guardMost/guardStep, g.Sum+1)
	}
}

// widen is the factor on allocations that is in force.
func (g *Guard) widen() float64 {
	if over := g.Sum - guardSlack; over > 0 {
		return math.Exp(min(guardMost, over*guardStep))
	}
	return 1
}
