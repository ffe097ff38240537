package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testUsageProfiles(t *testing.T, open func(*testing.T) store.Store) {
	st, ctx := open(t), t.Context()
	_, err := st.UsageProfiles(ctx, "a", 0)
	requireKind(t, sizing.NotFound, err)
	first := store.UsageProfiles{Namespace: "a", Format: 1, Runs: 100, LearnedAt: noon, Content: []byte{1, 2}}
	version, err := st.SaveUsageProfiles(ctx, first)
	require.NoError(t, err)
	require.Equal(t, 1, version)
	_, err = st.SaveUsageProfiles(ctx, first)
	requireKind(t, sizing.Conflict, err)

	second := store.UsageProfiles{Namespace: "a", Version: 1, Format: 2, Runs: 200, LearnedAt: noon.AddDate(0, 0, 1), Content: []byte{3}}
	version, err = st.SaveUsageProfiles(ctx, second)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	_, err = st.SaveUsageProfiles(ctx, second)
	requireKind(t, sizing.Conflict, err)

	got, err := st.UsageProfiles(ctx, "a", 1)
	require.NoError(t, err)
	second.Version = 2
	require.Equal(t, second, got)
	got, err = st.UsageProfiles(ctx, "a", 2)
	require.NoError(t, err)
	second.Content = nil
	require.Equal(t, second, got, "a known version must be returned without content")
	_, err = st.UsageProfiles(ctx, "b", 0)
	requireKind(t, sizing.NotFound, err)
	_, err = st.SaveUsageProfiles(ctx, store.UsageProfiles{Namespace: "b", LearnedAt: noon, Content: make([]byte, store.MaxUsageProfiles+1)})
	require.Error(t, err, "content above MaxUsageProfiles must be rejected")

	load, other := task("load"), task("other")
	recordNew(t, st, runs(load, 5)...)
	recordNew(t, st, runs(other, 3)...)
	recordNew(t, st, withContext(kill(firstTry(load, "killed"), sizing.GiB), "emea"))
	rows, err := st.RecentContext(ctx, load, 3)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	for i, r := range rows {
		require.Equal(t, load, r.Task)
		require.True(t, i == 0 || !r.At.Before(rows[i-1].At), "rows must be ordered by time")
	}
	rows, err = st.RecentContext(ctx, load, 100)
	require.NoError(t, err)
	require.Len(t, rows, 6)
	killed := 0
	for _, r := range rows {
		if r.RunID == "killed" {
			require.Equal(t, 5e8, r.Usage.Get(sizing.MemoryMean))
			killed++
		}
	}
	require.Equal(t, 1, killed)
	rows, err = st.RecentContext(ctx, task("unknown"), 3)
	require.NoError(t, err)
	require.Empty(t, rows)
}
