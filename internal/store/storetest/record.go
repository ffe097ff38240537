package storetest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// completeKill returns an OOM kill in which each field that a repeated report can fill (see fields) is known.
func completeKill(task sizing.TaskKey) sizing.Observation {
	return sizing.Observation{
		Try:       sizing.TryKey{TaskKey: task, RunID: "scheduled__2024-05-01T12:00:00+00:00", MapIndex: 4, Number: 2},
		Outcome:   sizing.OOMKilled,
		MemoryMax: 7 * sizing.GiB, MemorySampled: 6 * sizing.GiB, CPUMax: 1.25,
		Duration:  391*time.Second + 500*time.Microsecond,
		StartedAt: noon.Add(-391 * time.Second), EndedAt: noon,
		Allocated:    sizing.Resources{Memory: 10 * sizing.GiB, CPU: 2},
		Requested:    sizing.Resources{Memory: 350 * sizing.GiB, CPU: 6},
		PredictionID: "p-1",
		Features: sizing.Features{
			"count": sizing.NumberValue(1253), "region": sizing.TextValue("emea"),
			"sale_end": sizing.TextValue("2020-02-05"), "full": sizing.BoolValue(true),
		},
	}
}

func testRecord(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("all fields are read back", func(t *testing.T) {
		o := completeKill(task("complete"))
		recordNew(t, st, o)
		h := history(t, st, o.Try.TaskKey)
		require.Equal(t, o.Try.TaskKey, h.Task)
		require.Equal(t, 1, h.Total)
		require.Len(t, h.Rows, 1)
		row := h.Rows[0]
		require.Equal(t, h.LastSeq, row.Seq)
		want := sizing.Features{
			"count": sizing.NumberValue(1253), "region": sizing.TextValue("emea"), "full": sizing.BoolValue(true),
			"sale_end": {Kind: sizing.Date, Num: 18297}, // days since 1970; the text is not stored
		}
		require.Equal(t, want, h.Schema.Features(row.Features))
		require.Equal(t, sizing.HistoryRow{Seq: row.Seq, At: noon, StartedAt: o.StartedAt, RunID: o.Try.RunID, MapIndex: 4, Try: 2,
			Outcome: sizing.OOMKilled, MemoryMax: 7 * sizing.GiB, MemorySampled: 6 * sizing.GiB, CPUMax: 1.25, Duration: o.Duration,
			Allocated: o.Allocated, Requested: o.Requested, Features: row.Features, Weight: 1}, row)
	})

	t.Run("a report without times has the time of its arrival", func(t *testing.T) {
		o := success(firstTry(task("timeless"), "r"), sizing.GiB, 1)
		o.EndedAt = time.Time{}
		recordNew(t, st, o)
		row := history(t, st, o.Try.TaskKey).Rows[0]
		require.WithinDuration(t, time.Now(), row.At, time.Hour)
		require.Zero(t, row.StartedAt)
	})

	t.Run("a report without an end has the time of its start", func(t *testing.T) {
		o := success(firstTry(task("started"), "r"), sizing.GiB, 1)
		o.StartedAt, o.EndedAt = noon.Add(-time.Hour), time.Time{}
		recordNew(t, st, o)
		row := history(t, st, o.Try.TaskKey).Rows[0]
		require.Equal(t, []time.Time{noon.Add(-time.Hour), noon.Add(-time.Hour)}, []time.Time{row.At, row.StartedAt})
	})

	t.Run("without a start in the report, the start is the end minus the duration", func(t *testing.T) {
		o := success(firstTry(task("ended"), "r"), sizing.GiB, 1)
		o.StartedAt, o.EndedAt, o.Duration = time.Time{}, noon, time.Minute
		recordNew(t, st, o)
		require.Equal(t, noon.Add(-time.Minute), history(t, st, o.Try.TaskKey).Rows[0].StartedAt)
	})

	t.Run("a start after the end is unknown", func(t *testing.T) {
		o := success(firstTry(task("reversed"), "r"), sizing.GiB, 1)
		o.StartedAt, o.EndedAt = noon.Add(time.Hour), noon
		recordNew(t, st, o)
		require.Zero(t, history(t, st, o.Try.TaskKey).Rows[0].StartedAt)
	})

	t.Run("tries differ by run, map index and number", func(t *testing.T) {
		one := success(firstTry(task("tries"), "r"), sizing.GiB, 1)
		run, mapped, second := one, one, one
		run.Try.RunID, mapped.Try.MapIndex, second.Try.Number = "R", 0, 2
		recordNew(t, st, one, run, mapped, second)
		require.Equal(t, 4, history(t, st, one.Try.TaskKey).Total)
	})

	t.Run("an invalid observation fails alone", func(t *testing.T) {
		key := task("unstorable")
		obs := runs(key, 6)
		obs[1].Try.RunID = "nul\x00"
		obs[2].PredictionID = "not UTF-8 \xff"
		obs[3].Features = sizing.Features{"name\x00": sizing.NumberValue(1)}
		obs[4].Features = sizing.Features{"n": sizing.TextValue("\xff")}
		for i, r := range record(t, st, obs...) {
			if i == 0 || i == 5 {
				require.NoError(t, r.Err)
			} else {
				requireKind(t, sizing.Invalid, r.Err)
			}
		}
		require.Equal(t, 2, history(t, st, key).Total)
	})

	t.Run("an empty call is no error", func(t *testing.T) { record(t, st) })

	t.Run("the history of an unknown task is not found", func(t *testing.T) {
		_, err := st.History(t.Context(), task("unknown"), store.HistoryLimits{})
		requireKind(t, sizing.NotFound, err)
	})

	testFeatures(t, st)
}

