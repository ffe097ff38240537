package trainer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// runCohorts trains the cohorts of the namespaces in t.dueCohorts. It has its own loop, because the fit of a large namespace
// may take a minute, and the trainings of tasks must not wait for it.
func (t *Trainer) runCohorts(ctx context.Context) {
	for {
		select {
		case <-t.dueCohorts.added:
		case <-ctx.Done():
			return
		}
		for _, namespace := range t.dueCohorts.takeAll() {
			t.updateCohort(ctx, namespace, &t.backgroundCohort)
		}
	}
}

// updateCohort trains the cohort of a namespace, unless it is not due. It waits only for a training with the same mutex
// `oneAtATime`, which bounds the memory of concurrent trainings. Another training of the same cohort may have begun with fewer
// runs: of two concurrent trainings of a cohort, the first to end is published. It only logs errors, because the models of the
// tasks do not depend on the cohort.
//
// A cohort is trained at the same priority as the tasks, because the first runs of new tasks depend on it.
func (t *Trainer) updateCohort(ctx context.Context, namespace string, oneAtATime *sync.Mutex) {
	if t.cfg.NoCohorts || t.growth.isTooEarly(namespace, time.Now()) {
		return
	}
	oneAtATime.Lock()
	defer oneAtATime.Unlock()
	for range 3 {
		if ctx.Err() != nil {
			return
		}
		err := t.trainCohort(ctx, namespace)
		if sizing.KindOf(err) == sizing.Conflict {
			continue // another training was published first; the cohort may be due again
		}
		if err != nil && ctx.Err() == nil {
			t.log.WarnContext(ctx, "failed to train a cohort", "namespace", namespace, "err", err)
		}
		return
	}
}

// namespaceSet is a set of namespaces, for one goroutine that waits for `added` and then takes all of them.
type namespaceSet struct {
	mu         sync.Mutex
	namespaces map[string]struct{}
	added      chan struct{} // receives after an addition; capacity 1
}

func newNamespaceSet() *namespaceSet {
	return &namespaceSet{namespaces: map[string]struct{}{}, added: make(chan struct{}, 1)}
}

func (s *namespaceSet) add(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces[namespace] = struct{}{}
	select {
	case s.added <- struct{}{}:
	default:
	}
}

func (s *namespaceSet) takeAll() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(maps.Keys(s.namespaces))
	clear(s.namespaces)
	return all
}

func (t *Trainer) trainCohort(ctx context.Context, namespace string) error {
	start := time.Now() // usage profiles that are found later are not in this cohort
	age, err := t.store.CohortAge(ctx, namespace, cohort.RowsPerTask)
	if err != nil {
		return err
	}
	if t.growth.set(namespace, &age, time.Now()); !isCohortDue(&age) {
		return nil
	}
	stored, err := t.store.ContextRows(ctx, namespace, cohort.RowsPerTask, cohort.MaxRows)
	if err != nil {
		return err
	}
	rows := make([]cohort.Row, 0, len(stored))
	for i := range stored {
		if row, ok := cohort.RowOf(&stored[i]); ok {
			rows = append(rows, row)
		}
	}
	profiles, err := t.storedProfiles(ctx, namespace)
	if err != nil {
		return err
	}
	var model *cohort.Model
	err = recovering(func() error {
		if model = cohort.Fit(rows); model != nil && profiles != nil {
			model = model.WithProfiles(cohort.FitProfiles(rows, profiles))
		}
		return nil
	})
	if err != nil || model == nil {
		return err
	}
	blob, err := model.MarshalBinary()
	if err != nil {
		return err
	}
	version, err := t.store.PublishCohort(ctx, store.Cohort{
		Namespace: namespace, Version: age.Version, Format: cohort.Format, Blob: blob, Runs: age.Runs, Kills: age.Kills,
		UsedRuns: age.UsedRuns, UsedKills: age.UsedKills, TrainedAt: start,
	})
	if err == nil {
		t.log.InfoContext(ctx, "trained a cohort", "namespace", namespace, "version", version, "tasks", model.Tasks, "runs", model.Runs, "took", time.Since(start))
	}
	return err
}

// storedProfiles reads the usage profiles of a namespace. It returns nil if there are none or they cannot be decoded.
func (t *Trainer) storedProfiles(ctx context.Context, namespace string) (*usageprofile.Set, error) {
	stored, err := t.store.UsageProfiles(ctx, namespace, 0)
	if sizing.KindOf(err) == sizing.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.decodeProfiles(ctx, &stored), nil
}

// isCohortDue returns false if a training can use fewer than cohort.MinSuccesses reports. Otherwise the cohort is due if it has
// another format, if new usage profiles were found, or if the number of usable reports or of usable kills has grown by more
// than the share cohort.RefitGrowth since the last training. If there are few kills, one more kill is enough.
func isCohortDue(age *store.CohortAge) bool {
	switch {
	case age.UsedRuns < cohort.MinSuccesses:
		return false
	case age.Format != cohort.Format || age.HasNewProfiles:
		return true
	}
	grown := func(now, learned int) bool { return float64(now) > float64(learned)*(1+cohort.RefitGrowth) }
	return grown(age.UsedRuns, age.LearnedRuns) || grown(age.UsedKills, age.LearnedKills)
}
