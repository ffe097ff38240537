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

// little is a Keep that a hundred rows exceed.
var little = store.Keep{Total: 60, Recent: 20, High: 10}

func examineRetention(t *testing.T, open func(*testing.T) store.Store) {
	t.Run("what was removed is missed by nobody, whatever comes later", func(t *testing.T) {
		kept, thinned := open(t), open(t)
		const seed = 7
		dice := rand.New(rand.NewPCG(seed, 0))
		key, total, gone := task("long"), 0, 0
		for range 12 {
			news := make([]sizing.Observation, 1+dice.IntN(60))
			for i := range news {
				news[i] = success(firstTry(key, fmt.Sprint("r", total)), sizing.Bytes(1+dice.IntN(50))*sizing.MiB, float64(total))
				if dice.IntN(8) == 0 {
					news[i] = kill(news[i].Try, sizing.Bytes(1+dice.IntN(80))*sizing.MiB)
				}
				news[i].EndedAt = noon.Add(time.Duration(total-dice.IntN(30)) * time.Minute) // some are told late
				total++
			}
			for _, st := range []store.Store{kept, thinned} {
				recordNew(t, st, news...)
				publishAll(t, st, key)
			}
			gone += removeObservations(t, thinned, key, noon.Add(time.Duration(total-10)*time.Minute))
			want, err := kept.History(t.Context(), key, little)
			require.NoError(t, err)
			got, err := thinned.History(t.Context(), key, little)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, counted(t, kept, key), counted(t, thinned, key))
		}
		require.Greater(t, gone, total/3, "seed %d: of %d", seed, total)
		all, err := thinned.History(t.Context(), key, store.Keep{Total: 1_000_000})
		require.NoError(t, err)
		require.Equal(t, []int{total, total - gone}, []int{all.Total, len(all.Rows)}, "they are gone, and counted")
	})

	t.Run("what is young, needed or not learned stays", func(t *testing.T) {
		st := open(t)
		key, later := task("stays"), noon.Add(1000*time.Hour)
		recordNew(t, st, runs(key, 60)...)
		publishAll(t, st, key)
		require.Zero(t, removeObservations(t, st, key, later), "no more than is kept whole")
		more := runs(key, 200)[60:]
		recordNew(t, st, more...)
		require.Zero(t, removeObservations(t, st, key, noon), "nothing is as old")
		early := removeObservations(t, st, key, later)
		require.Less(t, early, 60, "what came after the model learned stays")
		unlearned := task("unlearned")
		recordNew(t, st, runs(unlearned, 200)...)
		require.Zero(t, removeObservations(t, st, unlearned, later), "there is no model")
		publishAll(t, st, key)
		require.Positive(t, removeObservations(t, st, key, later))
		requireKind(t, sizing.NotFound, st.RemoveObservations(t.Context(), task("nobody"), little, later, nil))
	})

	t.Run("what was removed and is told again is new", func(t *testing.T) {
		st := open(t)
		key := task("again")
		told := runs(key, 200)
		recordNew(t, st, told...)
		publishAll(t, st, key)
		gone := removeObservations(t, st, key, noon.Add(1000*time.Hour))
		again := 0
		for _, r := range record(t, st, told...) {
			require.NoError(t, r.Err)
			if !r.Duplicate {
				again++
			}
		}
		require.Equal(t, gone, again)
		require.Equal(t, 200+gone, profile(t, st, key).Observations)
	})

	t.Run("tasks of many observations are listed page by page", func(t *testing.T) {
		st := open(t)
		for i := range 3 {
			recordNew(t, st, runs(task(fmt.Sprint("many", i)), 61)...)
		}
		recordNew(t, st, runs(task("few"), 60)...)
		first, err := st.Crowded(t.Context(), little, sizing.TaskKey{}, 2)
		require.NoError(t, err)
		require.Equal(t, []sizing.TaskKey{task("many0"), task("many1")}, first)
		rest, err := st.Crowded(t.Context(), little, first[1], 2)
		require.NoError(t, err)
		require.Equal(t, []sizing.TaskKey{task("many2")}, rest)
	})

	t.Run("receipts go by their ids, in batches, until told to stop", func(t *testing.T) {
		st := open(t)
		receipts := make([]sizing.Receipt, 2500)
		for i := range receipts {
			try := firstTry(task("asked"), fmt.Sprint(i))
			receipts[i] = sizing.Receipt{At: noon, Ask: sizing.Ask{Try: try},
				Allocation: sizing.Allocation{PredictionID: fmt.Sprintf("%06d", i), Task: try.TaskKey}}
		}
		require.NoError(t, st.SaveReceipts(t.Context(), receipts))
		enough, n := errors.New("enough"), 0
		require.ErrorIs(t, st.RemoveReceipts(t.Context(), "002200", func(rows int) error { n += rows; return enough }), enough)
		require.Less(t, n, 2200)
		require.NoError(t, st.RemoveReceipts(t.Context(), "002200", func(rows int) error { n += rows; return nil }))
		require.Equal(t, 2200, n)
		_, err := st.Receipt(t.Context(), "002199")
		requireKind(t, sizing.NotFound, err)
		_, err = st.Receipt(t.Context(), "002200")
		require.NoError(t, err)
	})

	t.Run("experiments with a name stay", func(t *testing.T) {
		st := open(t)
		for name, at := range map[string]time.Time{"named": noon, "": noon} {
			_, err := st.SaveRun(t.Context(), store.Run{Name: name, CreatedAt: at}, []store.RunModel{{Task: "t", Family: "f", Blob: []byte("b")}})
			require.NoError(t, err)
		}
		n := 0
		count := func(rows int) error { n += rows; return nil }
		require.NoError(t, st.RemoveRuns(t.Context(), noon, count))
		require.Zero(t, n)
		require.NoError(t, st.RemoveRuns(t.Context(), noon.Add(time.Second), count))
		require.Equal(t, 1, n)
		left, err := st.Runs(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, "named", left[0].Name)
	})
}

// publishAll publishes a model that learned all that there is.
func publishAll(t *testing.T, st store.Store, key sizing.TaskKey) {
	t.Helper()
	h, err := st.History(t.Context(), key, little)
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
	require.NoError(t, st.RemoveObservations(t.Context(), key, little, before, func(rows int) error { n += rows; return nil }))
	return n
}

// counted is a profile without quantiles: they are of a sample that DefaultKeep keeps
// whole, and this little Keep does not.
func counted(t *testing.T, st store.Store, key sizing.TaskKey) sizing.Profile {
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
