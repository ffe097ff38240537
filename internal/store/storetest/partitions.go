package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const week = 7 * 24 * time.Hour

// monday starts a week for which a new store has no partition.
var monday = time.Date(2040, 1, 2, 0, 0, 0, 0, time.UTC)

func idAt(at time.Time, n int) string { return fmt.Sprintf("%s-7000-8000-%012x", store.FirstID(at), n) }

func saveReceipts(t *testing.T, st store.Store, key sizing.TaskKey, at time.Time, n int) {
	t.Helper()
	receipts := make([]sizing.Receipt, n)
	for i := range receipts {
		receipts[i] = receipt(idAt(at, i), firstTry(key, fmt.Sprint(at.Unix(), i)), 0.5, at)
	}
	require.NoError(t, st.SaveReceipts(t.Context(), receipts))
}

func removeReceipts(t *testing.T, st store.Store, before time.Time) (batches []int) {
	t.Helper()
	require.NoError(t, st.RemoveReceipts(t.Context(), store.FirstID(before), func(rows int) error {
		batches = append(batches, rows)
		return nil
	}))
	return batches
}

func sum(batches []int) (n int) {
	for _, rows := range batches {
		n += rows
	}
	return n
}

func requireStored(t *testing.T, st store.Store, want bool, id string) {
	t.Helper()
	_, err := st.Receipt(t.Context(), id)
	if want {
		require.NoError(t, err)
	} else {
		requireKind(t, sizing.NotFound, err)
	}
}

func testPartitions(t *testing.T, open func(*testing.T) store.Store) {
	const many = 1500 // receipts: more than one batch of removed rows
	key := task("weeks")
	second := time.Second

	t.Run("an entirely old week is removed at once, and a partly old week stays", func(t *testing.T) {
		st := open(t)
		require.NoError(t, st.MakeWeeks(t.Context(), monday.Add(3*24*time.Hour), monday.Add(2*week)))
		saveReceipts(t, st, key, monday, many)
		saveReceipts(t, st, key, monday.Add(week-second), 3)
		saveReceipts(t, st, key, monday.Add(week), 2)
		saveReceipts(t, st, key, monday.Add(2*week), 1)
		require.Empty(t, removeReceipts(t, st, monday.Add(week-second)), "a week that is only partly old must stay")
		require.Equal(t, []int{many + 3}, removeReceipts(t, st, monday.Add(2*week-second)))
		requireStored(t, st, false, idAt(monday.Add(week-second), 2))
		requireStored(t, st, true, idAt(monday.Add(week), 0))
		require.Equal(t, []int{2}, removeReceipts(t, st, monday.Add(2*week)), "a week must end exactly at Monday 00:00 UTC")
		requireStored(t, st, true, idAt(monday.Add(2*week), 0))
	})

	t.Run("receipts outside the weekly partitions are removed by id", func(t *testing.T) {
		st := open(t)
		require.NoError(t, st.MakeWeeks(t.Context(), monday, monday))
		saveReceipts(t, st, key, noon, 2)
		saveReceipts(t, st, key, monday.Add(-second), 4)
		saveReceipts(t, st, key, monday, 8)
		saveReceipts(t, st, key, monday.Add(week), 16)
		saveReceipts(t, st, key, monday.Add(week+second), 32)
		require.Equal(t, 2+4, sum(removeReceipts(t, st, monday.Add(second))))
		require.Equal(t, 8+16, sum(removeReceipts(t, st, monday.Add(week+second))))
		requireStored(t, st, true, idAt(monday.Add(week+second), 31))
	})

	t.Run("a partition that is created late gets the receipts of its week", func(t *testing.T) {
		st := open(t)
		saveReceipts(t, st, key, monday.Add(-second), 1)
		saveReceipts(t, st, key, monday, many)
		saveReceipts(t, st, key, monday.Add(week), 1)
		require.NoError(t, st.MakeWeeks(t.Context(), monday, monday))
		requireStored(t, st, true, idAt(monday, many-1))
		saveReceipts(t, st, key, monday, many) // the ids are already stored
		require.Equal(t, []int{1}, removeReceipts(t, st, monday.Add(second)), "a week that is only partly old must stay")
		require.Equal(t, []int{many}, removeReceipts(t, st, monday.Add(week)))
		requireStored(t, st, true, idAt(monday.Add(week), 0))
	})

	t.Run("concurrent calls create each partition once", func(t *testing.T) {
		st := open(t)
		for range 2 {
			inParallel(t, 4, func(ctx context.Context, worker int) error {
				return st.MakeWeeks(ctx, monday, monday.Add(time.Duration(worker)*week))
			})
			saveReceipts(t, st, key, monday.Add(week), many)
		}
		require.Equal(t, []int{many}, removeReceipts(t, st, monday.Add(2*week)))
	})

	t.Run("a promise is found in a receipt of any time before the end, or up to 24 hours after it", func(t *testing.T) {
		st, monday := open(t), time.Date(2010, 1, 4, 0, 0, 0, 0, time.UTC) // in the past, like the end of a try
		require.NoError(t, st.MakeWeeks(t.Context(), monday, monday.Add(20*week)))
		for i, delay := range []time.Duration{-12 * week, -8 * 24 * time.Hour, -7 * 24 * time.Hour, -time.Hour, 23 * time.Hour, 2 * week} {
			ended, task := monday.Add(14*week), task(fmt.Sprint("delay", i))
			o := success(firstTry(task, "r"), sizing.GiB, 1)
			o.EndedAt = ended
			recordNew(t, st, o)
			at := ended.Add(delay)
			require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt(idAt(at, i), o.Try, 0.25, at)}))
			promised := history(t, st, task).Rows[0].Promised
			if delay > 24*time.Hour {
				require.Nil(t, promised, "a receipt from more than 24 hours after the end must not count")
				continue
			}
			require.NotNil(t, promised, "%s", delay)
			require.Equal(t, 0.25, *promised)
		}
	})

	t.Run("queries read all partitions", func(t *testing.T) {
		st := open(t)
		require.NoError(t, st.MakeWeeks(t.Context(), monday, monday.Add(week)))
		other, try := task("renamed"), firstTry(key, "r")
		recordNew(t, st, success(try, sizing.GiB, 1))
		for i, at := range []time.Time{noon, monday, monday.Add(week), monday.Add(4 * week)} {
			require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt(idAt(at, 0), try, 1/float64(2+i), at)}))
			inForce, err := st.ReceiptOfTry(t.Context(), try)
			require.NoError(t, err)
			require.Equal(t, idAt(noon, 0), inForce.Allocation.PredictionID)
			waiting := firstTry(key, "waiting") // without a report
			require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt(idAt(at, 1), waiting, 0.1, at)}))
			newest, err := st.ReceiptOfTry(t.Context(), waiting)
			require.NoError(t, err)
			require.Equal(t, idAt(at, 1), newest.Allocation.PredictionID)
			require.Equal(t, 0.5, *history(t, st, key).Rows[0].Promised, "the promise must be that of the receipt in force when the try ran")
		}
		require.NoError(t, st.Rename(t.Context(), key, other))
		for _, at := range []time.Time{noon, monday, monday.Add(4 * week)} {
			r, err := st.Receipt(t.Context(), idAt(at, 0))
			require.NoError(t, err)
			require.Equal(t, other, r.Ask.Try.TaskKey)
		}
		require.NoError(t, st.DeleteTask(t.Context(), other))
		requireStored(t, st, false, idAt(monday, 0))
		require.Empty(t, removeReceipts(t, st, monday.Add(week)))
	})
}
