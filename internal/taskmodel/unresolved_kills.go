package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// unresolved holds kills whose run has not succeeded yet: right-censored peaks without a
// residual. A run that is killed up to its cap and abandoned stays here and loses weight as other
// tries end.
type unresolved struct {
	Kills []censoredRun `cbor:",omitempty"` // oldest first
	Tries float64       `cbor:",omitzero"`  // first tries, exponentially discounted
}

// censoredRun is the largest allocation that a run was killed with.
type censoredRun struct {
	_      struct{} `cbor:",toarray"`
	Run    uint64
	Bound  float64
	Weight float64 // exponentially discounted
}

const (
	unresolvedMemory = 1 - 1.0/50 // per first try: a kill counts for about fifty runs
	maxUnresolved    = 64
	// A kill is reported at once, a success when its run ends: only kills older than twenty first
	// tries count.
	unresolvedDelay     = 0.668 // unresolvedMemory^20
	unresolvedPrior     = 10.0  // successful tries assumed before the first
	minUnresolvedWeight = 0.01  // a kill below this weight is forgotten
)

// learn records a try that ended: a kill raises the bound of its run, a success resolves it.
func (u *unresolved) learn(t *TrainingRow) {
	killed := t.Outcome.OOM()
	if !killed && t.Outcome != sizing.Success {
		return
	}
	if t.FirstTry {
		u.fade()
	}
	same := slices.IndexFunc(u.Kills, func(k censoredRun) bool { return k.Run == t.Run })
	switch {
	case killed && same < 0:
		u.Kills = append(u.Kills, censoredRun{Run: t.Run, Bound: float64(t.Peak), Weight: 1})
		if len(u.Kills) > maxUnresolved {
			u.Kills = slices.Delete(u.Kills, 0, 1)
		}
	case killed:
		u.Kills[same].Bound = max(u.Kills[same].Bound, float64(t.Peak))
	case same >= 0:
		u.Kills = slices.Delete(u.Kills, same, same+1)
	}
}

// fade discounts all kills by one first try.
func (u *unresolved) fade() {
	u.Tries = u.Tries*unresolvedMemory + 1
	for i := range u.Kills {
		u.Kills[i].Weight *= unresolvedMemory
	}
	u.Kills = slices.DeleteFunc(u.Kills, func(k censoredRun) bool { return k.Weight < minUnresolvedWeight })
}

// exceedanceProb returns the share of tries that are unresolved kills and need more than amount:
// all of them below their bound, fewer above it by the ladder's power law.
func (u *unresolved) exceedanceProb(amount float64) float64 {
	sum := 0.0
	for _, k := range u.Kills {
		if k.Weight > unresolvedDelay {
			continue
		}
		share := math.Min(1, k.Bound/amount)
		sum += k.Weight * share * share
	}
	return sum / (u.Tries + unresolvedPrior)
}
