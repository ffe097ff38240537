package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// reportTimeout bounds the time that a lift waits until its kill is stored.
const reportTimeout = 2 * time.Second

// Lift returns the next allocation after a failed try, or a verdict that says why there is none. If the reason is
// OOMKilled or AppOOM, the ask is also a provisional report of this outcome. Lift works while the database is down.
func (s *Service) Lift(ctx context.Context, ask *sizing.LiftAsk) (sizing.Lift, error) {
	if bad := ask.Validate(); len(bad) > 0 {
		return sizing.Lift{}, invalid(bad)
	}
	now := s.cfg.Now()
	if ask.Features == nil {
		ask.Features = s.tries.Features(&ask.Try)
	}
	s.tries.Request(&ask.Try).FillIn(&ask.Ask)
	var inputs store.RunInputs
	if ask.Reason.OOM() {
		maxMemory := ask.MaxMemory
		answer, isAnswered := s.tries.Find(&ask.Try)
		inputs = s.fillFromStore(ctx, &ask.Ask)
		if isAnswered && !answer.IsRestored { // no stored receipt of the try is newer than this answer
			ask.MaxMemory = maxMemory
		}
		if err := s.reportKill(ctx, ask, inputs.At, now); err != nil {
			return sizing.Lift{}, err
		}
	}
	run, kills := s.readKills(ctx, &ask.Try)
	run.Static = max(run.Static, inputs.Static)
	task := s.models.Get(ctx, ask.Try.TaskKey)

	alloc, q, sized, request := s.sizeLift(task, ask, &run, now)
	state := sizing.LiftState{
		Failed: q.Above, Ceiling: q.Cap, CeilingBy: q.CapBy.Remedy(), Kills: len(run.Killed), MaxLifts: *alloc.policy.MaxLifts, Ladder: sized.Ladder,
		Least: sizing.LeastLift(q.Above, run.Static),
	}
	state.Peak, state.OwnLimit = ownLimit(kills, ask.Try.Number)
	if state.IsAtCeiling() && ask.Reason.OOM() {
		state.KillsAtCap = s.killsAtCap(ctx, ask.Try.TaskKey, &state)
	}
	lift := state.Decide(ask.Reason)
	isStaticAnswered := alloc.policy.Mode != sizing.Enforce && request.Memory > 0
	if isStaticAnswered && ask.Reason.OOM() {
		allowRetryAtCap(&lift, &state)
	}
	if !lift.Retry {
		return lift, nil
	}
	lift.Memory = alloc.grant(lift.Memory.Limit)
	if isStaticAnswered {
		shadow := lift.Memory
		lift.Shadow = &shadow
		lift.Memory = sizing.Grant{Request: request.Memory, Limit: request.Memory}
		lift.Reason = string(alloc.policy.Mode) + ": the static request is answered; the lift would have been: " + lift.Reason
	}
	s.recordLift(ask, &lift, &sized, &alloc.policy, now)
	if next := ask.Try; lift.Shadow == nil {
		next.Number++
		task.Open.AddRetry(&next)
	}
	return lift, nil
}

const minUselessLift = 1.1 // smallest growth, as a factor, of an allocation that shows whether more memory helps

// ownLimit returns LiftState.Peak and LiftState.OwnLimit for a try of a run. Both are zero unless the try ended with AppOOM
// and has a measured peak.
func ownLimit(kills []store.Kill, try int) (peak, limit sizing.Bytes) {
	at := slices.IndexFunc(kills, func(k store.Kill) bool { return k.Try == try && k.Outcome == sizing.AppOOM && k.Peak > 0 })
	if at < 0 {
		return 0, 0
	}
	failed := &kills[at]
	for _, k := range kills {
		if k.Try < try && k.Outcome == sizing.AppOOM && k.Peak > 0 && k.Allocated > 0 &&
			float64(failed.Allocated) >= minUselessLift*float64(k.Allocated) && float64(failed.Peak) <= sizing.SamePeak*float64(k.Peak) {
			return failed.Peak, failed.Peak
		}
	}
	return failed.Peak, 0
}

func (s *Service) sizeLift(task *modelcache.Task, ask *sizing.LiftAsk, run *inflight.Run, now time.Time) (alloc allocator, q taskmodel.Question, sized taskmodel.Answer, request sizing.Resources) {
	task.RLockUpdated()
	defer task.RUnlock()
	alloc = s.allocatorOf(task, ask.Try.Namespace, now)
	s.compute(&alloc, ask.Try.TaskKey, func() {
		q = alloc.question(&ask.Ask, max(ask.Failed, run.HighestKill()), len(run.Killed))
		alloc.ignoreRequest(&ask.Ask, &q)
		sized = alloc.model.Size(q)
	})
	return alloc, q, sized, alloc.staticRequest(&ask.Ask)
}

