package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func TestChangedSinceListsEachKindOfChange(t *testing.T) {
	// The test has its own cluster, because open transactions in other databases would delay the watermark.
	server, err := pgtest.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, errors.Join(server.Stop(), pglocal.Remove(context.Background(), server.DataDir())))
	})
	st := open(t, server.DSN())
	ctx, key := t.Context(), func(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "n", DAG: "d", Task: name} }
	first, err := st.ChangedSince(ctx, 0)
	require.NoError(t, err)
	require.Positive(t, first.Watermark)
	watermark := first.Watermark
	changed := func() map[string]string {
		listed, err := st.ChangedSince(ctx, watermark)
		require.NoError(t, err)
		require.GreaterOrEqual(t, listed.Watermark, watermark)
		watermark = listed.Watermark
		found := map[string]string{}
		for _, c := range listed.Tasks {
			if c.IsGone {
				found[c.Task.Task] += "gone"
			} else {
				found[c.Task.Task] += fmt.Sprint(c.Version, " ", c.Policy.Floor)
			}
		}
		return found
	}
	require.Empty(t, changed())

	o := run(1)
	o.Try.TaskKey = key("a")
	_, err = st.Record(ctx, []sizing.Observation{o})
	require.NoError(t, err)
	require.NoError(t, st.SetPolicy(ctx, key("b"), sizing.Policy{Floor: 7}))
	require.Equal(t, map[string]string{"a": "0 0", "b": "0 7"}, changed())

	o.Try.RunID = "another" // this report changes only the schema of the task
	o.Features = sizing.Features{"new": sizing.NumberValue(1)}
	_, err = st.Record(ctx, []sizing.Observation{o})
	require.NoError(t, err)
	require.Empty(t, changed())

	for range 2 {
		versions, err := st.ActiveVersions(ctx)
		require.NoError(t, err)
		_, err = st.Publish(ctx, store.Model{Task: key("a"), Family: "f", Blob: []byte("b")}, versions[key("a")])
		require.NoError(t, err)
	}
	require.Equal(t, map[string]string{"a": "2 0"}, changed())
	require.NoError(t, st.Activate(ctx, key("a"), 1))
	require.Equal(t, map[string]string{"a": "1 0"}, changed())

	require.NoError(t, st.Rename(ctx, key("a"), key("c")))
	require.Equal(t, map[string]string{"a": "gone", "c": "1 0"}, changed())
	require.NoError(t, st.DeleteTask(ctx, key("b")))
	require.Equal(t, map[string]string{"b": "gone"}, changed())
	require.Empty(t, changed())
}

// A transaction that began before a call of ChangedSince may commit after this call.
func TestChangedSinceListsTransactionsThatCommitLate(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, lateConn := open(t, dsn), connect(t, dsn)
	key := sizing.TaskKey{Namespace: "n", DAG: "d", Task: "late"}
	require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{Floor: 1}))
	_, err := lateConn.Exec(t.Context(), `BEGIN; UPDATE task SET policy = '{"Floor": 2}'`)
	require.NoError(t, err)
	for i := range 3 { // newer transactions commit first
		require.NoError(t, st.SetPolicy(t.Context(), sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint(i)}, sizing.Policy{Floor: 1}))
	}
	before, err := st.ChangedSince(t.Context(), 0)
	require.NoError(t, err)
	_, err = lateConn.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	after, err := st.ChangedSince(t.Context(), before.Watermark)
	require.NoError(t, err)
	require.Contains(t, after.Tasks, store.ChangedTask{Task: key, Policy: sizing.Policy{Floor: 2}})
}

// BenchmarkChangedSince compares ChangedSince with the reads that list the state of all tasks.
func BenchmarkChangedSince(b *testing.B) {
	dsn := pgtest.Migrated(b)
	st := open(b, dsn)
	_, err := connect(b, dsn).Exec(b.Context(), `
		INSERT INTO task (namespace, dag_id, task_id, active_version) SELECT 'default', 'd' || i / 100, 't' || i, 1 FROM generate_series(1, 100000) i;
		INSERT INTO tally (task, observations) SELECT id, 1 FROM task;
		ANALYZE`)
	require.NoError(b, err)
	b.Run("changes", func(b *testing.B) {
		start, err := st.ChangedSince(b.Context(), 0)
		require.NoError(b, err)
		for b.Loop() {
			_, err := st.ChangedSince(b.Context(), start.Watermark)
			require.NoError(b, err)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_, err := st.Unpublished(b.Context())
			require.NoError(b, err)
			_, err = st.ActiveVersions(b.Context())
			require.NoError(b, err)
			_, err = st.Policies(b.Context())
			require.NoError(b, err)
		}
	})
}
