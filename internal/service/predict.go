package service

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Predict returns the allocation of a try, and adds the receipt to the outbox. It may wait up to Config.DecodeWait for the
// decoded model, and up to Config.ReadTimeout each for the plan and, for a later try, also for the kills and the inputs. An invalid
// ask gives an error of kind sizing.Invalid. Without an amount for the try, the kind is sizing.Unavailable while the model is
// not loaded, and else sizing.NotFound.
func (s *Service) Predict(ctx context.Context, ask *sizing.Ask) (*sizing.Allocation, error) {
	if bad := ask.Validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	s.predictions.Add(1)
	now := s.cfg.Now()
	warnings := append(ask.BoundContext(), ask.Warnings()...)
	run := s.priorKills(ctx, ask)
	a := &sizing.Allocation{PredictionID: newID(), Task: ask.Try.TaskKey, Mode: sizing.Enforce, Warnings: warnings}
	task := s.models.Get(ctx, ask.Try.TaskKey)

	if ask.Timeout > 0 && ask.Try.RunID != "" { // without a run id, the question belongs to no try, so no try will have this timeout
		task.SetTimeout(ask.Timeout)
	}
	policy, isDecoded := s.allocate(task, ask, &run, a, now)
	if err := s.complete(ctx, a, &policy, &run, isDecoded); err != nil {
		return nil, err
	}
	switch isFirst := s.recordAnswer(ask, a, now); {
	case sizing.IsReproduction(ask.Try.RunID): // the guard does not count a reproduced run
	case isFirst && ask.Try.Number == 1 && a.Risk.Promised != nil:
		task.Open.AddGrant(&ask.Try, taskmodel.BeforeGuard(*a.Risk.Promised, a.Guard), now)
	case ask.Try.Number > 1 && a.Source == sizing.FromLift:
		task.Open.AddRetry(&ask.Try)
	}
	return a, nil
}

// Predictions returns the number of valid asks that Predict has received. Background work, such as a
// what-if, uses fewer processors while this number grows.
func (s *Service) Predictions() uint64 { return s.predictions.Load() }

func (s *Service) allocate(task *modelcache.Task, ask *sizing.Ask, run *inflight.Run, a *sizing.Allocation, now time.Time) (policy sizing.Policy, isDecoded bool) {
	task.RLockUpdated()
	defer task.RUnlock() // deferred, so that a panic of one call does not block the task
	alloc := s.allocatorOf(task, ask.Try.Namespace, now)
	s.allocateWith(&alloc, ask, run, a)
	return alloc.policy, task.IsDecoded()
}

// allocateWith sets `a`. If the model panics, its outline answers and becomes c.model (see compute).
func (s *Service) allocateWith(c *allocator, ask *sizing.Ask, run *inflight.Run, a *sizing.Allocation) {
	empty := *a
	s.compute(c, ask.Try.TaskKey, func() {
		*a = empty
		c.allocate(ask, run, a)
	})
}

func (s *Service) complete(ctx context.Context, a *sizing.Allocation, policy *sizing.Policy, run *inflight.Run, isDecoded bool) error {
	if a.Memory.Limit == 0 {
		return noAllocation(a.Task, isDecoded)
	}
	if policy.Phases != sizing.NoPhases && len(run.Killed) == 0 {
		s.addPlan(ctx, a, policy)
	}
	if !isDecoded {
		a.Reason = "the model of this task is not loaded yet; " + a.Reason
	}
	return nil
}

func noAllocation(task sizing.TaskKey, isDecoded bool) error {
	if !isDecoded {
		return sizing.Errorf(sizing.Unavailable, "predict task %s: its model is not loaded yet; repeat the request, or send requested.memory", task)
	}
	return sizing.Errorf(sizing.NotFound, "predict task %s: no static request is known, and the task has no history or the mode shadow or off; send requested.memory, or report runs by /observe first", task)
}

func (s *Service) recordAnswer(ask *sizing.Ask, a *sizing.Allocation, now time.Time) (isFirst bool) {
	if ask.Try.RunID != "" {
		isFirst = s.tries.Add(&ask.Try, &inflight.Answer{
			Limit: a.Memory.Limit, Promised: a.Risk.Promised, Request: inflight.RequestOf(ask), Level: a.Cohort.LevelOrZero(),
			Static: a.StaticGrant(), RunScore: taskmodel.RunScore(a.Guard), At: now,
		}, ask.Features)
	}
	s.outbox.Add(sizing.Receipt{Ask: *ask, Allocation: *a, At: now})
	return isFirst
}

// AwaitReceipts waits until the outbox has space for a batch of `n` predictions, at most two seconds.
// It does not wait while writes to the store fail. Callers of single predictions do not call it.
func (s *Service) AwaitReceipts(ctx context.Context, n int) { s.outbox.Wait(ctx, n) }

// priorKills returns the kills of a run, and completes the ask of a later try. For a first try it does not read the store.
func (s *Service) priorKills(ctx context.Context, ask *sizing.Ask) inflight.Run {
	switch {
	case ask.Try.RunID == "":
		return inflight.Run{}
	case ask.Try.Number <= 1:
		return s.tries.KilledRun(&ask.Try)
	}
	maxMemory := ask.MaxMemory // the cap of an earlier call does not bind this one
	run, _ := s.readKills(ctx, &ask.Try)
	run.Request.FillIn(ask)
	if len(run.Killed) > 0 {
		run.Static = max(run.Static, s.fillFromStore(ctx, ask).Static)
	}
	ask.MaxMemory = maxMemory
	return run
}

// readKills returns the kills of a run, those in memory and the stored ones. It omits the stored kills if the read fails or
// exceeds Config.ReadTimeout.
func (s *Service) readKills(ctx context.Context, try *sizing.TryKey) (inflight.Run, []store.Kill) {
	run := s.tries.Run(try)
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	kills, err := s.store.Kills(ctx, try.TaskKey, try.RunID, try.MapIndex)
	if err != nil {
		return run, nil
	}
	for _, k := range kills {
		run.Killed[k.Try] = max(run.Killed[k.Try], k.Allocated)
	}
	return run, kills
}

// fillFromStore sets the fields that an ask after a kill omits. It ignores a read that fails or exceeds Config.ReadTimeout.
func (s *Service) fillFromStore(ctx context.Context, ask *sizing.Ask) store.RunInputs {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	inputs, err := s.store.RunInputs(ctx, ask.Try)
	if err != nil {
		return store.RunInputs{}
	}
	inflight.Request{Resources: inputs.Requested, MaxMemory: inputs.MaxMemory}.FillIn(ask)
	if ask.Features == nil {
		ask.Features = inputs.Features
	}
	return inputs
}

// newID returns a time-ordered id (UUID version 7), because receipts are partitioned and indexed by time.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no source of randomness
	}
	return id.String()
}
