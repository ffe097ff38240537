package experts

import "math"

// After a kill the question is the same, given that the peak is above what was
// killed: which rungs cost least, when every attempt counts whole, a few lifts are
// allowed, and the last of them jumps to the cap? A kill is also evidence against
// the margins that led to it, so that a part of the belief is in a power law.
//
//	V(0 lifts, f) = cap
//	V(l lifts, f) = min over a > f of  a + P(peak > a | peak > f) · V(l−1, a)
const (
	gridSteps    = 24
	tailExponent = 2.0 // P(peak > a | peak > f) = (f / a)² by the power law
	tailBelief   = 0.3 // in it
	liftsAtMost  = 4   // rungs that are worth choosing
)

// grid holds amounts from the killed one to the cap, in equal steps of the log.
type grid struct {
	amount, risk [gridSteps]float64
	cost         [liftsAtMost + 1][gridSteps]float64
	next         [liftsAtMost + 1][gridSteps]uint8
}

// Ladder appends the rungs that follow an attempt of from, killed: lifts of them,
// of which the last is the cap. It appends nothing where from is at the cap.
func (x *Experts) Ladder(p *Point, from, ceiling float64, lifts int, s *Scratch, rungs []float64) []float64 {
	if from >= ceiling || lifts < 1 {
		return rungs
	}
	g := &s.grid
	least := min(from*x.config.MinStep, ceiling)
	g.amount[0] = from
	for i := 1; i < gridSteps; i++ {
		g.amount[i] = least * math.Pow(ceiling/least, float64(i-1)/float64(gridSteps-2))
	}
	x.exceedAll(p, g.amount[:], g.risk[:], s)
	lifts = min(lifts, liftsAtMost)
	g.solve(lifts)
	at := 0
	for l := lifts; l > 1 && at < gridSteps-1; l-- {
		at = int(g.next[l][at])
		rungs = append(rungs, g.amount[at])
	}
	if at < gridSteps-1 {
		rungs = append(rungs, ceiling)
	}
	return rungs
}

// solve fills cost and next, lift by lift.
func (g *grid) solve(lifts int) {
	const top = gridSteps - 1
	for i := range top {
		g.cost[1][i] = g.amount[top]
	}
	for l := 2; l <= lifts; l++ {
		g.cost[l][top] = 0
		for i := range top {
			best := math.Inf(1)
			for j := i + 1; j <= top; j++ {
				cost := g.amount[j]
				if j < top {
					cost += g.still(i, j) * g.cost[l-1][j]
				}
				if cost < best {
					best, g.next[l][i] = cost, uint8(j)
				}
			}
			g.cost[l][i] = best
		}
	}
}

// still is P(peak > amount j | peak > amount i).
func (g *grid) still(i, j int) float64 {
	model := 1.0
	if g.risk[i] > 0 {
		model = min(1, g.risk[j]/g.risk[i])
	}
	law := math.Pow(g.amount[i]/g.amount[j], tailExponent)
	return (1-tailBelief)*model + tailBelief*law
}
