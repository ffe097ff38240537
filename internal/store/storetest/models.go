package storetest

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// model is a model of a task that is known.
func model(t *testing.T, st store.Store, name string) store.Model {
	t.Helper()
	recordNew(t, st, runs(task(name), 1)...)
	return store.Model{Task: task(name), Family: "boosted", Format: 3, Blob: bytes.Repeat([]byte{0, 255, 7}, 1000),
		Observations: 1460, LastSeq: 77, TrainedAt: noon, Evaluation: []byte(`{"b": 1,  "a":2}`)}
}

func publish(t *testing.T, st store.Store, m store.Model, expected int) int {
	t.Helper()
	version, err := st.Publish(t.Context(), m, expected)
	require.NoError(t, err)
	return version
}

func examineModels(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("the active model is read back with its blob", func(t *testing.T) {
		m := model(t, st, "blob")
		require.Equal(t, 1, publish(t, st, m, 0))
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		m.Version, m.Active = 1, true
		require.Equal(t, m, got)
	})

	t.Run("the shares of a DAG are those of its active models", func(t *testing.T) {
		shared, old := model(t, st, "shared"), model(t, st, "old")
		model(t, st, "young")
		publish(t, st, shared, 0)
		shared.Share = []byte{1, 0, 2}
		publish(t, st, shared, 1)
		publish(t, st, old, 0)
		got := map[string]store.Model{}
		collect := func(m store.Model) error { got[m.Task.Task] = m; return nil }
		require.NoError(t, st.Shares(t.Context(), task("any"), collect))
		require.Equal(t, store.Model{Task: shared.Task, Version: 2, Share: shared.Share, Active: true}, got["shared"])
		require.Equal(t, store.Model{Task: old.Task, Version: 1, Blob: old.Blob, Active: true}, got["old"], "with the blob that holds its share")
		require.NotContains(t, got, "young")

		clear(got)
		other := shared.Task
		other.DAG = "nobody's"
		require.NoError(t, st.Shares(t.Context(), other, collect))
		require.Empty(t, got)
		ended := sizing.Errorf(sizing.Internal, "enough")
		require.ErrorIs(t, st.Shares(t.Context(), task("any"), func(store.Model) error { return ended }), ended)
	})

	t.Run("without a model there is none", func(t *testing.T) {
		m := model(t, st, "none")
		for _, key := range []sizing.TaskKey{m.Task, task("unknown")} {
			_, err := st.ActiveModel(t.Context(), key)
			requireKind(t, sizing.NotFound, err)
			versions, err := st.ModelVersions(t.Context(), key)
			require.NoError(t, err)
			require.Empty(t, versions)
		}
	})

	t.Run("nothing is published over another's version, nor for a task that is gone", func(t *testing.T) {
		m := model(t, st, "swap")
		publish(t, st, m, 0)
		for _, expected := range []int{0, 2} {
			_, err := st.Publish(t.Context(), m, expected)
			requireKind(t, sizing.Conflict, err)
		}
		require.Equal(t, 2, publish(t, st, m, 1))
		m.Task = task("unknown")
		_, err := st.Publish(t.Context(), m, 0)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("an older version answers again, and nothing is published over it until it is unpinned", func(t *testing.T) {
		m := model(t, st, "rollback")
		publish(t, st, m, 0)
		publish(t, st, m, 1)
		require.NoError(t, st.Activate(as(t, "ada"), m.Task, 1))
		active, err := st.ActiveVersions(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, active[m.Task])
		for _, expected := range []int{1, 2} {
			_, err = st.Publish(t.Context(), m, expected)
			requireKind(t, sizing.Conflict, err)
		}
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		require.Equal(t, "ada", got.PinnedBy)
		require.NoError(t, st.Unpin(t.Context(), m.Task))
		require.NoError(t, st.Unpin(t.Context(), m.Task), "twice")
		require.Equal(t, 3, publish(t, st, m, 1))

		requireKind(t, sizing.NotFound, st.Activate(t.Context(), m.Task, 4))
		requireKind(t, sizing.NotFound, st.Activate(t.Context(), task("unknown"), 1))
		requireKind(t, sizing.NotFound, st.Unpin(t.Context(), task("unknown")))
	})

	t.Run("the watchdog goes back past what it withdraws, until the next is published", func(t *testing.T) {
		m := model(t, st, "watchdog")
		for v := range 3 {
			publish(t, st, m, v)
		}
		back := store.RollBack{Task: m.Task, From: 3, To: 1, Withdrawn: []int{2, 3}, Reason: "killed"}
		requireKind(t, sizing.Conflict, st.RollBack(t.Context(), store.RollBack{Task: m.Task, From: 2, To: 1}))
		requireKind(t, sizing.NotFound, st.RollBack(t.Context(), store.RollBack{Task: m.Task, From: 3, To: 7}))
		require.NoError(t, st.RollBack(t.Context(), back))
		requireKind(t, sizing.Conflict, st.RollBack(t.Context(), back))
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		require.Equal(t, []bool{true, true, false}, []bool{versions[0].Withdrawn, versions[1].Withdrawn, versions[2].Withdrawn})
		require.Equal(t, []string{"", "", store.Watchdog}, []string{versions[0].PinnedBy, versions[1].PinnedBy, versions[2].PinnedBy})
		require.Equal(t, 4, publish(t, st, m, 1), "a training may win against it")
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		require.Empty(t, got.PinnedBy)

		require.NoError(t, st.Activate(t.Context(), m.Task, 3), "a person may")
		got, err = st.Model(t.Context(), m.Task, 3)
		require.NoError(t, err)
		require.Equal(t, []any{3, true, false, store.Anonymous, m.Blob}, []any{got.Version, got.Active, got.Withdrawn, got.PinnedBy, got.Blob})
		_, err = st.Model(t.Context(), m.Task, 5)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("old versions go, but never the active one", func(t *testing.T) {
		m := model(t, st, "prune")
		for v := range store.KeepVersions + 2 {
			publish(t, st, m, v)
		}
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		require.Len(t, versions, store.KeepVersions)
		for i, v := range versions {
			require.Equal(t, store.KeepVersions+2-i, v.Version, "newest first")
			require.Equal(t, i == 0, v.Active)
			require.Nil(t, v.Blob)
			require.Equal(t, m.Evaluation, v.Evaluation)
		}
		// 3 is the oldest: active while 13 is being published, it is pruned after.
		require.NoError(t, st.Activate(t.Context(), m.Task, 3))
		require.NoError(t, st.Unpin(t.Context(), m.Task))
		require.Equal(t, store.KeepVersions+3, publish(t, st, m, 3))
		requireKind(t, sizing.NotFound, st.Activate(t.Context(), m.Task, 3))
	})

	t.Run("of the old versions milestones stay for a while", func(t *testing.T) {
		m := model(t, st, "milestones")
		m.Blob = []byte{1}
		const newest = store.MilestoneEvery * (store.KeepVersions + 1)
		for v := range newest {
			publish(t, st, m, v)
		}
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		var kept []int
		for _, v := range versions {
			kept = append(kept, v.Version)
		}
		want := []int{176, 175, 174, 173, 172, 171, 170, 169, 168, 167, 160, 144, 128, 112, 96, 80, 64, 48, 32}
		require.Equal(t, want, kept)
	})

	t.Run("a model needs no exam", func(t *testing.T) {
		m := model(t, st, "unexamined")
		m.Evaluation = nil
		publish(t, st, m, 0)
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		require.Nil(t, got.Evaluation)
	})
}

func examinePublishers(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "publishers")
	for expected := range 3 {
		t.Run(fmt.Sprintf("of eight who expect %d one wins", expected), func(t *testing.T) {
			var won atomic.Int64
			inParallel(t, 8, func(ctx context.Context, worker int) error {
				version, err := st.Publish(ctx, m, expected)
				switch {
				case err == nil && version == expected+1:
					won.Add(1)
				case err == nil:
					return fmt.Errorf("published as %d", version)
				case sizing.KindOf(err) != sizing.Conflict:
					return err
				}
				return nil
			})
			require.EqualValues(t, 1, won.Load())
		})
	}
}

func examineChanges(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "changes")
	other, weird := task("renamed"), sizing.TaskKey{Namespace: "näm\"espace", DAG: "<dag>", Task: "☃"}
	ctx, cancel := context.WithCancel(t.Context())
	ready, changed, ended := make(chan struct{}), make(chan sizing.TaskKey, 100), make(chan error, 1)
	go func() {
		ended <- st.Changes(ctx, func() { close(ready) }, func(key sizing.TaskKey) { changed <- key })
	}()
	expect := func(claim string, keys ...sizing.TaskKey) {
		for _, key := range keys {
			select {
			case got := <-changed:
				require.Equal(t, key, got, claim)
			case <-time.After(10 * time.Second):
				require.Fail(t, "not told of a "+claim)
			}
		}
	}
	<-ready
	publish(t, st, m, 0)
	expect("publication", m.Task)
	_, err := st.Publish(ctx, m, 7)
	requireKind(t, sizing.Conflict, err) // and nobody is told
	require.NoError(t, st.Activate(ctx, m.Task, 1))
	expect("activation", m.Task)
	require.NoError(t, st.SetPolicy(ctx, weird, sizing.Policy{Mode: sizing.Shadow}))
	expect("policy", weird)
	require.NoError(t, st.Rename(ctx, m.Task, other))
	expect("rename", m.Task, other)
	require.NoError(t, st.DeleteTask(ctx, other))
	expect("deletion", other)
	cancel()
	require.Error(t, <-ended)
	require.Empty(t, changed)
}
