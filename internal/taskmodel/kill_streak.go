package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// If all runs of a task are killed and none is retried, the task never reports a larger peak, so
// models and margins cannot learn that the amounts are too small. Therefore a streak, which is a sequence of killed runs
// without a success, raises the amounts until a run succeeds. Runs with the same features count once, because a known kill
// already raises the amounts of runs with these features. A raised amount is at most streakReach times the largest killed
// allocation, so that the amounts of a leaking task at its cap do not grow with every kill.

const (
	streakChance = 4   // up to this number of successive killed runs may be chance: of runs that start together, the killed ones end first
	streakGrowth = 1.5 // factor on the amounts for each further killed run
	streakReach  = 2   // largest raised amount as a multiple of the largest killed allocation
)

func (m *Model) extendStreak(t *TrainingRow) {
	key := featureKey(&m.Schema, m.cells(t.Features, nil))
	known := func(k knownKill) bool { return k.Run == t.Run || k.Key == key }
	if !slices.ContainsFunc(m.KnownKills, known) {
		m.Unresolved.Streak++
	}
	m.Unresolved.StreakBound = max(m.Unresolved.StreakBound, float64(t.Peak))
}

// excess returns by how much the number of runs in the streak exceeds streakChance. The result is zero while the guard
// raises the amounts, because the guard then reacts to the same kills.
func (u *unresolvedKills) excess(q Question) int {
	if q.GuardFactor > 1 {
		return 0
	}
	return max(0, u.Streak-streakChance)
}

func (u *unresolvedKills) raiseAmount(q Question, amount float64) float64 {
	excess := u.excess(q)
	if excess == 0 {
		return 0
	}
	return max(amount, min(amount*math.Pow(streakGrowth, float64(excess)), streakReach*u.StreakBound))
}

// streakRisk returns P(peak > amount) during a streak, else 0. Up to the largest killed allocation this is a kill rate: the
// number of runs that were killed in spite of a raised amount (excess − 1), divided by the number of runs in the streak
// plus unresolvedPrior assumed successes. For a larger amount the rate is multiplied by the square of the ratio of the
// largest killed allocation to the amount.
func (u *unresolvedKills) streakRisk(q Question, amount float64) float64 {
	excess := float64(u.excess(q))
	if excess == 0 {
		return 0
	}
	ratio := math.Min(1, u.StreakBound/amount)
	return (excess - 1) / (float64(u.Streak) + unresolvedPrior) * ratio * ratio
}

func (u *unresolvedKills) describeStreak() string {
	return fmt.Sprintf("raised because %d runs with different features were OOM-killed, up to %s, and no run has succeeded since",
		u.Streak, sizing.Bytes(u.StreakBound).Approx())
}
