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
	gridSteps   = 24
	tailBelief  = 0.3 // in P(peak > a | peak > f) = (f / a)², the power law
	liftsAtMost = 4   // rungs that are worth choosing
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
	x.ExceedAll(p, g.amount[:], g.risk[:], s)
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

// solve fills cost and next as far as a ladder of lifts from the first amount needs
// them: all of the levels below, and of its own the first amount.
func (g *grid) solve(lifts int) {
	const top = gridSteps - 1
	for i := range top {
		g.cost[1][i] = g.amount[top]
	}
	for l := 2; l <= lifts; l++ {
		g.cost[l][top] = 0
	}
	for i := top - 1; i >= 0; i-- {
		levels := lifts - 1
		if i == 0 {
			levels = lifts
		}
		g.choose(i, levels)
	}
}

// choose finds the best next amounts from amount i, for 2 to the given number of
// lifts. Those from higher amounts are known.
func (g *grid) choose(i, levels int) {
	const top = gridSteps - 1
	best, worst := [liftsAtMost + 1]float64{}, math.Inf(1)
	for l := range best {
		best[l] = worst
	}
	// No amount is worth more than itself, so that it ends where even that is dearer.
	for j := i + 1; j <= top && levels > 1 && g.amount[j] < worst; j++ {
		still := 0.0
		if j < top {
			still = g.still(i, j)
		}
		worst = 0
		for l := 2; l <= levels; l++ {
			if cost := g.amount[j] + still*g.cost[l-1][j]; cost < best[l] {
				best[l], g.next[l][i] = cost, uint8(j)
			}
			worst = max(worst, best[l])
		}
	}
	for l := 2; l <= levels; l++ {
		g.cost[l][i] = best[l]
	}
}

// still is P(peak > amount j | peak > amount i).
func (g *grid) still(i, j int) float64 {
	return afterKill(g.risk[i], g.risk[j], g.amount[i]/g.amount[j], tailBelief)
}

// afterKill is P(peak > to | peak > from), given both risks by the margins, from/to, and
// how much the power law is believed.
func afterKill(from, to, share, belief float64) float64 {
	model := 1.0
	if from > 0 {
		model = min(1, to/from)
	}
	law := share * share
	return (1-belief)*model + belief*law
}

// Still is P(peak > to | peak > from) for a row; 1 at from. It believes the power law the
// more, the less the margins expected the kill.
func (x *Experts) Still(p *Point, from, to float64, s *Scratch) float64 {
	if to <= from {
		return 1
	}
	before := x.Exceed(p, from, s)
	return afterKill(before, x.Exceed(p, to, s), from/to, tailBelief*(1-before))
}
