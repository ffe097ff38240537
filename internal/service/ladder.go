package service

import (
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// ladder is what each OOM of a first try would be lifted to, by the model as it is now.
// The model's own ladder ends at the cap of q. A kill may bring another cap: the limit of
// never_above_requested ends with it, the last reported request counts, and a derived cap
// grows with what was killed. Then the lifts are asked for one by one. t.mu is held.
func (t *task) ladder(sized *fitting.Answer, q fitting.Question, ask *sizing.Ask, policy sizing.Policy, now time.Time, least sizing.Bytes, memo *fitting.Memo) []sizing.Bytes {
	if sized.Source == sizing.FromRequested || sized.Limit == 0 {
		return sized.Ladder
	}
	same := true
	for i, rung := range sized.Ladder {
		if i == 0 || i < len(sized.Ladder)-1 {
			same = same && t.question(ask, policy, rung, now, least).Cap == q.Cap
		}
	}
	if same {
		return sized.Ladder
	}
	rungs := []sizing.Bytes{sized.Limit} // the memo shares the other one
	for kills := 1; kills <= *policy.MaxLifts; kills++ {
		failed := rungs[len(rungs)-1]
		next := t.question(ask, policy, failed, now, least)
		next.Lifts = *policy.MaxLifts - (kills - 1)
		state := sizing.LiftState{Failed: failed, Ceiling: next.Cap, Kills: kills, MaxLifts: *policy.MaxLifts, Ladder: memo.Size(t.model, next).Ladder}
		lift := state.Decide(sizing.OOMKilled)
		if !lift.Retry {
			break
		}
		rungs = append(rungs, lift.Memory.Limit)
	}
	return rungs
}
