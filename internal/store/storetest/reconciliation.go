package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testReconciliation(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	around := store.Window{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Now: noon, Limit: 10}

	t.Run("a lease has one owner until it expires", func(t *testing.T) {
		acquire := func(owner string, lease time.Duration) bool {
			acquired, err := st.AcquireLease(t.Context(), "reconcile", owner, lease)
			require.NoError(t, err)
			return acquired
		}
		require.True(t, acquire("a", time.Hour))
		require.True(t, acquire("a", -time.Second), "the owner must be able to renew its lease")
		require.True(t, acquire("b", time.Hour), "another owner must get a lease that has expired")
		require.False(t, acquire("a", time.Hour))
	})

	t.Run("a try is listed until it has a sampled peak or is not to be looked up again", func(t *testing.T) {
		sampled, later, settled := completeKill(task("sampled")), completeKill(task("later")), completeKill(task("settled"))
		later.MemorySampled, settled.MemorySampled = 0, 0
		sampled.EndedAt, later.EndedAt, settled.EndedAt = noon, noon, noon.Add(time.Minute)
		recordNew(t, st, sampled, later, settled)
		unsampled := func() (names []string) {
			tries, err := st.Unsampled(t.Context(), around)
			require.NoError(t, err)
			for _, o := range tries {
				names = append(names, o.Try.Task)
				require.Equal(t, later.MemoryMax, o.MemoryMax)
				require.Equal(t, later.Duration, o.Duration)
			}
			return names
		}
		require.Equal(t, []string{later.Try.Task, settled.Try.Task}, unsampled(), "the oldest try must come first")
		require.NoError(t, st.SaveLookups(t.Context(), []store.Lookup{{Try: settled.Try}, {Try: later.Try, RetryAt: noon.Add(time.Second)}}, noon))
		require.Empty(t, unsampled())
		require.NoError(t, st.SaveLookups(t.Context(), []store.Lookup{{Try: later.Try, RetryAt: noon}}, noon))
		require.Equal(t, []string{later.Try.Task}, unsampled(), "RetryAt has passed")
		later.MemorySampled = sizing.GiB
		require.True(t, record(t, st, later)[0].Amended)
		require.Empty(t, unsampled())
	})

	t.Run("a receipt is listed until its try is reported", func(t *testing.T) {
		first, retried := completeKill(task("unreported")), completeKill(task("unreported")).Try
		newReceipt := func(id string, try sizing.TryKey, at time.Time) sizing.Receipt {
			return sizing.Receipt{At: at, Ask: sizing.Ask{Try: try}, Allocation: sizing.Allocation{PredictionID: id, Task: try.TaskKey}}
		}
		retried.Number = 3
		noRun := retried
		noRun.RunID = ""
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
			newReceipt("q-1", first.Try, noon), newReceipt("q-2", first.Try, noon.Add(time.Second)),
			newReceipt("q-3", retried, noon.Add(2*time.Second)), newReceipt("q-4", noRun, noon), newReceipt("q-5", first.Try, noon.Add(-2*time.Hour)),
		}))
		unreported := func() (ids []string) {
			receipts, err := st.UnreportedReceipts(t.Context(), around)
			require.NoError(t, err)
			for _, r := range receipts {
				ids = append(ids, r.Allocation.PredictionID)
			}
			return ids
		}
		require.Equal(t, []string{"q-2", "q-3"}, unreported(), "only the newest receipt of each try must be listed, and no prediction without a run id")
		recordNew(t, st, first)
		require.Equal(t, []string{"q-3"}, unreported())
		require.NoError(t, st.SaveLookups(t.Context(), []store.Lookup{{Try: retried}}, noon))
		require.Empty(t, unreported())
		require.NoError(t, st.SaveLookups(t.Context(), nil, time.Now().Add(time.Hour)))
		require.Equal(t, []string{"q-3"}, unreported(), "a try whose lookup has expired must be listed again")
	})

	t.Run("a rename moves lookups, and a deletion removes them", func(t *testing.T) {
		o, to := completeKill(task("looked up")), task("looked up and renamed")
		o.MemorySampled, o.EndedAt = 0, noon
		recordNew(t, st, o)
		unsampled := func() (names []string) {
			tries, err := st.Unsampled(t.Context(), around)
			require.NoError(t, err)
			for _, o := range tries {
				names = append(names, o.Try.Task)
			}
			return names
		}
		ofNewName := o.Try // was looked up because of a receipt of the new name
		ofNewName.TaskKey = to
		before := unsampled()
		require.Contains(t, before, o.Try.Task)
		require.NoError(t, st.SaveLookups(t.Context(), []store.Lookup{{Try: o.Try}, {Try: ofNewName}}, noon))
		require.NoError(t, st.Rename(t.Context(), o.Try.TaskKey, to))
		require.NotContains(t, unsampled(), to.Task)
		recordNew(t, st, o)
		require.Equal(t, before, unsampled(), "a new task with the old name must have no lookup")
		require.NoError(t, st.SaveLookups(t.Context(), []store.Lookup{{Try: o.Try}}, noon))
		require.NoError(t, st.DeleteTask(t.Context(), o.Try.TaskKey))
		recordNew(t, st, o)
		require.Equal(t, before, unsampled(), "a try of a deleted task must have no lookup when it is reported again")
	})
}