// allowRetryAtCap turns a denied lift at the cap into a retry while lifts are left, and after the last lift into
// VerdictExhausted: in the modes shadow and off the answer is the static request, and the cap limits only lift.Shadow.
func allowRetryAtCap(lift *sizing.Lift, state *sizing.LiftState) {
	isAtCap := lift.Verdict == sizing.VerdictAtCap || lift.Verdict == sizing.VerdictLeakSuspected
	switch {
	case !isAtCap:
		return
	case state.Kills > state.MaxLifts:
		lift.Verdict = sizing.VerdictExhausted
		lift.Reason = fmt.Sprintf("OOM kills of the run: %d; lifts that the policy allows: %d", state.Kills, state.MaxLifts)
		return
	}
	lift.Reason = string(lift.Verdict) + ": " + lift.Reason
	lift.Retry, lift.Verdict = true, sizing.VerdictLift
	lift.Memory = sizing.Grant{Request: state.Ceiling, Limit: state.Ceiling}
}

// reportKill stores the kill as a provisional report, and records it in memory. If the try was reported as a success, the error
// has the kind Conflict. `predictedAt` is the time of the newest stored prediction for the try. While the database is down,
// reportKill only records the kill in memory, so that the DAG does not wait.
func (s *Service) reportKill(ctx context.Context, ask *sizing.LiftAsk, predictedAt, now time.Time) error {
	kill := sizing.Observation{
		Try: ask.Try, Outcome: ask.Reason, Allocated: sizing.Resources{Memory: ask.Failed},
		Requested: ask.Requested, Features: ask.Features, PredictedAt: predictedAt, Provisional: true,
	}
	answer, _ := s.tries.Find(&ask.Try) // before the report ends the try
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	failed := ask.Failed
	results, err := s.Observe(ctx, []sizing.Observation{kill})
	switch {
	case sizing.KindOf(err) == sizing.Unavailable:
		s.log.Warn("failed to store a kill; the lift counts only the kills in memory", "task", ask.Try.TaskKey.String(), "err", err)
	case err != nil:
		return err
	case results[0].Err != nil:
		return inLiftFields(results[0].Err)
	default:
		failed = max(failed, results[0].Allocated)
	}
	// Observe does not apply a kill that was reported before, for example to another replica.
	s.tries.AddKill(&ask.Try, failed, ask.Features, inflight.RequestOf(&ask.Ask), now)
	s.tries.SetStatic(&ask.Try, answer.Static)
	return nil
}

// inLiftFields returns the error of a report with the field names of a LiftAsk, whose reason is the outcome of the report.
func inLiftFields(err error) error {
	var domain *sizing.Error
	if !errors.As(err, &domain) {
		return err
	}
	renamed := *domain
	renamed.Fields = slices.Clone(domain.Fields)
	for i := range renamed.Fields {
		if renamed.Fields[i].Field == "outcome" {
			renamed.Detail = strings.ReplaceAll(renamed.Detail, "outcome", "reason")
			renamed.Fields[i].Field = "reason"
		}
	}
	return &renamed
}

// killsAtCap counts the kills with about the allocation `state.Ceiling` since the last success of the task; see
// sizing.LiftState.KillsAtCap. Kills of mapped instances in the same try of a DAG run count once, because they are no
// repetition. A kill does not count if its run was lifted above it. If the read fails, killsAtCap returns 1, for this kill.
func (s *Service) killsAtCap(ctx context.Context, task sizing.TaskKey, state *sizing.LiftState) int {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	kills, err := s.store.KillsAtCap(ctx, task, state.LeastAtCeiling(), state.MostAtCeiling())
	if err != nil {
		return 1
	}
	type dagTry struct {
		runID  string
		number int
	}
	distinct := map[dagTry]bool{}
	for i := range kills {
		if run := s.tries.KilledRun(&kills[i]); run.LiftedTo <= run.HighestKill() {
			distinct[dagTry{kills[i].RunID, kills[i].Number}] = true
		}
	}
	return len(distinct)
}

func (s *Service) recordLift(ask *sizing.LiftAsk, lift *sizing.Lift, sized *taskmodel.Answer, policy *sizing.Policy, now time.Time) {
	lift.PredictionID = newID()
	limit := lift.Memory.Limit
	if lift.Shadow != nil {
		limit = 0
	}
	s.tries.SetLift(&ask.Try, limit, taskmodel.RunScore(sized.Guard))
	next := ask.Ask
	next.Try.Number++
	s.outbox.Add(sizing.Receipt{Ask: next, At: now, Allocation: sizing.Allocation{
		PredictionID: lift.PredictionID, Task: ask.Try.TaskKey, Memory: lift.Memory, Shadow: lift.Shadow,
		Ladder: sized.Ladder, Source: sizing.FromLift, Mode: policy.Mode, Reason: lift.Reason, Guard: sized.Guard,
		Risk: sizing.Risk{Target: policy.RiskTarget},
	}})
}
