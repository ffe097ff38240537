package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// unresolvedKills holds the killed runs that have not succeeded yet: right-censored peaks without a
// residual. A run that is killed at its cap and not retried stays in the list and loses weight with
// each first try that succeeds or is killed. A run whose kills were all expected, such as a run that is predicted above
// its cap, is not in the list: such a kill is no evidence against the margins of other runs.
type unresolvedKills struct {
	Kills []censoredRun `cbor:",omitempty"` // oldest first
	Tries float64       `cbor:",omitzero"`  // exponentially discounted number of first tries that succeeded or were killed
	// Settled has TrainingRow.Run of each run in Kills whose newest kill was earlier than settledBefore at the last training. A
	// retry after this kill has probably ended.
	Settled []uint64 `cbor:",omitempty"`

	Streak      int     `cbor:",omitzero"` // number of killed runs with different features since the last success
	StreakBound float64 `cbor:",omitzero"` // largest killed allocation since the last success, in bytes
}

type censoredRun struct {
	_      struct{} `cbor:",toarray"`
	Run    uint64   // sizing.RunHash
	Bound  float64  // largest killed allocation, in bytes
	Weight float64  // discounted with every first try
}

const (
	unresolvedMemory = 1 - 1.0/50 // factor on the weight of a kill at each first try: the weight falls to 1/e after about fifty first tries
	maxUnresolved    = 64         // largest number of stored runs
	// unresolvedDelay is unresolvedMemory^20, the weight of a kill after twenty first tries. Newer
	// kills do not count yet, because a kill is reported earlier than the success of a run that started at the
	// same time.
	unresolvedDelay     = 0.668
	newTries            = (1 - unresolvedDelay) / (1 - unresolvedMemory) // discounted number of the newest twenty first tries, whose kills do not count yet
	unresolvedPrior     = 10.0                                           // number of successes that are assumed in addition to the counted tries; with more, the first kills raise promises less
	minUnresolvedWeight = 0.01                                           // a run with a smaller weight is dropped
)

// learn records a try that ended. A kill that was expected adds no run.
func (u *unresolvedKills) learn(t *TrainingRow, isExpected bool) {
	killed := t.Outcome.OOM()
	if !killed && t.Outcome != sizing.Success {
		return
	}
	if t.FirstTry {
		u.discount()
	}
	if !killed {
		u.Streak, u.StreakBound = 0, 0
	}
	same := slices.IndexFunc(u.Kills, func(k censoredRun) bool { return k.Run == t.Run })
	switch {
	case killed && same < 0 && isExpected:
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

// bound returns the largest killed allocation of an unresolved run in bytes; zero if the run is not in the list.
func (u *unresolvedKills) bound(run uint64) float64 {
	for i := range u.Kills {
		if u.Kills[i].Run == run {
			return u.Kills[i].Bound
		}
	}
	return 0
}

func (u *unresolvedKills) discount() {
	u.Tries = u.Tries*unresolvedMemory + 1
	for i := range u.Kills {
		u.Kills[i].Weight *= unresolvedMemory
	}
	u.Kills = slices.DeleteFunc(u.Kills, func(k censoredRun) bool { return k.Weight < minUnresolvedWeight })
}

// exceedanceProb returns the share of the tries whose run is unresolved and needs more than `amount` bytes. For an amount
// above its bound, a run counts less, by the square of bound / amount. The weights of settled runs are divided by the number
// of tries without the newest ones, whose kills do not count yet. The weights of the other runs are divided by the number of
// all tries, which gives less, because some of these runs will succeed.
func (u *unresolvedKills) exceedanceProb(amount float64) float64 {
	settled, others := 0.0, 0.0
	for _, k := range u.Kills {
		if k.Weight > unresolvedDelay {
			continue
		}
		ratio := math.Min(1, k.Bound/amount)
		if slices.Contains(u.Settled, k.Run) {
			settled += k.Weight * ratio * ratio
		} else {
			others += k.Weight * ratio * ratio
		}
	}
	return settled/(max(0, u.Tries-newTries)+unresolvedPrior) + others/(u.Tries+unresolvedPrior)
}

// settle sets Settled to the runs whose kills in the history h are earlier than settledBefore.
func (u *unresolvedKills) settle(h *sizing.History) {
	u.Settled = nil
	if len(u.Kills) == 0 {
		return
	}
	before := settledBefore(h)
	newest := map[uint64]bool{} // by run: its newest kill is settled
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Outcome.OOM() {
			newest[sizing.RunHash(r.RunID, r.MapIndex)] = r.At.Before(before)
		}
	}
	for _, k := range u.Kills {
		if newest[k.Run] {
			u.Settled = append(u.Settled, k.Run)
		}
	}
}

func (m *Model) expectedKill(t *TrainingRow) bool {
	if m.Models == nil {
		return false
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	q := Question{Features: t.Features, RiskTarget: sizing.DefaultRiskTarget, RunScore: t.RunScore}
	m.predictQuestion(&q, &p, b)
	return !b.extrapolation.noRisk && m.isExpected(&p, t.Peak, b)
}

// isExpected reports whether a kill at an amount was more likely than not. Such a kill is no evidence against the margins.
func (m *Model) isExpected(p *experts.Point, killed sizing.Bytes, b *buffers) bool {
	return m.exceedanceProb(p, float64(killed)/m.Understatement.factor(), b) > 0.5
}
