package service

import (
	"context"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Lift answers after a kill: the next rung, or a verdict that more memory would
// not help. Asking counts as a provisional report of the kill. It answers from
// memory while the database is away.
func (s *Service) Lift(ctx context.Context, ask *sizing.LiftAsk) (sizing.Lift, error) {
	if bad := ask.Validate(); len(bad) > 0 {
		return sizing.Lift{}, invalid(bad)
	}
	now := s.cfg.Now()
	if ask.Features == nil {
		ask.Features = s.tries.Features(&ask.Try)
	}
	s.tries.Request(&ask.Try).FillIn(&ask.Ask)
	if ask.Reason.OOM() {
		s.recall(ctx, &ask.Ask)
		if err := s.reportKill(ctx, ask, now); err != nil {
			return sizing.Lift{}, err
		}
	}
	run := s.kills(ctx, ask.Try)
	t := s.opened(ctx, ask.Try.TaskKey)
	if t == nil {
		t = s.unknown
	}
	t.lockToAsk()
	policy := t.policy.WithDefaults()
	q := t.question(&ask.Ask, policy, max(ask.Failed, run.HighestKill()), now, s.cfg.MinMemory)
	q.Lifts = max(0, *policy.MaxLifts-max(0, len(run.Killed)-1))
	sized, static := t.model.Size(q), t.static(&ask.Ask)
	t.mu.RUnlock()

	state := sizing.LiftState{
		Failed: q.Above, Ceiling: q.Cap, CeilingBy: q.CapBy.Remedy(), Kills: len(run.Killed), MaxLifts: *policy.MaxLifts, Ladder: sized.Ladder,
	}
	if q.Above >= q.Cap && ask.Reason.OOM() {
		state.KillsAtCap = s.killsAtCap(ctx, ask.Try.TaskKey, q.Cap)
	}
	lift := state.Decide(ask.Reason)
	if ask.Reason.OOM() && policy.Mode != sizing.Enforce && static.Memory > 0 {
		retryAsRequested(&lift, state)
	}
	if lift.Retry {
		lift.PredictionID = newID()
		s.granted(ask, &lift, sized, policy, static, now)
		if next := ask.Try; lift.Shadow == nil {
			next.Number++
			t.open.AddRetry(&next)
		}
	}
	return lift, nil
}

// retryAsRequested turns a refusal at the cap into a retry while attempts are left: in
// shadow and off mode the cap does not bind, since the static request is answered. What
// would have been granted stays the cap.
func retryAsRequested(lift *sizing.Lift, state sizing.LiftState) {
	atCap := lift.Verdict == sizing.VerdictAtCap || lift.Verdict == sizing.VerdictLeakSuspected
	switch {
	case !atCap:
		return
	case state.Kills > state.MaxLifts:
		lift.Verdict = sizing.VerdictExhausted
		lift.Reason = fmt.Sprintf("killed %d times, and the policy allows %d lifts", state.Kills, state.MaxLifts)
		return
	}
	lift.Reason = string(lift.Verdict) + ": " + lift.Reason
	lift.Retry, lift.Verdict = true, sizing.VerdictLift
	lift.Memory = sizing.Grant{Request: state.Ceiling, Limit: state.Ceiling}
}

// reportAtMost bounds how long a lift waits for its kill to be stored.
const reportAtMost = 2 * time.Second

// reportKill stores the kill, provisionally, where none was reported. While the
// database is away the kill is remembered here, so that the DAG need not wait.
func (s *Service) reportKill(ctx context.Context, ask *sizing.LiftAsk, now time.Time) error {
	kill := sizing.Observation{
		Try: ask.Try, Outcome: ask.Reason, Allocated: sizing.Resources{Memory: ask.Failed},
		Requested: ask.Requested, Features: ask.Features, Provisional: true,
	}
	ctx, cancel := context.WithTimeout(ctx, reportAtMost)
	defer cancel()
	results, err := s.Observe(ctx, []sizing.Observation{kill})
	switch {
	case isKind(err, sizing.Unavailable):
		s.log.Warn("a kill could not be stored; it is lifted from memory", "task", ask.Try.TaskKey.String(), "err", err)
	case err != nil:
		return err
	case results[0].Err != nil:
		return results[0].Err
	}
	// Known for certain, even where another replica was told of it first.
	s.tries.AddKill(&ask.Try, ask.Failed, ask.Features, inflight.RequestOf(&ask.Ask), now)
	return nil
}

func (s *Service) killsAtCap(ctx context.Context, task sizing.TaskKey, ceiling sizing.Bytes) int {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.LaterTryRead)
	defer cancel()
	n, err := s.store.KillsAtCap(ctx, task, ceiling)
	if err != nil {
		return 1 // this one is certain
	}
	return n
}

// granted keeps a lift as the answer for the next try. In shadow and off mode the
// static request is answered instead, as it is before a launch.
func (s *Service) granted(ask *sizing.LiftAsk, lift *sizing.Lift, sized fitting.Answer, policy sizing.Policy, static sizing.Resources, now time.Time) {
	lift.Memory = grantOf(lift.Memory.Limit, policy)
	if policy.Mode != sizing.Enforce && static.Memory > 0 {
		shadow := lift.Memory
		lift.Shadow = &shadow
		lift.Memory = sizing.Grant{Request: static.Memory, Limit: static.Memory}
		lift.Reason = string(policy.Mode) + ": the static request is answered; would have been: " + lift.Reason
	} else {
		s.tries.SetLift(&ask.Try, lift.Memory.Limit)
	}
	next := ask.Ask
	next.Try.Number++
	s.outbox.Add(sizing.Receipt{Ask: next, At: now, Allocation: sizing.Allocation{
		PredictionID: lift.PredictionID, Task: ask.Try.TaskKey, Memory: lift.Memory, Shadow: lift.Shadow,
		Ladder: sized.Ladder, Source: sizing.FromLift, Mode: policy.Mode, Reason: lift.Reason, Guard: sized.Guard,
		Risk: sizing.Risk{Target: policy.RiskTarget},
	}})
}
