package service

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// cohorts holds the decoded cohort of each namespace: the model that sizes a task without history from the runs of the
// other tasks of the namespace.
type cohorts struct {
	byNamespace sync.Map    // string → loadedCohort
	loading     sync.Mutex  // held while cohorts are read from the store
	changing    sync.Mutex  // held while an entry of byNamespace is replaced
	isLoaded    atomic.Bool // whether all cohorts were read once, or cohorts are turned off
}

// loadedCohort is a stored cohort with the runs that this replica added.
type loadedCohort struct {
	version int           // of the stored cohort
	model   *cohort.Model // nil if it cannot be decoded
	runs    []firstRun    // runs that `model` learned after its training, oldest first
}

// firstRun is a report of a task that may be unknown to the cohort.
type firstRun struct {
	cohort.Row
	level float64 // log peak that was predicted; NaN if it is unknown
}

// learn lets the cohort learn the first run of a task at once, so that a kill raises the margin of the next new task. Other
// replicas learn the run from the next training of the cohort. A run changes nothing if its task had a success before.
func (c *cohorts) learn(r firstRun) {
	c.changing.Lock()
	defer c.changing.Unlock()
	loaded, _ := c.byNamespace.Load(r.Task.Namespace)
	known, _ := loaded.(loadedCohort)
	if model := known.model.Learn(&r.Row, r.level); model != known.model {
		c.byNamespace.Store(r.Task.Namespace, loadedCohort{known.version, model, append(known.runs, r)})
	}
}

// replace stores a newer version of a cohort, and lets it learn the runs that its training did not include.
func (c *cohorts) replace(namespace string, next loadedCohort) {
	c.changing.Lock()
	defer c.changing.Unlock()
	loaded, _ := c.byNamespace.Load(namespace)
	known, _ := loaded.(loadedCohort)
	for i := range known.runs {
		r := &known.runs[i]
		if model := next.model.Learn(&r.Row, r.level); model != next.model {
			next.model, next.runs = model, append(next.runs, *r)
		}
	}
	c.byNamespace.Store(namespace, next)
}

func (c *cohorts) get(namespace string) *cohort.Model {
	loaded, _ := c.byNamespace.Load(namespace)
	known, _ := loaded.(loadedCohort)
	return known.model
}

// cohortPollInterval is short, because the tasks of a new DAG run soon after one another, and the first runs
// of some tasks improve the predictions for the first runs of the next tasks. A poll reads one row per namespace.
const cohortPollInterval = 2 * time.Second

