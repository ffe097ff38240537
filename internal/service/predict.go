package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Predict answers an Ask from memory. The first question of a task may have to open
// its model, within Config.OpenWait; a later try may do one bounded read, to learn of a
// kill that was reported to another replica. NotFound where nothing is known and
// nothing was requested; Unavailable where the model is not open yet and nothing was.
func (s *Service) Predict(ctx context.Context, ask *sizing.Ask) (*sizing.Allocation, error) {
	if bad := ask.Validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	now := s.cfg.Now()
	run := s.killsBefore(ctx, ask)
	a := &sizing.Allocation{PredictionID: newID(), Task: ask.Try.TaskKey, Mode: sizing.Enforce}
	t := s.opened(ctx, ask.Try.TaskKey)
	if t == nil {
		t = s.unknown
	}
	t.lockToAsk()
	t.size(ask, a, run, now, s.cfg.MinMemory, &s.memo)
	closed := t.latent.Load() != nil
	t.mu.RUnlock()
	if a.Memory.Limit == 0 && closed {
		return nil, sizing.Errorf(sizing.Unavailable, "the model of task %s is not open yet: ask again, or send requested.memory", ask.Try.TaskKey)
	}
	if closed {
		a.Reason = "the model of this task is not open yet; " + a.Reason
	}
	if a.Memory.Limit == 0 {
		return nil, sizing.Errorf(sizing.NotFound,
			"nothing is known of task %s: send requested.memory, or report runs by /observe first", ask.Try.TaskKey)
	}
	switch first := s.remember(ask, a, now); {
	case first && ask.Try.Number == 1 && a.Risk.Promised != nil:
		t.open.AddGrant(&ask.Try, fitting.BeforeGuard(*a.Risk.Promised, a.Guard), now)
	case ask.Try.Number > 1 && a.Source == sizing.FromLift:
		t.open.AddRetry(&ask.Try)
	}
	return a, nil
}

// killsBefore is what is known of the kills of an ask's run, and fills in what a later try
// leaves open. A first try that is asked again goes by the memory of this replica alone.
func (s *Service) killsBefore(ctx context.Context, ask *sizing.Ask) inflight.Run {
	switch {
	case ask.Try.RunID == "":
		return inflight.Run{}
	case ask.Try.Number <= 1:
		return s.tries.KilledRun(&ask.Try)
	}
	run := s.kills(ctx, ask.Try)
	run.Request.FillIn(ask)
	if len(run.Killed) > 0 {
		s.recall(ctx, ask)
	}
	return run
}

// newID is a time-ordered id: receipts are stored and indexed in that order.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no source of randomness left
	}
	return id.String()
}

// remember keeps the answer: in memory until the try ends, and as a receipt. It
// reports whether it is the first to a try.
func (s *Service) remember(ask *sizing.Ask, a *sizing.Allocation, now time.Time) (first bool) {
	if ask.Try.RunID != "" {
		first = s.tries.Add(&ask.Try, &inflight.Answer{Limit: a.Memory.Limit, Promised: a.Risk.Promised, Request: inflight.RequestOf(ask)}, ask.Features)
	}
	s.outbox.Add(sizing.Receipt{Ask: *ask, Allocation: *a, At: now})
	return first
}

// kills is what is known of the kills of a run: in memory, and by one bounded
// read. A read that fails or is late changes nothing.
func (s *Service) kills(ctx context.Context, try sizing.TryKey) inflight.Run {
	run := s.tries.Run(&try)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.LaterTryRead)
	defer cancel()
	kills, err := s.store.Kills(ctx, try.TaskKey, try.RunID, try.MapIndex)
	if err != nil {
		return run
	}
	for _, k := range kills {
		run.Killed[k.Try] = max(run.Killed[k.Try], k.Allocated)
	}
	return run
}

// recall fills in what an ask after a kill leaves open, and this replica was not told,
// from stored receipts and reports, by one bounded read. A read that fails or is late
// changes nothing.
func (s *Service) recall(ctx context.Context, ask *sizing.Ask) {
	if ask.Requested.Memory > 0 && ask.Requested.CPU > 0 && ask.MaxMemory > 0 && ask.Features != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.LaterTryRead)
	defer cancel()
	said, err := s.store.RunInputs(ctx, ask.Try)
	if err != nil {
		return
	}
	inflight.Request{Resources: said.Requested, MaxMemory: said.MaxMemory}.FillIn(ask)
	if ask.Features == nil {
		ask.Features = said.Features
	}
}

