package service

import (
	"context"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// ExplainedAnswer is an answer with the factors whose product is the granted amount.
type ExplainedAnswer struct {
	Ask        sizing.Ask
	Allocation sizing.Allocation // without PredictionID if the answer was not recorded
	Factors    taskmodel.Explanation
	Shadow     *taskmodel.Explanation // in shadow mode: the factors of the grant in mode enforce
	Note       string                 // why the factors are incomplete; "" if they are complete
	Nearest    []taskmodel.Neighbour  // one try of each of the most similar other runs that ended before the answer, nearest first
	Run        sizing.History         // the ended tries of the explained run
}

const (
	nearestRuns = 5 // largest number of most similar runs in an ExplainedAnswer
	// comparedTries is the largest number of newest tries of a task among which Explain searches similar runs, and that
	// RecentFactors and GrantsWith read. For a recorded answer, only tries that ended before the answer count.
	comparedTries = 300
)

// Explain answers an ask like Predict, explains the answer, and records nothing.
func (s *Service) Explain(ctx context.Context, ask *sizing.Ask) (*ExplainedAnswer, error) {
	if bad := ask.Validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	now := s.cfg.Now()
	warnings := append(ask.BoundContext(), ask.Warnings()...)
	run := s.priorKills(ctx, ask)
	e := &ExplainedAnswer{Allocation: sizing.Allocation{Task: ask.Try.TaskKey, Mode: sizing.Enforce, Warnings: warnings}}
	task := s.models.Get(ctx, ask.Try.TaskKey)

	policy, isDecoded := s.allocateExplained(task, ask, &run, e, now)
	if err := s.complete(ctx, &e.Allocation, &policy, &run, isDecoded); err != nil {
		return nil, err
	}
	e.Ask = *ask
	e.answerStatic()
	return e, s.addRuns(ctx, e, task, time.Time{})
}

func (s *Service) allocateExplained(task *modelcache.Task, ask *sizing.Ask, run *inflight.Run, e *ExplainedAnswer, now time.Time) (policy sizing.Policy, isDecoded bool) {
	task.RLockUpdated()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, ask.Try.Namespace, now)
	s.allocateWith(&alloc, ask, run, &e.Allocation)
	granted := e.Allocation.Memory.Limit
	if e.Allocation.Shadow != nil {
		granted = e.Allocation.Shadow.Limit
	}
	q := alloc.question(ask, run.HighestKill(), len(run.Killed))
	kind, name := taskmodel.TermLift, "the lift of this run's earlier kill"
	if e.Allocation.Cohort != nil {
		var ok bool
		if e.Factors, ok = alloc.explainCohort(ask, &q, granted); ok {
			return alloc.policy, task.IsDecoded()
		}
		kind, name = taskmodel.TermCohort, similarTasks
	}
	e.Factors = alloc.model.Explain(q)
	if e.Factors.Base == 0 { // the task has neither a request nor a run
		e.Factors = taskmodel.Explanation{Granted: granted, Base: granted, BaseName: name}
	}
	e.Factors = e.Factors.WithTerm(kind, name, granted)
	return alloc.policy, task.IsDecoded()
}

// ExplainReceipt explains a recorded answer by the model that gave the answer. It explains the answer by the receipt alone if
// no model gave the answer, or if the state of that model cannot be rebuilt or does not reproduce the answer.
func (s *Service) ExplainReceipt(ctx context.Context, r *sizing.Receipt) (*ExplainedAnswer, error) {
	e := &ExplainedAnswer{Ask: r.Ask, Allocation: r.Allocation}
	key := r.Ask.Try.TaskKey
	task := s.models.Get(ctx, key)
	// This Guard is the whole recorded state behind the answer, not only the factor that docs/glossary.md calls the guard.
	// Its Version is the number of tries that the model had learned.
	recorded := taskmodel.RecordedAnswer{Granted: r.Allocation.Memory.Limit, Guard: r.Allocation.Guard}
	if r.Allocation.Shadow != nil {
		recorded.Granted = r.Allocation.Shadow.Limit
	}
	version := 0
	if r.Allocation.Model != nil {
		version = r.Allocation.Model.Version
	}
	q := s.questionOf(ctx, task, r)
	ok := false
	if len(recorded.Guard.Params) > 0 { // the state of a model, from which the model can reproduce the answer
		if e.Factors, ok = explainCurrent(task, version, q, recorded); !ok {
			explain := func(model *taskmodel.Model) bool {
				e.Factors, ok = model.ExplainRecorded(q, recorded)
				return ok
			}
			if err := s.models.Rebuild(ctx, key, version, recorded.Guard.Version, explain); err != nil {
				return nil, err
			}
		}
	}
	if !ok {
		e.explainByReceipt(r, recorded, q.Above)
	}
	e.answerStatic()
	return e, s.addRuns(ctx, e, task, r.At)
}

func explainCurrent(task *modelcache.Task, version int, q taskmodel.Question, recorded taskmodel.RecordedAnswer) (taskmodel.Explanation, bool) {
	task.RLock()
	defer task.RUnlock()
	ref := task.Ref()
	if version > 0 && (ref == nil || ref.Version != version) || int64(task.Model().Tries) != recorded.Guard.Version {
		return taskmodel.Explanation{}, false
	}
	return task.Model().ExplainRecorded(q, recorded)
}