// pollCohorts loads new versions of the cohorts at intervals until ctx ends. Until the first successful read it reads
// at least every second, because the replica is not ready before this read.
func (s *Service) pollCohorts(ctx context.Context) {
	for {
		s.refreshCohorts(ctx)
		pause := min(s.cfg.PollInterval, cohortPollInterval)
		if !s.cohorts.isLoaded.Load() {
			pause = min(pause, time.Second)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// refreshCohorts reads the changed cohorts. It logs an error and does not return it, because tasks with history do not depend
// on cohorts.
func (s *Service) refreshCohorts(ctx context.Context) {
	if !s.cfg.NoCohorts {
		if err := s.loadCohorts(ctx); err != nil {
			if ctx.Err() == nil {
				s.log.WarnContext(ctx, "failed to read the cohorts; the cohorts in memory stay in use", "err", err)
			}
			return
		}
	}
	s.cohorts.isLoaded.Store(true)
}

func (s *Service) loadCohorts(ctx context.Context) error {
	s.cohorts.loading.Lock()
	defer s.cohorts.loading.Unlock()
	versions, err := s.store.CohortVersions(ctx)
	if err != nil {
		return err
	}
	for namespace, version := range versions {
		if loaded, _ := s.cohorts.byNamespace.Load(namespace); loaded != nil && loaded.(loadedCohort).version == version {
			continue
		}
		stored, err := s.store.Cohort(ctx, namespace)
		if sizing.KindOf(err) == sizing.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		loaded := loadedCohort{version: stored.Version}
		if stored.Format == cohort.Format {
			if loaded.model, err = cohort.Open(stored.Blob); err != nil {
				s.log.WarnContext(ctx, "a stored cohort cannot be decoded; the next training replaces it", "namespace", namespace, "version", stored.Version, "err", err)
			}
		}
		s.cohorts.replace(namespace, loaded)
	}
	return nil
}

func factsOf(ask *sizing.Ask) cohort.Facts {
	return cohort.Facts{Task: ask.Try.TaskKey, Metadata: ask.Metadata, Features: ask.Features, Requested: ask.Requested, Placement: ask.Placement}
}

// sizeByCohort replaces the static request of a task without history by the answer of the cohort, if there is one, and
// returns this answer. It keeps the request if the answer is not above the largest killed allocation of the task, for
// example because of a low cap. It does not change a lift.
func (c *allocator) sizeByCohort(ask *sizing.Ask, q *taskmodel.Question, sized *taskmodel.Answer) (answer cohort.Answer) {
	if sized.Source != sizing.FromRequested || q.Above > 0 || !c.hasNoHistory() {
		return answer
	}
	answer, ok := c.cohort.Size(c.cohortQuestion(ask, q))
	if !ok || answer.Limit <= c.model.LargestKilled() {
		return answer
	}
	promised := answer.Promised
	sized.Limit, sized.Ladder, sized.Promised = answer.Limit, []sizing.Bytes{answer.Limit}, &promised
	sized.Source, sized.Reason = sizing.FromCohort, answer.Reason
	return answer
}

func (c *allocator) cohortQuestion(ask *sizing.Ask, q *taskmodel.Question) cohort.Question {
	limit := q.Cap
	if q.CapBy == taskmodel.CapOnlyKills {
		limit = 0 // this cap is a multiple of the kills, the minimum grant or the floor, and may be far below what similar tasks need
	}
	return cohort.Question{
		Facts: factsOf(ask), RiskTarget: q.RiskTarget, Killed: c.model.LargestKilled(), Floor: max(q.Floor, q.MinGrant), Cap: limit, Edges: q.Edges,
	}
}

// explainCohort splits the answer of the cohort into the effects of the facts, the margin and the
// bounds. `ok` is false if the cohort has no answer, or if the answer is the request times the typical ratio of peak to
// request, without the trees of the cohort.
func (c *allocator) explainCohort(ask *sizing.Ask, q *taskmodel.Question, granted sizing.Bytes) (e taskmodel.Explanation, ok bool) {
	question := c.cohortQuestion(ask, q)
	answer, ok := c.cohort.Size(question)
	if !ok {
		return taskmodel.Explanation{}, false
	}
	explained, ok := c.cohort.Explain(&question, &answer)
	if !ok {
		return taskmodel.Explanation{}, false
	}
	kinds := [...]taskmodel.TermKind{
		cohort.FactStep: taskmodel.TermFeature, cohort.MarginStep: taskmodel.TermMargin,
		cohort.RequestStep: taskmodel.TermCeiling, cohort.RoundingStep: taskmodel.TermRounding,
	}
	steps := make([]taskmodel.CohortStep, len(explained.Steps))
	for i, s := range explained.Steps {
		steps[i] = taskmodel.CohortStep{Kind: kinds[s.Kind], Name: s.Name, Value: s.Value, Log: s.Log}
	}
	return taskmodel.ExplainCohort(explained.BaseName, explained.Base, steps, explained.Level, granted), true
}

// describeCohort completes the answer for a task without history, except a lift. To an answer of the cohort, which
// sizeByCohort has returned as `similar`, it adds the numbers of tasks and runs, and the CPU by the probable usage profiles of
// the task. It predicts the GPU memory by these profiles.
func (c *allocator) describeCohort(ask *sizing.Ask, q *taskmodel.Question, similar *cohort.Answer, a *sizing.Allocation) {
	if c.cohort == nil || q.Above > 0 || !c.hasNoHistory() {
		return
	}
	facts := factsOf(ask)
	place, isPlaced := c.cohort.Place(&facts)
	if a.Source == sizing.FromCohort {
		a.Cohort = &sizing.Cohort{Profile: place.Profile, Confidence: place.Confidence, Tasks: similar.Tasks, Runs: similar.Runs}
		if level := c.cohort.Level(&facts); !math.IsNaN(level) {
			a.Cohort.Level = level
		}
	}
	if !isPlaced {
		return
	}
	if used := place.Cores(profileCPUQuantile); used > 0 && a.Source == sizing.FromCohort && !c.policy.CPUUnmanaged {
		if rounded := sizing.Cores(math.Ceil(used/profileCPUStep) * profileCPUStep); ask.Requested.CPU == 0 || rounded < ask.Requested.CPU {
			a.CPU = rounded
		}
	}
	if median := place.GPUMemory(.5); median > 0 {
		a.GPUMemory = &sizing.GPUMemory{Median: sizing.Bytes(median), P95: sizing.Bytes(place.GPUMemory(.95))}
	}
}

// A first run gets the cores that 99 % of the runs of its profiles do not exceed, rounded up to a quarter of a
// core, because throttling costs more than a quarter of an unused core. If the run requests CPU, it gets at most that.
const (
	profileCPUQuantile = 0.99 // of the used cores
	profileCPUStep     = 0.25 // cores; an answer is rounded up to a multiple
)

// learnFirstRun lets the cohort learn a report of a task that may be new. The argument `level` is the log
// peak that was predicted, or 0 if it is unknown.
func (s *Service) learnFirstRun(o *sizing.Observation, row *taskmodel.TrainingRow, level float64) {
	if s.cfg.NoCohorts || row.Censoring != sizing.Exact && row.Censoring != sizing.AtLeast {
		return
	}
	if level == 0 {
		level = math.NaN()
	}
	s.cohorts.learn(firstRun{level: level, Row: cohort.Row{
		Facts: cohort.Facts{Task: o.Try.TaskKey, Metadata: o.Metadata, Features: o.Features, Requested: row.Requested},
		Peak:  float64(row.Peak), Killed: row.Censoring == sizing.AtLeast,
	}})
}

// ignoreRequest removes the static request from the question about a lift, so that the lift doubles the killed
// allocation. It does so only if the cohort can size the task and the killed allocation is below the request:
// then the cohort probably sized the killed try.
func (c *allocator) ignoreRequest(ask *sizing.Ask, q *taskmodel.Question) {
	if q.Above > 0 && q.Above < q.Requested.Memory && c.hasNoHistory() && c.cohort.CanSize(factsOf(ask)) {
		q.Requested.Memory = 0
	}
}

// hasNoHistory reports whether the model has learned no measured or sampled peak of the task. It returns false if only the
// outline of the model is known.
func (c *allocator) hasNoHistory() bool {
	return c.isDecoded() && c.model.LargestPeak() == 0
}