func testFeatures(t *testing.T, st store.Store) {
	t.Run("a value of another kind keeps its kind", func(t *testing.T) {
		key := task("kinds")
		first := success(firstTry(key, "1"), sizing.GiB, 1)
		second := success(firstTry(key, "2"), sizing.GiB, 2)
		second.Features = sizing.Features{"n": sizing.TextValue("many"), "new": sizing.NumberValue(3)}
		recordNew(t, st, first)
		recordNew(t, st, second)
		h := history(t, st, key)
		require.Equal(t, []float64{1}, h.Rows[0].Features, "a row from before the extension of the schema must be shorter")
		require.Len(t, h.Rows[1].Features, 3)
		require.True(t, math.IsNaN(h.Rows[1].Features[0]), "the number must be missing if the value is a text")
		require.Equal(t, first.Features, h.Schema.Features(h.Rows[0].Features))
		require.Equal(t, second.Features, h.Schema.Features(h.Rows[1].Features))
		require.Equal(t, []string{"n", "n", "new"}, []string{h.Schema.Fields[0].Name, h.Schema.Fields[1].Name, h.Schema.Fields[2].Name})

		require.Equal(t, duplicate, statusOf(record(t, st, second)[0]))
		second.Features["n"] = sizing.NumberValue(2)
		requireConflict(t, "features.n", record(t, st, second)[0])
		first.Features = sizing.Features{"n": sizing.TextValue("many")}
		requireConflict(t, "features.n", record(t, st, first)[0])
	})

	t.Run("a date among texts is a date and a category", func(t *testing.T) {
		key := task("dates among texts")
		first := success(firstTry(key, "1"), sizing.GiB, 1)
		first.Features = sizing.Features{"day": sizing.TextValue("n/a")}
		second := success(firstTry(key, "2"), sizing.GiB, 1)
		second.Features = sizing.Features{"day": sizing.TextValue("2020-01-03")}
		recordNew(t, st, first, second)
		h := history(t, st, key)
		require.Equal(t, second.Features, h.Schema.Features(h.Rows[1].Features), "the date must keep its text")
		require.Equal(t, duplicate, statusOf(record(t, st, second)[0]))
	})

	t.Run("values of different kinds are stored together in every order", func(t *testing.T) {
		values := []sizing.Value{
			sizing.TextValue("2020-01-01"), sizing.TextValue("2020-01-01T10:00:00Z"), sizing.TextValue("n/a"), sizing.TextValue(""),
			sizing.NumberValue(2), sizing.BoolValue(true),
		}
		for i := range values {
			for j := range values {
				for k := range values {
					key := task(fmt.Sprint("kinds together ", i, j, k))
					obs := runs(key, 3)
					for n, value := range []sizing.Value{values[i], values[j], values[k]} {
						obs[n].Features = sizing.Features{"f": value}
					}
					recordNew(t, st, obs...)
					require.Len(t, history(t, st, key).Rows, 3)
				}
			}
		}
	})

	t.Run("categories beyond the limit are unseen", func(t *testing.T) {
		key := task("dictionary")
		obs := runs(key, sizing.MaxCategories+2)
		for i := range obs {
			obs[i].Features = sizing.Features{"id": sizing.TextValue(obs[i].Try.RunID)}
		}
		recordNew(t, st, obs...)
		h := history(t, st, key)
		require.Len(t, h.Schema.Fields[0].Categories, sizing.MaxCategories)
		seen := 0
		for _, row := range h.Rows {
			if row.Features[0] != sizing.Unseen {
				require.Equal(t, row.RunID, h.Schema.Features(row.Features)["id"].Text)
				seen++
			}
		}
		require.Equal(t, sizing.MaxCategories, seen)
	})

	t.Run("every number in a text is stored, also if there are too many for categories", func(t *testing.T) {
		key := task("measures")
		obs := runs(key, 600)
		for i := range obs {
			obs[i].Features = sizing.Features{"size": sizing.TextValue(fmt.Sprint(1000 + i))}
		}
		for _, part := range [][]sizing.Observation{obs[:1], obs[1:300], obs[300:301], obs[301:]} {
			recordNew(t, st, part...)
		}
		h := history(t, st, key)
		require.Len(t, h.Rows, len(obs))
		for i, row := range h.Rows {
			size := h.Schema.Features(row.Features)["size"]
			require.Equal(t, sizing.Number, size.Kind, row.RunID)
			require.InDelta(t, 1000+i, size.Num, 0, row.RunID)
		}
	})

	t.Run("omitted features come from the newest receipt of the try", func(t *testing.T) {
		key := task("receipt")
		newReceipt := func(id string, try sizing.TryKey, n float64, at time.Time) sizing.Receipt {
			return sizing.Receipt{At: at, Allocation: sizing.Allocation{PredictionID: id, Task: key},
				Ask: sizing.Ask{Try: try, Features: sizing.Features{"n": sizing.NumberValue(n)}}}
		}
		try := firstTry(key, "r")
		other := try
		other.Number = 2
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
			newReceipt("f1", try, 1, noon), newReceipt("f2", try, 2, noon.Add(time.Minute)), newReceipt("f3", other, 3, noon.Add(time.Hour))}))
		o := success(try, sizing.GiB, 0)
		o.Features = nil
		recordNew(t, st, o)
		require.Equal(t, sizing.Features{"n": sizing.NumberValue(2)}, features(t, st, key))
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		o.Features = sizing.Features{"n": sizing.NumberValue(1)}
		requireConflict(t, "features.n", record(t, st, o)[0])
	})

	t.Run("reported features take precedence over features of a receipt", func(t *testing.T) {
		key := task("reported")
		o := success(firstTry(key, "r"), sizing.GiB, 7)
		recordNew(t, st, o)
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{{At: noon,
			Allocation: sizing.Allocation{PredictionID: "t1", Task: key},
			Ask:        sizing.Ask{Try: o.Try, Features: sizing.Features{"n": sizing.NumberValue(8), "m": sizing.NumberValue(9)}}}}))
		o.Features = nil
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		require.Equal(t, sizing.Features{"n": sizing.NumberValue(7)}, features(t, st, key))
	})

	t.Run("without a receipt features are unknown until reported", func(t *testing.T) {
		key := task("late")
		o := success(firstTry(key, "r"), sizing.GiB, 0)
		o.Features = nil
		recordNew(t, st, o)
		require.Empty(t, features(t, st, key))
		o.Features = sizing.Features{"n": sizing.NumberValue(5)}
		require.Equal(t, amended, statusOf(record(t, st, o)[0]))
		require.Equal(t, sizing.Features{"n": sizing.NumberValue(5)}, features(t, st, key))
	})
}
