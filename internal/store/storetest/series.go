package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func series(points int) *sizing.Series {
	s := &sizing.Series{Step: 1500 * time.Microsecond}
	for i := range points {
		s.Memory, s.CPU = append(s.Memory, int64(i)*int64(sizing.GiB)), append(s.CPU, float64(i)/8)
	}
	return s
}

func requireSeries(t *testing.T, st store.Store, want *sizing.Series, try sizing.TryKey) {
	t.Helper()
	got, err := st.Series(t.Context(), try)
	require.NoError(t, err)
	require.Equal(t, *want, got)
}

func requireNoSeries(t *testing.T, st store.Store, try sizing.TryKey) {
	t.Helper()
	_, err := st.Series(t.Context(), try)
	requireKind(t, sizing.NotFound, err)
}

func testSeries(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("each try has its own series", func(t *testing.T) {
		obs := runs(task("own"), 150) // more reports than one group commit accepts from a call, so they get a transaction of their own
		for i := range obs[:len(obs)-1] {
			obs[i].Series = series(1 + i%sizing.MaxPoints)
		}
		obs[1].Series.CPU = nil
		recordNew(t, st, obs...)
		for i := range obs[:len(obs)-1] {
			requireSeries(t, st, obs[i].Series, obs[i].Try)
		}
		requireNoSeries(t, st, obs[len(obs)-1].Try)
		requireNoSeries(t, st, firstTry(task("own"), "unknown"))
		requireNoSeries(t, st, firstTry(task("unknown"), "run00000"))
	})

	t.Run("the first series stays, and a second one contradicts nothing", func(t *testing.T) {
		noSeries := completeKill(task("first"))
		o, other := noSeries, noSeries
		o.Series, other.Series = series(3), series(4)
		recordNew(t, st, noSeries)
		require.Equal(t, amended, statusOf(record(t, st, o)[0]), "the series must amend the try, which had none")
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, noSeries)[0]), "omitted fields must contradict nothing")
		require.Equal(t, duplicate, statusOf(record(t, st, other)[0]), "another series of the same try must be ignored")
		requireSeries(t, st, o.Series, o.Try)
	})

	t.Run("a contradicting report stores no series", func(t *testing.T) {
		o := completeKill(task("contradicting"))
		recordNew(t, st, o)
		o.CPUMax, o.Series = 3, series(3)
		requireConflict(t, "cpu_max_cores", record(t, st, o)[0])
		requireNoSeries(t, st, o.Try)
	})

	t.Run("in one call the first series stays, too", func(t *testing.T) {
		noSeries := completeKill(task("together"))
		o, other := noSeries, noSeries
		o.Series, other.Series = series(3), series(4)
		r := record(t, st, noSeries, o, other)
		require.Equal(t, []string{created, amended, duplicate}, []string{statusOf(r[0]), statusOf(r[1]), statusOf(r[2])})
		requireSeries(t, st, o.Series, o.Try)
	})

	t.Run("a series does not make the task due", func(t *testing.T) {
		st := open(t)
		o := runs(task("quiet"), 1)[0]
		recordNew(t, st, o)
		finish(t, st, claimLater(t, st, o.Try.TaskKey))
		o.Series = series(3)
		require.Equal(t, amended, statusOf(record(t, st, o)[0]))
		backlog, err := st.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, backlog.Waiting)
	})

	t.Run("Void deletes a series, and Rename moves it", func(t *testing.T) {
		obs, to := runs(task("old name"), 2), task("new name")
		for i := range obs {
			obs[i].Series = series(2 + i)
		}
		recordNew(t, st, obs...)
		require.NoError(t, st.Rename(t.Context(), task("old name"), to))
		requireNoSeries(t, st, obs[0].Try)
		for i := range obs {
			obs[i].Try.TaskKey = to
			requireSeries(t, st, obs[i].Series, obs[i].Try)
		}
		require.NoError(t, st.Void(t.Context(), obs[0].Try))
		requireNoSeries(t, st, obs[0].Try)
		requireSeries(t, st, obs[1].Series, obs[1].Try)
		obs[0].Series = nil
		recordNew(t, st, obs[0])
		requireNoSeries(t, st, obs[0].Try)
		require.NoError(t, st.DeleteTask(t.Context(), to))
		recordNew(t, st, obs[0])
		requireNoSeries(t, st, obs[1].Try)
	})

	t.Run("removing an observation deletes its series", func(t *testing.T) {
		key := task("removed")
		obs := runs(key, 200)
		for i := range obs {
			obs[i].Series = series(2)
		}
		recordNew(t, st, obs...)
		publishAll(t, st, key)
		removed := removeObservations(t, st, key, noon.Add(1000*time.Hour))
		require.Positive(t, removed)
		left := 0
		for i := range obs {
			if _, err := st.Series(t.Context(), obs[i].Try); err == nil {
				left++
			}
		}
		require.Equal(t, 200-removed, left)
	})
}