// size fills a with what t knows. t.mu is held for reading.
func (t *task) size(ask *sizing.Ask, a *sizing.Allocation, run inflight.Run, now time.Time, least sizing.Bytes, memo *fitting.Memo) {
	policy := t.policy.WithDefaults()
	a.Mode, a.Risk.Target = policy.Mode, policy.RiskTarget
	q := t.question(ask, policy, run.HighestKill(), now, least)
	q.Lifts = max(0, *policy.MaxLifts-max(0, len(run.Killed)-1))
	sized := memo.Size(t.model, q)
	if q.Above > 0 {
		t.lift(&sized, q, run, policy, t.hardCap(ask, policy, q.Above, now))
	} else {
		sized.Ladder = t.ladder(&sized, q, ask, policy, now, least, memo)
	}
	a.Memory = grantBy(sized.Source, sized.Limit, policy)
	a.Ladder, a.Bins, a.Duration = sized.Ladder, sized.Bins, sized.Duration
	a.Source, a.Reason, a.Guard = sized.Source, sized.Reason, sized.Guard
	a.Risk.Promised = sized.Promised
	a.CPU = sized.CPU
	if policy.CPUUnmanaged || a.CPU == 0 {
		a.CPU = ask.Requested.CPU
	}
	a.Model = t.ref.Load()
	if policy.Mode != sizing.Enforce {
		withhold(a, t.static(ask), policy.Mode)
	}
}

// static is the request of the DAG: as it was asked with, else as it was last
// reported.
func (t *task) static(ask *sizing.Ask) sizing.Resources {
	return sizing.Resources{
		Memory: cmp.Or(ask.Requested.Memory, t.model.Requested.Memory), CPU: cmp.Or(ask.Requested.CPU, t.model.Requested.CPU),
	}
}

// question joins the ask with the policy and the brakes in force. After a kill, an ask
// without a request counts as one with the request that was last reported of the task.
func (t *task) question(ask *sizing.Ask, policy sizing.Policy, above sizing.Bytes, now time.Time, least sizing.Bytes) fitting.Question {
	q := fitting.Question{
		Features: ask.Features, Requested: ask.Requested, RiskTarget: policy.RiskTarget, Above: above,
		Floor: policy.Floor, Least: least,
	}
	q.Widen, q.Open = t.open.Widen(now)
	if above > 0 {
		q.Requested = t.static(ask)
	}
	q.Cap = policy.CapFor(ask.MaxMemory, q.Requested.Memory, t.model.LargestPeak())
	switch {
	case ask.MaxMemory > 0 && q.Cap == ask.MaxMemory:
		q.CapBy = fitting.CapCaller
	case policy.Cap > 0:
		q.CapBy = fitting.CapPolicy
	default:
		q.Cap, q.CapBy = t.derivedCap(&q)
	}
	if policy.NeverAbove && above == 0 && ask.Requested.Memory > 0 {
		lower(&q, ask.Requested.Memory, fitting.CapRequest)
	}
	lower(&q, t.ceilingAt(now, policy.Floor, above), fitting.CapUnschedulable)
	if policy.Grid == sizing.OnBins {
		if q.Edges = policy.Edges; len(q.Edges) == 0 {
			q.Edges = t.model.Bins
		}
	}
	return q
}

// derivedCap is the cap where nobody set one. It is four times the request or the largest
// peak, and it must not undo the floor or the minimum grant, nor stop a trend that is known.
// A kill raises it once, to four times what was killed and at most four times as much: a
// leak must not raise it without bound. Where nothing is known to derive a cap from, four
// times what this run was killed with may be tried; zero without a kill.
func (t *task) derivedCap(q *fitting.Question) (sizing.Bytes, fitting.CapRule) {
	if q.Cap == 0 {
		return max(q.Above, q.Least, q.Floor).Times(4), fitting.CapKill
	}
	limit, by := max(q.Cap, q.Least.Times(4), t.model.Extrapolated(q.Features).Times(4)), fitting.CapDerived
	if floor := q.Floor.Times(4); floor > limit {
		limit, by = floor, fitting.CapFloor
	}
	killed := max(t.model.LargestKilled(), q.Above)
	if raised := min(killed.Times(4), limit.Times(4)); raised > limit {
		limit, by = raised, fitting.CapKill
	}
	return limit, by
}

