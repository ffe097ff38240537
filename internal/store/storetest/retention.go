package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// smallLimits are limits that a hundred rows exceed.
var smallLimits = store.HistoryLimits{Total: 60, Recent: 20, High: 10}

func testRetention(t *testing.T, open func(*testing.T) store.Store) {
	t.Run("History and Task return the same as without a removal, also after later reports", func(t *testing.T) {
		intact, pruned := open(t), open(t)
		const seed = 7
		rng := rand.New(rand.NewPCG(seed, 0))
		key, total, removed := task("history"), 0, 0
		for range 12 {
			batch := make([]sizing.Observation, 1+rng.IntN(60))
			for i := range batch {
				batch[i] = success(firstTry(key, fmt.Sprint("r", total)), sizing.Bytes(1+rng.IntN(50))*sizing.MiB, float64(total))
				if rng.IntN(8) == 0 {
					batch[i] = kill(batch[i].Try, sizing.Bytes(1+rng.IntN(80))*sizing.MiB)
				}
				batch[i].EndedAt = noon.Add(time.Duration(total-rng.IntN(30)) * time.Minute) // some arrive late
				total++
			}
			for _, st := range []store.Store{intact, pruned} {
				recordNew(t, st, batch...)
				publishAll(t, st, key)
			}
			removed += removeObservations(t, pruned, key, noon.Add(time.Duration(total-10)*time.Minute))
			want, err := intact.History(t.Context(), key, smallLimits)
			require.NoError(t, err)
			got, err := pruned.History(t.Context(), key, smallLimits)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, profileWithoutQuantiles(t, intact, key), profileWithoutQuantiles(t, pruned, key))
		}
		require.Greater(t, removed, total/3, "more than a third of the %d rows must be removed (seed %d)", total, seed)
		all, err := pruned.History(t.Context(), key, store.HistoryLimits{Total: 1_000_000})
		require.NoError(t, err)
		require.Equal(t, []int{total, total - removed}, []int{all.Total, len(all.Rows)}, "removed rows must still count")
	})

	t.Run("recent rows, and rows that training needs or has not learned, stay", func(t *testing.T) {
		st := open(t)
		key, later := task("stays"), noon.Add(1000*time.Hour)
		recordNew(t, st, runs(key, 60)...)
		publishAll(t, st, key)
		require.Zero(t, removeObservations(t, st, key, later), "nothing must be removed while the total is within the limits")
		more := runs(key, 200)[60:]
		recordNew(t, st, more...)
		require.Zero(t, removeObservations(t, st, key, noon), "rows newer than the time must stay")
		removed := removeObservations(t, st, key, later)
		require.Less(t, removed, 60, "rows newer than the model must stay")
		unlearned := task("unlearned")
		recordNew(t, st, runs(unlearned, 200)...)
		require.Zero(t, removeObservations(t, st, unlearned, later), "nothing must be removed from a task without a model")
		publishAll(t, st, key)
		require.Positive(t, removeObservations(t, st, key, later))
		requireKind(t, sizing.NotFound, st.RemoveObservations(t.Context(), task("unknown"), smallLimits, later, nil))
	})

	t.Run("a removed try is new when it is reported again", func(t *testing.T) {
		st := open(t)
		key := task("again")
		obs := runs(key, 200)
		recordNew(t, st, obs...)
		publishAll(t, st, key)
		removed := removeObservations(t, st, key, noon.Add(1000*time.Hour))
		recorded := 0
		for _, r := range record(t, st, obs...) {
			require.NoError(t, r.Err)
			if !r.Duplicate {
				recorded++
			}
		}
		require.Equal(t, removed, recorded)
		require.Equal(t, 200+removed, profile(t, st, key).Observations)
	})

	t.Run("oversized tasks are listed page by page", func(t *testing.T) {
		st := open(t)
		for i := range 3 {
			recordNew(t, st, runs(task(fmt.Sprint("many", i)), 61)...)
		}
		recordNew(t, st, runs(task("few"), 60)...)
		first, err := st.OversizedTasks(t.Context(), smallLimits, sizing.TaskKey{}, 2)
		require.NoError(t, err)
		require.Equal(t, []sizing.TaskKey{task("many0"), task("many1")}, first)
		rest, err := st.OversizedTasks(t.Context(), smallLimits, first[1], 2)
		require.NoError(t, err)
		require.Equal(t, []sizing.TaskKey{task("many2")}, rest)
	})

	t.Run("receipts are removed by id, in batches, until the callback fails", func(t *testing.T) {
		st := open(t)
		receipts := make([]sizing.Receipt, 2500)
		for i := range receipts {
			try := firstTry(task("predicted"), fmt.Sprint(i))
			receipts[i] = sizing.Receipt{At: noon, Ask: sizing.Ask{Try: try},
				Allocation: sizing.Allocation{PredictionID: fmt.Sprintf("%06d", i), Task: try.TaskKey}}
		}
		require.NoError(t, st.SaveReceipts(t.Context(), receipts))
		stop, n := errors.New("stop"), 0
		require.ErrorIs(t, st.RemoveReceipts(t.Context(), "002200", func(rows int) error { n += rows; return stop }), stop)
		require.Less(t, n, 2200)
		require.NoError(t, st.RemoveReceipts(t.Context(), "002200", func(rows int) error { n += rows; return nil }))
		require.Equal(t, 2200, n)
		_, err := st.Receipt(t.Context(), "002199")
		requireKind(t, sizing.NotFound, err)
		_, err = st.Receipt(t.Context(), "002200")
		require.NoError(t, err)
	})

	t.Run("named experiments stay", func(t *testing.T) {
		st := open(t)
		for name, at := range map[string]time.Time{"named": noon, "": noon} {
			_, err := st.SaveRun(t.Context(), store.Run{Name: name, CreatedAt: at}, []store.RunModel{{Task: "t", Family: "f", Blob: []byte("b")}})
			require.NoError(t, err)
		}
		n := 0
		count := func(rows int) error { n += rows; return nil }
		require.NoError(t, st.RemoveExperiments(t.Context(), noon, count))
		require.Zero(t, n)
		require.NoError(t, st.RemoveExperiments(t.Context(), noon.Add(time.Second), count))
		require.Equal(t, 1, n)
		left, err := st.Runs(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, "named", left[0].Name)
	})
}

