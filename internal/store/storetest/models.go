package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/testwait"
)

func model(t *testing.T, st store.Store, name string) store.Model {
	t.Helper()
	return modelOf(t, st, task(name))
}

func modelOf(t *testing.T, st store.Store, key sizing.TaskKey) store.Model {
	t.Helper()
	recordNew(t, st, runs(key, 1)...)
	return store.Model{Task: key, Family: "boosted", Format: 3, Blob: bytes.Repeat([]byte{0, 255, 7}, 1000),
		Observations: 1460, LastSeq: 77, TrainedAt: noon, Evaluation: []byte(`{"b": 1,  "a":2}`)}
}

func publish(t *testing.T, st store.Store, m store.Model, expected int) int {
	t.Helper()
	version, err := st.Publish(t.Context(), m, expected)
	require.NoError(t, err)
	return version
}

func testModels(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("the active model is read back with its blob", func(t *testing.T) {
		m := model(t, st, "blob")
		require.Equal(t, 1, publish(t, st, m, 0))
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		m.Version, m.Active = 1, true
		require.Equal(t, m, got)
	})

	t.Run("Shares returns the shares of a DAG's active models", func(t *testing.T) {
		shared, old := model(t, st, "shared"), model(t, st, "old")
		model(t, st, "unpublished")
		publish(t, st, shared, 0)
		shared.Share = []byte{1, 0, 2}
		publish(t, st, shared, 1)
		publish(t, st, old, 0)
		got := map[string]store.Model{}
		collect := func(m store.Model) error { got[m.Task.Task] = m; return nil }
		require.NoError(t, st.Shares(t.Context(), task("any"), collect))
		require.Equal(t, store.Model{Task: shared.Task, Version: 2, Share: shared.Share, Active: true}, got["shared"])
		require.Equal(t, store.Model{Task: old.Task, Version: 1, Blob: old.Blob, Active: true}, got["old"], "a model without a share must have its blob, which contains the share")
		require.NotContains(t, got, "unpublished")

		clear(got)
		other := shared.Task
		other.DAG = "unknown"
		require.NoError(t, st.Shares(t.Context(), other, collect))
		require.Empty(t, got)
		stop := sizing.Errorf(sizing.Internal, "stop")
		require.ErrorIs(t, st.Shares(t.Context(), task("any"), func(store.Model) error { return stop }), stop)
	})

	t.Run("NamespaceShares returns the shares of a namespace's active models in order", func(t *testing.T) {
		var published []sizing.TaskKey
		for _, key := range []sizing.TaskKey{
			{Namespace: "crowded", DAG: "b", Task: "x"}, {Namespace: "crowded", DAG: "a", Task: "z"}, {Namespace: "crowded", DAG: "a", Task: "y"},
		} {
			m := modelOf(t, st, key)
			m.Share = []byte(key.DAG + key.Task)
			publish(t, st, m, 0)
			published = append(published, key)
		}
		publish(t, st, modelOf(t, st, sizing.TaskKey{Namespace: "crowded", DAG: "a", Task: "without share"}), 0)
		var got []store.Model
		require.NoError(t, st.NamespaceShares(t.Context(), "crowded", func(m store.Model) error {
			m.Share = slices.Clone(m.Share)
			got = append(got, m)
			return nil
		}))
		require.Equal(t, []store.Model{
			{Task: published[2], Version: 1, Share: []byte("ay"), Active: true},
			{Task: published[1], Version: 1, Share: []byte("az"), Active: true},
			{Task: published[0], Version: 1, Share: []byte("bx"), Active: true},
		}, got)
		stop := sizing.Errorf(sizing.Internal, "stop")
		require.ErrorIs(t, st.NamespaceShares(t.Context(), "crowded", func(store.Model) error { return stop }), stop)
	})

	t.Run("a task without a model has no active version", func(t *testing.T) {
		m := model(t, st, "none")
		for _, key := range []sizing.TaskKey{m.Task, task("unknown")} {
			_, err := st.ActiveModel(t.Context(), key)
			requireKind(t, sizing.NotFound, err)
			versions, err := st.ModelVersions(t.Context(), key)
			require.NoError(t, err)
			require.Empty(t, versions)
		}
	})

	t.Run("publishing over an unexpected version or for an unknown task fails", func(t *testing.T) {
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

	t.Run("an activated older version is pinned until it is unpinned", func(t *testing.T) {
		m := model(t, st, "rollback")
		publish(t, st, m, 0)
		publish(t, st, m, 1)
		require.NoError(t, st.Activate(asActor(t, "ada"), m.Task, 1))
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
		require.NoError(t, st.Unpin(t.Context(), m.Task), "a second Unpin must be no error")
		require.Equal(t, 3, publish(t, st, m, 1))

		requireKind(t, sizing.NotFound, st.Activate(t.Context(), m.Task, 4))
		requireKind(t, sizing.NotFound, st.Activate(t.Context(), task("unknown"), 1))
		requireKind(t, sizing.NotFound, st.Unpin(t.Context(), task("unknown")))
	})

	t.Run("a rollback withdraws versions, and the next publication replaces its pin", func(t *testing.T) {
		m := model(t, st, "watchdog")
		for v := range 3 {
			publish(t, st, m, v)
		}
		rollback := store.Rollback{Task: m.Task, From: 3, To: 1, Withdrawn: []int{2, 3}, Reason: "killed"}
		requireKind(t, sizing.Conflict, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 2, To: 1}))
		requireKind(t, sizing.NotFound, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 3, To: 7}))
		require.NoError(t, st.RollBack(t.Context(), rollback))
		requireKind(t, sizing.Conflict, st.RollBack(t.Context(), rollback))
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		require.Equal(t, []bool{true, true, false}, []bool{versions[0].Withdrawn, versions[1].Withdrawn, versions[2].Withdrawn})
		require.Equal(t, []string{"", "", store.Watchdog}, []string{versions[0].PinnedBy, versions[1].PinnedBy, versions[2].PinnedBy})
		require.Equal(t, 4, publish(t, st, m, 1), "a publication must replace the pin of the watchdog")
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		require.Empty(t, got.PinnedBy)

		require.NoError(t, st.Activate(t.Context(), m.Task, 3), "a person must be able to activate a withdrawn version")
		got, err = st.Model(t.Context(), m.Task, 3)
		require.NoError(t, err)
		require.Equal(t, []any{3, true, false, store.Anonymous, m.Blob}, []any{got.Version, got.Active, got.Withdrawn, got.PinnedBy, got.Blob})
		_, err = st.Model(t.Context(), m.Task, 5)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("a publication deletes old versions, also the version that was active", func(t *testing.T) {
		m := model(t, st, "prune")
		for v := range store.KeepVersions + 2 {
			publish(t, st, m, v)
		}
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		require.Len(t, versions, store.KeepVersions)
		for i, v := range versions {
			require.Equal(t, store.KeepVersions+2-i, v.Version, "the newest version must come first")
			require.Equal(t, i == 0, v.Active)
			require.Nil(t, v.Blob)
			require.Equal(t, m.Evaluation, v.Evaluation)
		}
		// Version 3 is the oldest. The next publication deletes it.
		require.NoError(t, st.Activate(t.Context(), m.Task, 3))
		require.NoError(t, st.Unpin(t.Context(), m.Task))
		require.Equal(t, store.KeepVersions+3, publish(t, st, m, 3))
		requireKind(t, sizing.NotFound, st.Activate(t.Context(), m.Task, 3))
	})

	// A milestone is a version whose number is a multiple of store.MilestoneEvery.
	t.Run("milestones stay longer than other old versions", func(t *testing.T) {
		m := model(t, st, "milestones")
		m.Blob = []byte{1}
		const newest = 176
		for v := range newest {
			publish(t, st, m, v)
		}
		versions, err := st.ModelVersions(t.Context(), m.Task)
		require.NoError(t, err)
		var kept []int
		for _, v := range versions {
			kept = append(kept, v.Version)
		}
		want := []int{176, 175, 174, 173, 172, 171, 160, 144, 128}
		require.Equal(t, want, kept)
	})

	t.Run("a model needs no evaluation", func(t *testing.T) {
		m := model(t, st, "no evaluation")
		m.Evaluation = nil
		publish(t, st, m, 0)
		got, err := st.ActiveModel(t.Context(), m.Task)
		require.NoError(t, err)
		require.Nil(t, got.Evaluation)
	})
}