// hardCap is the cap that somebody set, or that the nodes did; zero if none.
func (t *task) hardCap(ask *sizing.Ask, policy sizing.Policy, above sizing.Bytes, now time.Time) sizing.Bytes {
	return lowerCap(lowerCap(policy.Cap, ask.MaxMemory), t.ceilingAt(now, policy.Floor, above))
}

// lower takes a lower cap over, by the rule that set it.
func lower(q *fitting.Question, limit sizing.Bytes, by fitting.CapRule) {
	if lowered := lowerCap(q.Cap, limit); lowered != q.Cap {
		q.Cap, q.CapBy = lowered, by
	}
}

// lowerCap is the smaller of two caps, of which zero means none.
func lowerCap(a, b sizing.Bytes) sizing.Bytes {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// lift turns an answer into that of a later try: what /retry-lift said, unless a
// lower cap was set or a run with the same features was killed there since, else the same
// arithmetic on the same kills.
func (t *task) lift(sized *fitting.Answer, q fitting.Question, run inflight.Run, policy sizing.Policy, hardCap sizing.Bytes) {
	sized.Source = sizing.FromLift
	limit := run.LiftedTo
	if hardCap > 0 {
		limit = min(limit, hardCap)
	}
	if limit <= max(q.Above, sized.TooLittle) {
		state := sizing.LiftState{
			Failed: q.Above, Ceiling: q.Cap, Kills: len(run.Killed), MaxLifts: *policy.MaxLifts, Ladder: sized.Ladder,
		}
		// Airflow retries whether or not a lift was advised: at the cap it gets the cap.
		// A cap that was only derived takes nothing away from what was killed.
		limit = max(state.Decide(sizing.OOMKilled).Memory.Limit, min(sized.Limit, q.Cap), lowerCap(hardCap, q.Above))
	}
	if limit != sized.Limit {
		sized.Limit = limit
		sized.Promised = t.model.Risk(q, limit)
		ladder := []sizing.Bytes{limit} // the memo shares the other one
		for _, rung := range sized.Ladder {
			if rung > limit {
				ladder = append(ladder, rung)
			}
		}
		sized.Ladder = ladder
		sized.Reason = granted(limit, q, run)
	}
	sized.Reason = fmt.Sprintf("an earlier try was OOM-killed at %s, so the peak is above it; %s",
		q.Above.Approx(), sized.Reason)
}

// granted says why a later try gets another amount than the model's.
func granted(limit sizing.Bytes, q fitting.Question, run inflight.Run) string {
	switch {
	case limit == run.LiftedTo:
		return limit.Approx() + ": what the lift granted"
	case limit >= q.Cap || limit <= q.Above:
		return fmt.Sprintf("%s: the cap is %s, %s", limit.Approx(), q.Cap.Approx(), q.CapBy.Remedy())
	}
	return limit.Approx() + ": the next rung"
}

// withhold answers the static request, and keeps what was decided as the shadow. A
// request that is not known is no answer: nothing must be applied unasked.
func withhold(a *sizing.Allocation, requested sizing.Resources, mode sizing.Mode) {
	if mode == sizing.Shadow {
		shadow := a.Memory
		a.Shadow = &shadow
		a.Reason = "shadow: the static request is answered; what would have been granted: " + a.Reason
	} else {
		a.Bins, a.Ladder, a.Duration = nil, nil, nil
		a.Reason = "off: the policy of this task leaves the static request as it is"
	}
	a.Source, a.Risk.Promised = sizing.FromRequested, nil
	a.Memory = sizing.Grant{Request: requested.Memory, Limit: requested.Memory}
	a.CPU = requested.CPU
}

// grantOf splits a limit by the policy's ratio. The floor bounds the request too.
func grantOf(limit sizing.Bytes, policy sizing.Policy) sizing.Grant {
	if policy.LimitRatio <= 1 {
		return sizing.Grant{Request: limit, Limit: limit}
	}
	request := max(sizing.Bytes(float64(limit)/policy.LimitRatio), policy.Floor)
	return sizing.Grant{Request: min(request, limit), Limit: limit}
}

// grantBy is grantOf, except that the static request is answered unchanged.
func grantBy(source sizing.Source, limit sizing.Bytes, policy sizing.Policy) sizing.Grant {
	if source == sizing.FromRequested {
		return sizing.Grant{Request: limit, Limit: limit}
	}
	return grantOf(limit, policy)
}
