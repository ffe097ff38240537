package experts

import "math"

// Guard watches first tries whose end is not told yet. Kills are known at once,
// peaks only at the end, and a running try has at least not been killed so far:
// more kills than the open promises allow widen every allocation, before the rows
// themselves can be learned. Told rows leave the count, since the experts have
// learned them: where every end is told at once the guard never acts.
type Guard struct {
	Promised float64 // sum over open tries
	Kills    float64 // of runs that have not ended
}

const (
	guardSlack = 1.0   // kills beyond the promise that chance may bring
	guardRatio = 1.5   // of kills to promises that chance may bring
	guardStep  = 0.1   // log allocation per further kill
	guardMost  = 1.5   // log allocation
	guardFade  = 0.999 // per grant, for tries whose end is never told
)

// Granted counts an open promise.
func (g *Guard) Granted(promised float64) {
	g.Promised, g.Kills = g.Promised*guardFade+promised, g.Kills*guardFade
}

// Killed counts a kill of a first try.
func (g *Guard) Killed() { g.Kills++ }

// Ended takes a run out of the count: what its first try was promised, and whether
// it was killed.
func (g *Guard) Ended(promised float64, killed bool) {
	g.Promised = max(0, g.Promised-promised)
	if killed {
		g.Kills = max(0, g.Kills-1)
	}
}

// Widen is the factor on allocations that is in force.
func (g *Guard) Widen() float64 {
	if over := g.Kills - guardRatio*g.Promised - guardSlack; over > 0 {
		return math.Exp(min(guardMost, over*guardStep))
	}
	return 1
}
