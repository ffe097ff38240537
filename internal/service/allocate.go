package service

import (
	"cmp"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// allocator computes the allocations of one task at the time `now`. The caller of its methods holds the
// task's read lock.
type allocator struct {
	task      *modelcache.Task
	model     *taskmodel.Model
	hasFailed bool          // the task's model has panicked, and model is its outline
	policy    sizing.Policy // with defaults
	now       time.Time
	minMemory sizing.Bytes
	// unschedulableFor is the time for which an unschedulable report lowers the ceiling.
	unschedulableFor time.Duration
	memo             *taskmodel.Memo // of recent answers of all models
	runs             *taskmodel.RunErrors
	cohort           *cohort.Model // of the namespace; nil if there is none
	shapes           *taskmodel.Shapes
	classifier       *cohort.Shapes // predicts which of the shapes a task has; the fields shapes and classifier are both set or both nil
}

// allocatorOf returns the allocator of a task. The caller holds the task's read lock.
func (s *Service) allocatorOf(task *modelcache.Task, namespace string, now time.Time) allocator {
	a := allocator{
		task: task, model: task.Model(), policy: task.Policy().WithDefaults(), now: now,
		minMemory: s.cfg.MinMemory, unschedulableFor: s.cfg.UnschedulableFor, memo: &s.memo, runs: &s.runs, cohort: s.cohorts.get(namespace),
	}
	a.shapes, a.classifier = task.Shapes()
	return a
}

// isDecoded reports whether c.model is the decoded model of the task, or the task is known to have none. Otherwise c.model is
// an outline, because the model was evicted or has failed.
func (c *allocator) isDecoded() bool { return c.task.IsDecoded() && !c.hasFailed }

// allocate sets the fields of `a` to the answer to `ask`. `run` holds the kills of the run that this replica has
// received or read.
func (c *allocator) allocate(ask *sizing.Ask, run *inflight.Run, a *sizing.Allocation) {
	a.Mode, a.Risk.Target = c.policy.Mode, c.policy.RiskTarget
	q := c.question(ask, run.HighestKill(), len(run.Killed))
	q.Shape = c.givenShape(ask)
	c.ignoreRequest(ask, &q)
	sized := c.memo.Size(c.model, q)
	similar := c.sizeByCohort(ask, &q, &sized)
	if q.Above > 0 {
		c.repeatLift(&sized, &q, run, c.hardCap(ask, q.Above))
	} else {
		sized.Ladder = c.ladder(&sized, &q, ask)
	}
	a.Memory = c.grant(sized.Limit)
	if sized.Source == sizing.FromRequested { // the limit ratio does not change the static request
		a.Memory = sizing.Grant{Request: sized.Limit, Limit: sized.Limit}
	}
	a.Ladder, a.Bins, a.Duration = sized.Ladder, sized.Bins, c.runTime(ask, &q, sized.Duration)
	a.Source, a.Reason, a.Guard = sized.Source, sized.Reason, sized.Guard
	a.Risk.Promised = sized.Promised
	a.CPU = sized.CPU
	if c.policy.CPUUnmanaged || a.CPU == 0 {
		a.CPU = ask.Requested.CPU
	}
	if sized.HasMissing {
		a.Warnings = append(a.Warnings, c.model.AskWarnings(ask.Features)...)
		a.Reason += c.model.UnreadableFeatures(ask.Features)
	}
	a.Warnings = append(a.Warnings, c.model.BoolWarnings(ask.Features)...)
	if a.Model = c.task.Ref(); c.hasFailed {
		a.Model, a.Reason = nil, "the model of this task failed; "+a.Reason
	}
	c.describeCohort(ask, &q, &similar, a)
	if c.policy.Mode != sizing.Enforce {
		c.answerStaticRequest(a, c.staticRequest(ask))
	}
}

// liftsLeft returns the number of lifts that the policy still allows after a number of kills, including
// the lift after the last kill.
func (c *allocator) liftsLeft(kills int) int {
	return max(0, *c.policy.MaxLifts-max(0, kills-1))
}

func (c *allocator) staticRequest(ask *sizing.Ask) sizing.Resources {
	return sizing.Resources{
		Memory: cmp.Or(ask.Requested.Memory, c.model.Requested.Memory), CPU: cmp.Or(ask.Requested.CPU, c.model.Requested.CPU),
	}
}

// question combines the ask with the policy and the limits in force. The argument `above` is the
// largest killed allocation of the run, or 0, and `kills` is the number of kills of the run. After a
// kill the last reported request replaces a missing request.
func (c *allocator) question(ask *sizing.Ask, above sizing.Bytes, kills int) taskmodel.Question {
	q := taskmodel.Question{
		Features: ask.Features, Requested: ask.Requested, RiskTarget: c.policy.RiskTarget, Above: above, Lifts: c.liftsLeft(kills),
		Floor: c.policy.Floor, MinGrant: c.minMemory, Timeout: ask.Timeout,
	}
	if ask.Try.RunID != "" {
		q.RunScore = c.runs.Score(ask.Try.TaskKey, ask.Try.Run())
	}
	q.GuardFactor, q.Open = c.task.Open.GuardFactor(c.now)
	if above > 0 {
		q.Requested = c.staticRequest(ask)
	}
	known := cmp.Or(max(q.Requested.Memory, c.model.LargestPeak()), c.model.Requested.Memory)
	q.Cap = c.policy.CapFor(ask.MaxMemory, known)
	switch {
	case ask.MaxMemory > 0 && q.Cap == ask.MaxMemory:
		q.CapBy = taskmodel.CapCaller
	case c.policy.Cap > 0:
		q.CapBy = taskmodel.CapPolicy
	default:
		q.Cap, q.CapBy = c.derivedCap(&q, ask.Try.Run())
	}
	if c.policy.NeverAbove && above == 0 && ask.Requested.Memory > 0 {
		lowerCap(&q, ask.Requested.Memory, taskmodel.CapRequest)
	}
	lowerCap(&q, c.schedulableCeiling(above), taskmodel.CapUnschedulable)
	if c.policy.Grid == sizing.OnBins {
		if q.Edges = c.policy.Edges; len(q.Edges) == 0 {
			q.Edges = c.model.Bins
		}
	}
	return q
}

// derivedCap returns the cap if neither the policy nor the caller sets one: four times the largest of the request, the
// largest peak, the floor, the minimum grant and the extrapolated peak. Kills raise it to four times the largest killed
// allocation, but at most to four times the cap without kills, because the cause may be a leak. They do not raise it if this
// run ended with AppOOM, and another run ended with AppOOM with at least this cap (Model.HasFailedWith). Without a known
// request and peak it is four times the largest of the killed allocations, the minimum grant and the floor.
func (c *allocator) derivedCap(q *taskmodel.Question, run uint64) (sizing.Bytes, taskmodel.CapRule) {
	killed := max(c.model.LargestKilled(), q.Above)
	if q.Cap == 0 {
		return max(killed, q.MinGrant, q.Floor).Times(4), taskmodel.CapOnlyKills
	}
	limit, by := q.Cap, taskmodel.CapDerived
	raise := func(to sizing.Bytes, rule taskmodel.CapRule) {
		if to > limit {
			limit, by = to, rule
		}
	}
	raise(q.MinGrant.Times(4), taskmodel.CapMinGrant)
	raise(c.model.Extrapolated(q.Features).Times(4), taskmodel.CapExtrapolated)
	raise(q.Floor.Times(4), taskmodel.CapFloor)
	if !c.model.HasFailedWith(run, limit) {
		raise(min(killed.Times(4), limit.Times(4)), taskmodel.CapKill)
	}
	return limit, by
}

// hardCap returns the lowest of three bounds, or zero if there is none: the cap of the policy, the cap of the caller, and the
// schedulable ceiling. The argument `above` is the largest killed allocation of the run.
func (c *allocator) hardCap(ask *sizing.Ask, above sizing.Bytes) sizing.Bytes {
	return minCap(minCap(c.policy.Cap, ask.MaxMemory), c.schedulableCeiling(above))
}

// lowerCap lowers the cap of `q` to `limit`, which the rule `by` sets. A cap or limit of 0 means none.
func lowerCap(q *taskmodel.Question, limit sizing.Bytes, by taskmodel.CapRule) {
	if lowered := minCap(q.Cap, limit); lowered != q.Cap {
		q.Cap, q.CapBy = lowered, by
	}
}

// minCap returns the smaller of two caps. Zero means no cap.
func minCap(a, b sizing.Bytes) sizing.Bytes {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// minNode is smaller than the memory of any node. If a smaller pod cannot be scheduled, memory is
// not the cause.
const minNode = sizing.GiB

// schedulableCeiling returns the largest grant while larger ones fit no node, or zero if there is no such bound: half of
// the smallest unschedulable allocation, but at least the largest measured peak, the largest allocation with which a pod has
// started, the floor and minNode. If this amount is not above the largest killed allocation of the task and the run, the
// ceiling is the middle between the killed and the unschedulable allocation. The argument `above` is the largest killed
// allocation of the run, or 0.
func (c *allocator) schedulableCeiling(above sizing.Bytes) sizing.Bytes {
	scheduled := max(c.model.LargestStarted(), c.model.LargestPeak(), c.policy.Floor, minNode)
	killed := max(c.model.LargestKilled(), above)
	unschedulable := c.task.Open.SmallestUnschedulable(max(scheduled, killed), c.now.Add(-c.unschedulableFor))
	if unschedulable == 0 {
		return 0
	}
	ceiling := max(unschedulable/2, scheduled)
	if ceiling > killed {
		return ceiling
	}
	if between := killed + (unschedulable-killed)/2; between > killed {
		return between
	}
	return 0 // there is no amount between the two
}

// grant divides the limit by the limit ratio of the policy. The resulting request is at least the floor, but at most
// the limit.
func (c *allocator) grant(limit sizing.Bytes) sizing.Grant {
	if c.policy.LimitRatio <= 1 {
		return sizing.Grant{Request: limit, Limit: limit}
	}
	request := max(sizing.Bytes(float64(limit)/c.policy.LimitRatio), c.policy.Floor)
	return sizing.Grant{Request: min(request, limit), Limit: limit}
}

// answerStaticRequest sets the amounts of `a` to the static request, for the modes shadow and off. In
// shadow mode the model's allocation becomes a.Shadow. If no request is known, the allocation is
// zero, because these modes answer only amounts that a caller requested.
func (c *allocator) answerStaticRequest(a *sizing.Allocation, requested sizing.Resources) {
	if c.policy.Mode == sizing.Shadow {
		shadow := a.Memory
		a.Shadow = &shadow
		a.Reason = "shadow: the static request is answered; what would have been granted: " + a.Reason
	} else {
		a.Bins, a.Ladder, a.Duration, a.Cohort, a.GPUMemory = nil, nil, nil, nil, nil
		a.Reason = "off: the policy of this task leaves the static request unchanged"
	}
	a.Source, a.Risk.Promised = sizing.FromRequested, nil
	a.Memory = sizing.Grant{Request: requested.Memory, Limit: requested.Memory}
	a.CPU = requested.CPU
}
