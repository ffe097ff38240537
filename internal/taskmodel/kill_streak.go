package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// If all runs of a task are killed and none is retried, the task never reports a larger peak, so
// neither models nor margins learn that the amounts are too small. Therefore a streak, which is a
// sequence of killed runs without a success, raises the amounts until a run succeeds. Runs with the same
// features count once, because a known kill raises the amounts of runs with these features. A multiple
// of the largest killed allocation bounds the raised amounts, so that a leak at its cap does not raise
// them with every kill.

const (
	streakChance = 4   // killed runs in a row that may be chance: of runs that start together, the killed ones end first
	streakGrowth = 1.5 // factor on amounts per further killed run
	streakReach  = 2   // largest raised amount as a multiple of the largest killed allocation
)

// extendStreak adds a kill to the streak. It counts a run, unless a known kill is of the same run or has the same features.
func (m *Model) extendStreak(t *TrainingRow) {
	key := featureKey(&m.Schema, m.cells(t.Features, nil))
	known := func(k knownKill) bool { return k.Run == t.Run || k.Key == key }
	if !slices.ContainsFunc(m.KnownKills, known) {
		m.Unresolved.Streak++
	}
	m.Unresolved.StreakBound = max(m.Unresolved.StreakBound, float64(t.Peak))
}

// excess returns the number of runs in the streak beyond streakChance. It is zero while the guard raises
// the amounts, because then the guard decides.
func (u *unresolvedKills) excess(q Question) int {
	if q.GuardFactor > 1 {
		return 0
	}
	return max(0, u.Streak-streakChance)
}

// raiseAmount returns an amount in bytes, raised by a streak of kills; 0 if excess is zero.
func (u *unresolvedKills) raiseAmount(q Question, amount float64) float64 {
	excess := u.excess(q)
	if excess == 0 {
		return 0
	}
	return max(amount, min(amount*math.Pow(streakGrowth, float64(excess)), streakReach*u.StreakBound))
}

// streakRisk returns P(peak > amount) during a streak, else 0. Up to the largest killed allocation it is
// the share of the runs that were killed in spite of a raised amount (excess−1) among the streak and
// unresolvedPrior assumed successes. Above this allocation it decreases by the square of the ratio.
func (u *unresolvedKills) streakRisk(q Question, amount float64) float64 {
	excess := float64(u.excess(q))
	if excess == 0 {
		return 0
	}
	ratio := math.Min(1, u.StreakBound/amount)
	return (excess - 1) / (float64(u.Streak) + unresolvedPrior) * ratio * ratio
}

// describeStreak describes the streak for a reason.
func (u *unresolvedKills) describeStreak() string {
	return fmt.Sprintf("raised because %d runs with different features were OOM-killed, up to %s, and no run has succeeded since",
		u.Streak, sizing.Bytes(u.StreakBound).Approx())
}
