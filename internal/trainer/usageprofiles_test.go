package trainer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// reportUsage stores `runs` reports of six tasks. Three of the tasks use little and three much.
func reportUsage(t *testing.T, st store.Store, namespace, batch string, runs int) {
	t.Helper()
	var reports []sizing.Observation
	for i := range runs {
		task, wobble := i%6, 1+0.02*float64(i*7%11)
		o := sizing.Observation{Outcome: sizing.Success, MemoryMax: sizing.Bytes(2e8 * wobble), Duration: time.Duration(30 * wobble * 1e9), Features: sizing.Features{},
			Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: namespace, DAG: "etl", Task: fmt.Sprint("t", task)}, RunID: fmt.Sprint(batch, i), MapIndex: sizing.NoMap, Number: 1}}
		if task >= 3 {
			o.MemoryMax, o.Duration = sizing.Bytes(3e10*wobble), time.Duration(4000*wobble*1e9)
		}
		reports = append(reports, o)
	}
	results, err := st.Record(t.Context(), reports)
	require.NoError(t, err)
	for _, r := range results {
		require.NoError(t, r.Err)
	}
}

func usageProfiles(t *testing.T, st store.Store, namespace string) (version int, set *usageprofile.Set) {
	t.Helper()
	stored, err := st.UsageProfiles(t.Context(), namespace, 0)
	require.NoError(t, err)
	set, err = usageprofile.Decode(stored.Format, stored.Content)
	require.NoError(t, err)
	return stored.Version, set
}

func TestUsageProfilesAreFoundAfterEnoughNewReports(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{ProfilesEvery: time.Hour})
	now := time.Now()
	find := func(later time.Duration) {
		t.Helper()
		require.NoError(t, tr.FindProfiles(t.Context(), now.Add(later)))
	}
	leaseToAnother := func(held time.Duration) {
		t.Helper()
		acquired, err := st.AcquireLease(t.Context(), "usage profiles", "another replica", held)
		require.NoError(t, err)
		require.True(t, acquired, "the pass must have ended its lease")
	}
	reportUsage(t, st, "a", "first", 60)
	reportUsage(t, st, "b", "first", 180)
	find(0)
	_, err := st.UsageProfiles(t.Context(), "a", 0)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "60 runs are too few")
	version, set := usageProfiles(t, st, "b")
	assert.Equal(t, 1, version)
	require.Len(t, set.Profiles, 2)
	assert.Len(t, set.Tasks, 6, "other namespaces are not read")

	reportUsage(t, st, "b", "second", 120)
	find(10 * time.Minute)
	version, _ = usageProfiles(t, st, "b")
	assert.Equal(t, 1, version, "the profiles are younger than an hour")
	leaseToAnother(time.Hour)
	find(2 * time.Hour)
	version, _ = usageProfiles(t, st, "b")
	assert.Equal(t, 1, version, "the other replica has the lease")
	leaseToAnother(0) // ends the lease
	find(2 * time.Hour)
	version, again := usageProfiles(t, st, "b")
	assert.Equal(t, 2, version, "the sample has grown")
	assert.Equal(t, set.Profiles[0].ID, again.Profiles[0].ID)

	reportUsage(t, st, "b", "third", 60)
	find(4 * time.Hour)
	version, _ = usageProfiles(t, st, "b")
	assert.Equal(t, 2, version, "the usage of the tasks has not changed")

	stored, err := st.UsageProfiles(t.Context(), "b", 0)
	require.NoError(t, err)
	stored.Content = stored.Content[:100]
	_, err = st.SaveUsageProfiles(t.Context(), stored)
	require.NoError(t, err)
	find(6 * time.Hour)
	version, found := usageProfiles(t, st, "b")
	assert.Equal(t, 4, version, "new profiles must replace damaged ones")
	for i := range found.Profiles {
		assert.GreaterOrEqual(t, found.Profiles[i].ID, again.NextID, "the ids of the damaged set are not used again")
		assert.Less(t, found.Profiles[i].ID, found.NextID)
	}
}

func TestARunningTrainerFindsUsageProfiles(t *testing.T) {
	st := newStore(t)
	reportUsage(t, st, "a", "first", 120)
	tr := newTrainer(st, trainer.Config{Every: time.Hour, ProfilesEvery: 20 * time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); tr.Run(ctx) }()
	version := func() int {
		stored, err := st.UsageProfiles(t.Context(), "a", 0)
		if err != nil {
			require.Equal(t, sizing.NotFound, sizing.KindOf(err))
		}
		return stored.Version
	}
	require.Eventually(t, func() bool { return version() == 1 }, testwait.Limit, 5*time.Millisecond)
	reportUsage(t, st, "a", "second", 120)
	require.Eventually(t, func() bool { return version() == 2 }, testwait.Limit, 5*time.Millisecond, "the sample has doubled")
	stop()
	<-ended
	reportUsage(t, st, "a", "third", 300)
	none := newTrainer(st, trainer.Config{Every: time.Hour})
	ctx, stop = context.WithCancel(t.Context())
	stop()
	none.Run(ctx)
	assert.Equal(t, 2, version())
}

