package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func examineInquiries(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	around := store.Window{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Now: noon, Limit: 10}

	t.Run("a duty is one owner's until the lease runs out", func(t *testing.T) {
		take := func(owner string, lease time.Duration) bool {
			taken, err := st.AcquireLease(t.Context(), "inquire", owner, lease)
			require.NoError(t, err)
			return taken
		}
		require.True(t, take("a", time.Hour))
		require.True(t, take("a", -time.Second), "who has it may keep it")
		require.True(t, take("b", time.Hour), "it ran out")
		require.False(t, take("a", time.Hour))
	})

	t.Run("a try without a sampled peak is listed until it has one, or is settled", func(t *testing.T) {
		sampled, later, settled := whole(task("sampled")), whole(task("later")), whole(task("settled"))
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
		require.Equal(t, []string{later.Try.Task, settled.Try.Task}, unsampled(), "oldest first")
		require.NoError(t, st.Inquired(t.Context(), []store.Inquiry{{Try: settled.Try}, {Try: later.Try, Again: noon.Add(time.Second)}}, noon))
		require.Empty(t, unsampled())
		require.NoError(t, st.Inquired(t.Context(), []store.Inquiry{{Try: later.Try, Again: noon}}, noon))
		require.Equal(t, []string{later.Try.Task}, unsampled(), "its time has come")
		later.MemorySampled = sizing.GiB
		require.True(t, record(t, st, later)[0].Amended)
		require.Empty(t, unsampled())
	})

	t.Run("an answer is silent until its try is reported", func(t *testing.T) {
		first, again := whole(task("silent")), whole(task("silent")).Try
		asked := func(id string, try sizing.TryKey, at time.Time) sizing.Receipt {
			return sizing.Receipt{At: at, Ask: sizing.Ask{Try: try}, Allocation: sizing.Allocation{PredictionID: id, Task: try.TaskKey}}
		}
		again.Number = 3
		lookUp := again
		lookUp.RunID = ""
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
			asked("q-1", first.Try, noon), asked("q-2", first.Try, noon.Add(time.Second)),
			asked("q-3", again, noon.Add(2*time.Second)), asked("q-4", lookUp, noon), asked("q-5", first.Try, noon.Add(-2*time.Hour)),
		}))
		silent := func() (ids []string) {
			receipts, err := st.Silent(t.Context(), around)
			require.NoError(t, err)
			for _, r := range receipts {
				ids = append(ids, r.Allocation.PredictionID)
			}
			return ids
		}
		require.Equal(t, []string{"q-2", "q-3"}, silent(), "the newest of each try, and no look-up")
		recordNew(t, st, first)
		require.Equal(t, []string{"q-3"}, silent())
		require.NoError(t, st.Inquired(t.Context(), []store.Inquiry{{Try: again}}, noon))
		require.Empty(t, silent())
		require.NoError(t, st.Inquired(t.Context(), nil, time.Now().Add(time.Hour)))
		require.Equal(t, []string{"q-3"}, silent(), "the note was forgotten")
	})
}