// questionOf returns the question of a receipt under the current policy, but with the risk target of the
// receipt. If the bounds at the time of the answer were different, they appear as a separate term.
func (s *Service) questionOf(ctx context.Context, task *modelcache.Task, r *sizing.Receipt) taskmodel.Question {
	run := inflight.Run{Killed: map[int]sizing.Bytes{}}
	if r.Allocation.Source == sizing.FromLift {
		known, _ := s.readKills(ctx, &r.Ask.Try)
		for number, killed := range known.Killed {
			if number < r.Ask.Try.Number {
				run.Killed[number] = killed
			}
		}
	}
	task.RLock()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, r.Ask.Try.Namespace, r.At)
	q := alloc.question(&r.Ask, run.HighestKill(), len(run.Killed))
	q.RiskTarget = r.Allocation.Risk.Target
	return q
}

const similarTasks = "the runs of similar tasks"

// explainByReceipt explains an answer whose model is no longer available, or that no model gave. The
// argument `killed` is the largest killed allocation of the run before a lift.
func (e *ExplainedAnswer) explainByReceipt(r *sizing.Receipt, recorded taskmodel.RecordedAnswer, killed sizing.Bytes) {
	from := taskmodel.Explanation{Granted: r.Ask.Requested.Memory, Base: r.Ask.Requested.Memory, BaseName: "the static request"}
	kind, name := taskmodel.TermFloor, "a lower bound at the time of the answer"
	switch {
	case r.Allocation.Source == sizing.FromLift && killed > 0:
		from = taskmodel.Explanation{Granted: killed, Base: killed, BaseName: "the allocation that was OOM-killed"}
		kind, name = taskmodel.TermLift, "the next rung of the ladder"
	case r.Allocation.Source == sizing.FromCohort:
		kind, name = taskmodel.TermCohort, similarTasks
	case r.Allocation.Source != sizing.FromRequested, r.Allocation.Shadow != nil && recorded.Granted != r.Ask.Requested.Memory:
		var ok bool
		if e.Factors, ok = taskmodel.ExplainReceipt(recorded); ok {
			e.Note = "the model that answered is not available any more, so the chain has no factors of single features"
			return
		}
		from.Base = 0 // it is unknown whether the amount comes from the request
	case recorded.Granted < r.Ask.Requested.Memory:
		kind, name = taskmodel.TermCap, "an upper bound at the time of the answer"
	}
	if from.Base == 0 {
		from = taskmodel.Explanation{Granted: recorded.Granted, Base: recorded.Granted, BaseName: "the amount of the receipt"}
		e.Note = "the receipt does not record how this amount was computed"
		if r.Allocation.Shadow != nil {
			e.Note = "the receipt of shadow mode does not record how this amount was computed, such as by similar tasks; the reason of the answer names the source"
		}
	}
	e.Factors = from.WithTerm(kind, name, recorded.Granted)
}

// answerStatic replaces the factors if the answer is the static request because of the mode of the
// policy. In shadow mode the replaced factors become Shadow.
func (e *ExplainedAnswer) answerStatic() {
	limit := e.Allocation.Memory.Limit
	if e.Allocation.Mode == sizing.Enforce {
		return
	}
	if e.Allocation.Mode == sizing.Shadow {
		shadow := e.Factors
		e.Shadow = &shadow
	}
	e.Factors = taskmodel.Explanation{Granted: limit, Base: limit, BaseName: "the static request, which the policy leaves unchanged"}
}

// addRuns adds the most similar runs and the tries of the explained run. The similar runs ended at the time `answered` or
// earlier, so the model could know them when it answered. The zero time means that all ended runs may be listed.
func (s *Service) addRuns(ctx context.Context, e *ExplainedAnswer, task *modelcache.Task, answered time.Time) error {
	try := &e.Ask.Try
	recent, err := s.store.TriesBefore(ctx, try.TaskKey, answered, comparedTries)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	recent.Rows = newestTryPerOtherRun(recent.Rows, try)
	e.Nearest = nearestTo(task, e.Ask.Features, &recent)
	if try.RunID == "" {
		return nil
	}
	e.Run, err = s.store.TriesOfRun(ctx, try.TaskKey, try.RunID, try.MapIndex)
	return err
}

func nearestTo(task *modelcache.Task, f sizing.Features, recent *sizing.History) []taskmodel.Neighbour {
	task.RLock()
	defer task.RUnlock()
	return task.Model().Nearest(f, recent, nearestRuns)
}

// newestTryPerOtherRun returns one try of each run in `rows`, except the run of `try`: the newest success with a measured peak
// or OOM kill of the run. A success has the peak of the run, and a later kill has a higher bound of the peak than an earlier
// one. newestTryPerOtherRun omits runs without such a try. The rows are in order of time.
func newestTryPerOtherRun(rows []sizing.HistoryRow, try *sizing.TryKey) (others []sizing.HistoryRow) {
	seen := map[uint64]bool{try.Run(): true}
	for _, r := range slices.Backward(rows) {
		_, censoring := r.Peak()
		key := sizing.RunHash(r.RunID, r.MapIndex)
		if seen[key] || censoring != sizing.Exact && censoring != sizing.AtLeast {
			continue
		}
		seen[key] = true
		others = append(others, r)
	}
	slices.Reverse(others)
	return others
}
