package service

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
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
		if a, ok := s.tries.answered(ask.Try); ok {
			ask.Features = a.features
		}
	}
	if ask.Reason.OOM() {
		if err := s.reportKill(ctx, ask, now); err != nil {
			return sizing.Lift{}, err
		}
	}
	run := s.kills(ctx, ask.Try)
	t := s.tasks.get(ask.Try.TaskKey)
	t.mu.RLock()
	policy := t.policy.WithDefaults()
	q := t.question(&ask.Ask, policy, now)
	q.Above, q.Cap = ask.Failed, t.liftCap(ask, policy, now)
	q.Lifts = max(0, *policy.MaxLifts-max(0, len(run.killed)-1))
	sized := t.model.Size(q)
	t.mu.RUnlock()

	state := sizing.LiftState{
		Failed: ask.Failed, Ceiling: q.Cap, Kills: len(run.killed), MaxLifts: *policy.MaxLifts, Ladder: sized.Ladder,
	}
	if ask.Failed >= q.Cap && ask.Reason.OOM() {
		state.KillsAtCap = s.killsAtCap(ctx, ask.Try.TaskKey, q.Cap)
	}
	lift := state.Decide(ask.Reason)
	lift.PredictionID = newID()
	if lift.Retry {
		s.granted(ask, &lift, sized, policy, now)
	}
	return lift, nil
}

// liftCap is the ceiling of a lift. Where nothing is known to derive it from, four
// times the failed allocation may be tried.
func (t *task) liftCap(ask *sizing.LiftAsk, policy sizing.Policy, now time.Time) sizing.Bytes {
	ceiling := policy.CapFor(ask.MaxMemory, ask.Requested.Memory, t.model.LargestPeak())
	if ceiling == 0 {
		ceiling = ask.Failed.Times(4)
	}
	return lowerCap(ceiling, t.ceilingAt(now))
}

// reportKill stores the kill, provisionally, where none was reported. While the
// database is away the kill is remembered here, so that the DAG need not wait.
func (s *Service) reportKill(ctx context.Context, ask *sizing.LiftAsk, now time.Time) error {
	kill := sizing.Observation{
		Try: ask.Try, Outcome: ask.Reason, Allocated: sizing.Resources{Memory: ask.Failed},
		Requested: ask.Requested, Features: ask.Features, Provisional: true,
	}
	results, err := s.Observe(ctx, []sizing.Observation{kill})
	switch {
	case isKind(err, sizing.Unavailable):
		s.log.Warn("a kill could not be stored; it is lifted from memory", "task", ask.Try.TaskKey.String(), "err", err)
		s.tries.kill(ask.Try, ask.Failed, now)
		return nil
	case err != nil:
		return err
	}
	return results[0].Err
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
func (s *Service) granted(ask *sizing.LiftAsk, lift *sizing.Lift, sized fitting.Sized, policy sizing.Policy, now time.Time) {
	lift.Memory = grantOf(lift.Memory.Limit, policy)
	if policy.Mode != sizing.Enforce && ask.Requested.Memory > 0 {
		shadow := lift.Memory
		lift.Shadow = &shadow
		lift.Memory = sizing.Grant{Request: ask.Requested.Memory, Limit: ask.Requested.Memory}
		lift.Reason = string(policy.Mode) + ": the static request is answered; would have been: " + lift.Reason
	} else {
		s.tries.grant(ask.Try, lift.Memory.Limit)
	}
	next := ask.Ask
	next.Try.Number++
	s.receipts.add(sizing.Receipt{Ask: next, At: now, Allocation: sizing.Allocation{
		PredictionID: lift.PredictionID, Task: ask.Try.TaskKey, Memory: lift.Memory, Shadow: lift.Shadow,
		Ladder: sized.Ladder, Source: sizing.FromLift, Mode: policy.Mode, Reason: lift.Reason, Guard: sized.Guard,
		Risk: sizing.Risk{Target: policy.RiskTarget},
	}})
}
