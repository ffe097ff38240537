package service

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// ladder returns the limits of a first try and of the lift after each of its OOM kills. The model's ladder ends at the cap of
// `q`. ladder computes each lift itself if the task has no history, or if a kill changes the cap. A kill changes the cap in
// four cases: never_above_requested of the policy no longer applies; the last reported request replaces a missing one; the
// derived cap rises (derivedCap: the cap if neither the policy nor the caller sets one); the schedulable ceiling changes.
func (c *allocator) ladder(sized *taskmodel.Answer, q *taskmodel.Question, ask *sizing.Ask) []sizing.Bytes {
	if sized.Limit == 0 || sized.Source == sizing.FromRequested && !c.isDecoded() {
		return sized.Ladder
	}
	maxLifts := *c.policy.MaxLifts
	isSameCap := !c.hasNoHistory()
	for i, rung := range sized.Ladder[:min(len(sized.Ladder), maxLifts)] { // after the other rungs no lift is left
		isSameCap = isSameCap && c.question(ask, rung, i+1).Cap == q.Cap
	}
	if isSameCap {
		return sized.Ladder
	}
	rungs := []sizing.Bytes{sized.Limit} // a new slice: the memo shares sized.Ladder
	for kills := 1; kills <= maxLifts; kills++ {
		failed := rungs[len(rungs)-1]
		next := c.question(ask, failed, kills)
		c.ignoreRequest(ask, &next)
		state := sizing.LiftState{Failed: failed, Ceiling: next.Cap, Kills: kills, MaxLifts: maxLifts, Ladder: c.memo.Size(c.model, next).Ladder}
		lift := state.Decide(sizing.OOMKilled)
		if !lift.Retry {
			break
		}
		rungs = append(rungs, lift.Memory.Limit)
	}
	return rungs
}

// repeatLift turns `sized` into the answer to a later try: the lift of /retry-lift, but at most hardCap (see
// allocator.hardCap). repeatLift computes a new lift if this replica knows no lift, or if the bounded lift is at or below a
// killed allocation of the run or of runs with the same features, for example because hardCap fell after the lift.
func (c *allocator) repeatLift(sized *taskmodel.Answer, q *taskmodel.Question, run *inflight.Run, hardCap sizing.Bytes) {
	sized.Source = sizing.FromLift
	limit := run.LiftedTo
	if hardCap > 0 {
		limit = min(limit, hardCap)
	}
	least := sizing.LeastLift(q.Above, run.Static)
	if limit <= max(q.Above, sized.TooLittle) {
		state := sizing.LiftState{
			Failed: q.Above, Ceiling: q.Cap, Kills: len(run.Killed), MaxLifts: *c.policy.MaxLifts, Ladder: sized.Ladder, Least: least,
		}
		// Airflow retries even if the service has denied a lift. Such a try gets the amount of the model
		// within the cap, but at least the largest killed allocation of its run, or hardCap if hardCap is lower.
		limit = max(state.Decide(sizing.OOMKilled).Memory.Limit, min(max(sized.Limit, least), q.Cap), minCap(hardCap, q.Above))
	}
	if limit != sized.Limit {
		sized.Limit = limit
		sized.Promised = c.model.Risk(*q, limit)
		ladder := []sizing.Bytes{limit} // a new slice: the memo shares sized.Ladder
		for _, rung := range sized.Ladder {
			if rung > limit {
				ladder = append(ladder, rung)
			}
		}
		sized.Ladder = ladder
		sized.Reason = liftReason(limit, q, run)
	}
	sized.Reason = fmt.Sprintf("an earlier try was OOM-killed at %s, so the peak is above it; %s",
		q.Above.Approx(), sized.Reason)
}

func liftReason(limit sizing.Bytes, q *taskmodel.Question, run *inflight.Run) string {
	switch {
	case limit == run.LiftedTo:
		return limit.Approx() + ": the amount of its lift"
	case limit >= q.Cap || limit <= q.Above:
		return fmt.Sprintf("%s: the cap is %s, %s", limit.Approx(), q.Cap.Approx(), q.CapBy.Remedy())
	}
	if limit == sizing.LeastLift(q.Above, run.Static) {
		return limit.Approx() + ": at least the static grant, because a planned limit below it was too small"
	}
	return limit.Approx() + ": the next rung"
}