func publishAll(t *testing.T, st store.Store, key sizing.TaskKey) {
	t.Helper()
	h, err := st.History(t.Context(), key, smallLimits)
	require.NoError(t, err)
	active, err := st.ActiveModel(t.Context(), key)
	if err != nil {
		requireKind(t, sizing.NotFound, err)
	}
	_, err = st.Publish(t.Context(), store.Model{
		Task: key, Family: "f", Format: 1, Blob: []byte("b"), Observations: h.Total, LastSeq: h.LastSeq, TrainedAt: noon,
	}, active.Version)
	require.NoError(t, err)
}

func removeObservations(t *testing.T, st store.Store, key sizing.TaskKey, before time.Time) (n int) {
	t.Helper()
	require.NoError(t, st.RemoveObservations(t.Context(), key, smallLimits, before, func(rows int) error { n += rows; return nil }))
	return n
}

// profileWithoutQuantiles returns a profile without its memory quantiles except Min and Max, because a removal with
// smallLimits removes rows from the sample of the quantiles.
func profileWithoutQuantiles(t *testing.T, st store.Store, key sizing.TaskKey) sizing.Profile {
	t.Helper()
	p := profile(t, st, key)
	p.Memory = sizing.Quantiles{Min: p.Memory.Min, Max: p.Memory.Max}
	return p
}

func profile(t *testing.T, st store.Store, key sizing.TaskKey) sizing.Profile {
	t.Helper()
	p, err := st.Task(t.Context(), key)
	require.NoError(t, err)
	return p
}
