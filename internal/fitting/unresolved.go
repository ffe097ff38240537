package fitting

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// unresolved are kills whose run has not succeeded yet: right-censored peaks that no
// residual shows. A run that is killed up to its cap and given up stays in here, and fades
// as other tries end.
type unresolved struct {
	Kills []censored `cbor:",omitempty"` // oldest first
	Tries float64    `cbor:",omitzero"`  // first tries, forgetting
}

// censored is the largest allocation that a run was killed with.
type censored struct {
	Bound  float64
	Weight float64 // of the run's first try, forgetting
}

const (
	unresolvedMemory = 1 - 1.0/50 // per first try: a bad day counts for some fifty runs
	unresolvedAtMost = 64
	unresolvedPrior  = 10.0 // tries that held, before the first
	unresolvedLeast  = 0.01 // weight of a kill that is forgotten
)

// learn takes in a try that ended. Tries carry no run: a later kill raises the newest kill
// below it, and a success on a later try resolves the newest kill below its peak.
func (u *unresolved) learn(t *Told) {
	killed := t.Outcome.OOM()
	if !killed && t.Outcome != sizing.Success {
		return
	}
	if t.FirstTry {
		u.fade()
	}
	switch below := u.newestBelow(float64(t.Peak)); {
	case killed && t.FirstTry:
		u.Kills = append(u.Kills, censored{Bound: float64(t.Peak), Weight: 1})
		if len(u.Kills) > unresolvedAtMost {
			u.Kills = slices.Delete(u.Kills, 0, 1)
		}
	case t.FirstTry || below < 0:
	case killed:
		u.Kills[below].Bound = float64(t.Peak)
	default:
		u.Kills = slices.Delete(u.Kills, below, below+1)
	}
}

// fade counts a first try.
func (u *unresolved) fade() {
	u.Tries = u.Tries*unresolvedMemory + 1
	for i := range u.Kills {
		u.Kills[i].Weight *= unresolvedMemory
	}
	u.Kills = slices.DeleteFunc(u.Kills, func(k censored) bool { return k.Weight < unresolvedLeast })
}

// newestBelow is the newest kill of at most a bound; −1 without one.
func (u *unresolved) newestBelow(bound float64) int {
	for i := len(u.Kills) - 1; i >= 0; i-- {
		if u.Kills[i].Bound <= bound {
			return i
		}
	}
	return -1
}

// exceed is the share of tries that are unresolved kills and need more than an amount:
// below its bound each does, above it by the power law of the ladder.
func (u *unresolved) exceed(amount float64) float64 {
	sum := 0.0
	for _, k := range u.Kills {
		share := math.Min(1, k.Bound/amount)
		sum += k.Weight * share * share
	}
	return sum / (u.Tries + unresolvedPrior)
}