func testConcurrentPublish(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "publishers")
	for expected := range 3 {
		t.Run(fmt.Sprintf("one of eight publishers that expect version %d succeeds", expected), func(t *testing.T) {
			var succeeded atomic.Int64
			inParallel(t, 8, func(ctx context.Context, worker int) error {
				version, err := st.Publish(ctx, m, expected)
				switch {
				case err == nil && version == expected+1:
					succeeded.Add(1)
				case err == nil:
					return fmt.Errorf("published as %d", version)
				case sizing.KindOf(err) != sizing.Conflict:
					return err
				}
				return nil
			})
			require.EqualValues(t, 1, succeeded.Load())
		})
	}
}

func testChanges(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "changes")
	other, nonASCII := task("renamed"), sizing.TaskKey{Namespace: "näm\"espace", DAG: "<dag>", Task: "☃"}
	ctx, cancel := context.WithCancel(t.Context())
	ready, changed, ended := make(chan struct{}), make(chan sizing.TaskKey, 100), make(chan error, 1)
	go func() {
		ended <- st.Changes(ctx, func() { close(ready) }, func(key sizing.TaskKey) { changed <- key })
	}()
	expect := func(change string, keys ...sizing.TaskKey) {
		for _, key := range keys {
			select {
			case got := <-changed:
				require.Equal(t, key, got, change)
			case <-time.After(testwait.Limit):
				require.Fail(t, "no notification of a "+change)
			}
		}
	}
	<-ready
	publish(t, st, m, 0)
	expect("publication", m.Task)
	_, err := st.Publish(ctx, m, 7)
	requireKind(t, sizing.Conflict, err) // without a notification
	require.NoError(t, st.Activate(ctx, m.Task, 1))
	expect("activation", m.Task)
	require.NoError(t, st.SetPolicy(ctx, nonASCII, sizing.Policy{Mode: sizing.Shadow}))
	expect("policy change", nonASCII)
	require.NoError(t, st.Rename(ctx, m.Task, other))
	expect("rename", m.Task, other)
	require.NoError(t, st.DeleteTask(ctx, other))
	expect("deletion", other)
	cancel()
	require.Error(t, <-ended)
	require.Empty(t, changed)
}