// savingStore counts the attempts to store a set, and calls `before` at the first of them.
type savingStore struct {
	*hookedStore
	mu     sync.Mutex
	saved  int
	before func()
}

func (s *savingStore) SaveUsageProfiles(ctx context.Context, p store.UsageProfiles) (int, error) {
	s.mu.Lock()
	s.saved++
	before := s.before
	s.before = nil
	s.mu.Unlock()
	if before != nil {
		before()
	}
	return s.hookedStore.SaveUsageProfiles(ctx, p)
}

func TestTwoReplicasFindUsageProfilesOnce(t *testing.T) {
	st := &savingStore{hookedStore: newStore(t)}
	namespaces := []string{"a", "b", "c"}
	for _, namespace := range namespaces {
		reportUsage(t, st, namespace, "first", 120)
	}
	now := time.Now()
	var replicas sync.WaitGroup
	for range 2 {
		tr := newTrainer(st, trainer.Config{ProfilesEvery: time.Hour})
		replicas.Go(func() { assert.NoError(t, tr.FindProfiles(t.Context(), now)) })
	}
	replicas.Wait()
	assert.Equal(t, len(namespaces), st.saved)
	for _, namespace := range namespaces {
		version, _ := usageProfiles(t, st, namespace)
		assert.Equal(t, 1, version)
	}
}

func TestALateReplicaDoesNotReplaceUsageProfiles(t *testing.T) {
	st := &savingStore{hookedStore: newStore(t)}
	reportUsage(t, st, "a", "first", 120)
	now := time.Now()
	other := newTrainer(st, trainer.Config{ProfilesEvery: time.Hour})
	st.before = func() {
		st.sql(t, `UPDATE duty SET until = now() - interval '1 second'`)
		assert.NoError(t, other.FindProfiles(t.Context(), now))
	}
	late := newTrainer(st, trainer.Config{ProfilesEvery: time.Hour})
	require.NoError(t, late.FindProfiles(t.Context(), now), "the conflict is no error")
	assert.Equal(t, 2, st.saved)
	version, _ := usageProfiles(t, st, "a")
	assert.Equal(t, 1, version)
}

// The reports of a namespace arrive before its profiles are found, and no report arrives later.
func TestFoundProfilesGetIntoTheCohort(t *testing.T) {
	st := newStore(t)
	var reports []sizing.Observation
	for i := range 120 {
		task, much := i%24, i%2 == 1
		wobble := 1 + 0.02*float64(i*7%11)
		o := sizing.Observation{Outcome: sizing.Success, MemoryMax: sizing.Bytes(2e8 * wobble), Duration: time.Duration(30 * wobble * 1e9), Features: sizing.Features{},
			Metadata: sizing.Metadata{"image": {fmt.Sprint(much)}},
			Try:      sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "a", DAG: "etl", Task: fmt.Sprint("t", task)}, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1}}
		if much {
			o.MemoryMax, o.Duration = sizing.Bytes(3e10*wobble), time.Duration(4000*wobble*1e9)
		}
		reports = append(reports, o)
	}
	_, err := st.Record(t.Context(), reports)
	require.NoError(t, err)
	tr := newTrainer(st, trainer.Config{ProfilesEvery: time.Hour})
	_, err = tr.TrainNow(t.Context(), reports[0].Try.TaskKey)
	require.NoError(t, err)
	place := func() (version int, ok bool) {
		stored, err := st.Cohort(t.Context(), "a")
		require.NoError(t, err)
		m, err := cohort.Open(stored.Blob)
		require.NoError(t, err)
		_, ok = m.Place(&cohort.Facts{Metadata: sizing.Metadata{"image": {"true"}}})
		return stored.Version, ok
	}
	_, ok := place()
	require.False(t, ok, "no profiles are known yet")
	require.NoError(t, tr.FindProfiles(t.Context(), time.Now()))
	version, ok := place()
	assert.True(t, ok, "the cohort must know the profiles")
	_, err = tr.TrainNow(t.Context(), reports[0].Try.TaskKey)
	require.NoError(t, err)
	again, _ := place()
	assert.Equal(t, version, again, "the cohort is not due again")
}
