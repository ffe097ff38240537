package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testTries(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key := task("tries")
	obs := runs(key, 10)
	recordNew(t, st, obs...)

	recent, err := st.RecentTries(t.Context(), key, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"run00007", "run00008", "run00009"}, runIDs(recent))
	all := history(t, st, key)
	for i, row := range recent.Rows {
		want := all.Rows[7+i]
		want.Promised, want.Granted = nil, 0
		require.Equal(t, want, row)
	}
	require.Equal(t, all.Schema, recent.Schema)

	before, err := st.TriesBefore(t.Context(), key, obs[6].EndedAt, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"run00004", "run00005", "run00006"}, runIDs(before))

	killed, retried := kill(obs[4].Try, sizing.GiB), obs[4]
	killed.Try.RunID, retried.Try.RunID = "retried", "retried"
	killed.EndedAt, retried.EndedAt = noon, noon.Add(time.Second)
	retried.Try.Number = 2
	recordNew(t, st, killed, retried)
	tries, err := st.TriesOfRun(t.Context(), key, "retried", killed.Try.MapIndex)
	require.NoError(t, err)
	require.Len(t, tries.Rows, 2)
	require.Equal(t, []sizing.Outcome{sizing.OOMKilled, retried.Outcome}, []sizing.Outcome{tries.Rows[0].Outcome, tries.Rows[1].Outcome})

	other, err := st.TriesOfRun(t.Context(), key, "retried", 77)
	require.NoError(t, err)
	require.Empty(t, other.Rows)
	_, err = st.RecentTries(t.Context(), task("unknown"), 3)
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))

	recordNew(t, st, runs(task("second"), 2)...)
	several, err := st.RecentTriesOf(t.Context(), key.Namespace, key.DAG, []string{key.Task, "second", "unknown"}, 3)
	require.NoError(t, err)
	require.Len(t, several, 2)
	for _, name := range []string{key.Task, "second"} {
		want, err := st.RecentTries(t.Context(), task(name), 3)
		require.NoError(t, err)
		want.Total, want.LastSeq = 0, 0
		require.Equal(t, want, several[name])
	}
}
