package service

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// cohorts holds the decoded cohort of each namespace.
type cohorts struct {
	byNamespace sync.Map // string → loadedCohort
	loading     sync.Mutex
}

type loadedCohort struct {
	version int
	model   *cohort.Model // nil if it cannot be decoded
}

// get returns the cohort of a namespace, or nil if there is none.
func (c *cohorts) get(namespace string) *cohort.Model {
	loaded, _ := c.byNamespace.Load(namespace)
	known, _ := loaded.(loadedCohort)
	return known.model
}

// pollCohorts loads the cohorts that any replica published, until ctx ends.
func (s *Service) pollCohorts(ctx context.Context) {
	tick := time.NewTicker(s.cfg.PollInterval)
	defer tick.Stop()
	for {
		s.refreshCohorts(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// refreshCohorts loads the cohorts whose version changed. It only logs an error, because tasks
// with history do not depend on cohorts.
func (s *Service) refreshCohorts(ctx context.Context) {
	if s.cfg.NoCohorts {
		return
	}
	if err := s.loadCohorts(ctx); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "failed to read the cohorts; the cohorts in memory stay in use", "err", err)
	}
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
		s.cohorts.byNamespace.Store(namespace, loaded)
	}
	return nil
}

// factsOf returns the facts about a try that are known before its launch.
func factsOf(ask *sizing.Ask) cohort.Facts {
	return cohort.Facts{Task: ask.Try.TaskKey, Metadata: ask.Metadata, Features: ask.Features, Requested: ask.Requested}
}

// sizeByCohort replaces the static request of a task without history by the answer of the cohort,
// unless a run of the task was killed at that amount.
func (c *allocator) sizeByCohort(ask *sizing.Ask, q *taskmodel.Question, sized *taskmodel.Answer) {
	if sized.Source != sizing.FromRequested || q.Above > 0 || !c.hasNoHistory() {
		return
	}
	limit := q.Cap
	if q.CapBy == taskmodel.CapKill && q.Requested.Memory == 0 {
		limit = 0 // no cap can be derived, because neither a request nor a peak is known
	}
	answer, ok := c.cohort.Size(cohort.Question{
		Facts: factsOf(ask), RiskTarget: q.RiskTarget, Floor: max(q.Floor, q.MinGrant), Cap: limit, Edges: q.Edges,
	})
	if !ok || answer.Limit <= c.model.LargestKilled() {
		return
	}
	promised := answer.Promised
	sized.Limit, sized.Ladder, sized.Promised = answer.Limit, []sizing.Bytes{answer.Limit}, &promised
	sized.Source, sized.Reason = sizing.FromCohort, answer.Reason
}

// ignoreRequest drops the static request from the question about a lift if the killed try was sized
// by the cohort, so that the lift doubles the killed allocation.
func (c *allocator) ignoreRequest(ask *sizing.Ask, q *taskmodel.Question) {
	if q.Above > 0 && q.Above < q.Requested.Memory && c.hasNoHistory() && c.cohort.CanSize(factsOf(ask)) {
		q.Requested.Memory = 0
	}
}

// hasNoHistory reports whether no report of the task has a peak.
func (c *allocator) hasNoHistory() bool {
	return c.task.IsDecoded() && c.model.LargestPeak() == 0
}
