package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testCohorts(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	ctx := t.Context()
	_, err := st.Cohort(ctx, "emea")
	requireKind(t, sizing.NotFound, err)
	age, err := st.CohortAge(ctx, "emea", 2)
	require.NoError(t, err)
	require.Zero(t, age)

	c := store.Cohort{Namespace: "emea", Format: 1, Blob: []byte("first"), Runs: 20, Kills: 3, UsedRuns: 12, UsedKills: 2, TrainedAt: noon}
	version, err := st.PublishCohort(ctx, c)
	require.NoError(t, err)
	require.Equal(t, 1, version)
	_, err = st.PublishCohort(ctx, c)
	requireKind(t, sizing.Conflict, err)
	unstored := c
	unstored.Namespace, unstored.Version = "apac", 3
	_, err = st.PublishCohort(ctx, unstored)
	requireKind(t, sizing.Conflict, err) // no version is stored
	_, err = st.Cohort(ctx, "apac")
	requireKind(t, sizing.NotFound, err)
	c.Version = 1
	got, err := st.Cohort(ctx, "emea")
	require.NoError(t, err)
	require.Equal(t, c, got)

	c.Blob = []byte("second")
	version, err = st.PublishCohort(ctx, c)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	versions, err := st.CohortVersions(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"emea": 2}, versions)

	key := sizing.TaskKey{Namespace: "emea", DAG: "dag", Task: "a"}
	recordNew(t, st, success(firstTry(key, "r1"), sizing.GiB, 1), kill(firstTry(key, "r2"), sizing.GiB), success(firstTry(key, "r3"), sizing.GiB, 1))
	other := sizing.TaskKey{Namespace: "emea", DAG: "dag", Task: "b"}
	recordNew(t, st, success(firstTry(other, "r1"), sizing.GiB, 1))
	recordNew(t, st, success(firstTry(task("elsewhere"), "r1"), sizing.GiB, 1))
	age, err = st.CohortAge(ctx, "emea", 2)
	require.NoError(t, err)
	require.Equal(t, store.CohortAge{Version: 2, Format: 1, LearnedRuns: 12, LearnedKills: 2, Runs: 4, Kills: 1, UsedRuns: 3, UsedKills: 1}, age)

	for version, learnedAt := range []time.Time{noon, noon.Add(time.Second)} {
		_, err = st.SaveUsageProfiles(ctx, store.UsageProfiles{Namespace: "emea", Version: version, Format: 1, LearnedAt: learnedAt, Content: []byte("profiles")})
		require.NoError(t, err)
		age, err = st.CohortAge(ctx, "emea", 2)
		require.NoError(t, err)
		require.Equal(t, learnedAt.After(noon), age.HasNewProfiles)
	}
}
