package storetest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testHistory(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("rows are ordered by time, then by arrival", func(t *testing.T) {
		key := task("order")
		obs := runs(key, 4)
		obs[3].EndedAt = obs[1].EndedAt
		recordNew(t, st, obs[3], obs[2], obs[1], obs[0])
		require.Equal(t, []string{"run00000", "run00003", "run00001", "run00002"}, runIDs(history(t, st, key)))
	})

	t.Run("rows have the run score of their report", func(t *testing.T) {
		key := task("run scores")
		obs := runs(key, 3)
		obs[1].RunScore = -1.0 / 3
		provisional := kill(firstTry(key, "killed"), sizing.GiB)
		provisional.Provisional, provisional.RunScore = true, 0.7
		recordNew(t, st, append(obs, provisional)...)
		repeated := obs[1]
		repeated.RunScore, repeated.CPUMax = 5, 2 // the first score stays: a replica that has forgotten the prediction may report another
		record(t, st, repeated, kill(provisional.Try, 2*sizing.GiB))
		recent, err := st.RecentTries(t.Context(), key, 10)
		require.NoError(t, err)
		for _, h := range []sizing.History{history(t, st, key), recent} {
			scores := map[string]float64{}
			for _, row := range h.Rows {
				scores[row.RunID] = row.RunScore
			}
			require.Equal(t, map[string]float64{obs[0].Try.RunID: 0, obs[1].Try.RunID: -1.0 / 3, obs[2].Try.RunID: 0, "killed": 0.7}, scores)
		}
	})

	t.Run("a history of at most limits.Total rows is complete", func(t *testing.T) {
		key := task("all")
		recordNew(t, st, runs(key, 100)...)
		h, err := st.History(t.Context(), key, store.HistoryLimits{Total: 100, Recent: 40, High: 10})
		require.NoError(t, err)
		require.Len(t, h.Rows, 100)
		for _, row := range h.Rows {
			require.Equal(t, 1.0, row.Weight)
		}
	})

	testLimitedHistory(t, st)
}

// testLimitedHistory reads a history of 1,000 runs with a limit of 100 rows. Peaks rise to 500 MiB and
// fall again. One old run was killed with an allocation of 2 GiB, and another had a peak of 1 GiB.
func testLimitedHistory(t *testing.T, st store.Store) {
	key, limits := task("limited"), store.HistoryLimits{Total: 100, Recent: 40, High: 10}
	obs := runs(key, 1000)
	for i := range obs {
		obs[i].MemoryMax = sizing.Bytes(500-max(i-500, 500-i)) * sizing.MiB
	}
	obs[7] = kill(obs[7].Try, 2*sizing.GiB)
	obs[7].EndedAt = noon.Add(7 * time.Minute)
	obs[11].MemoryMax = sizing.GiB
	recordNew(t, st, obs...)
	read := func(t *testing.T) sizing.History {
		h, err := st.History(t.Context(), key, limits)
		require.NoError(t, err)
		return h
	}
	h := read(t)
	ids := runIDs(h)

	t.Run("limits.Total bounds the rows", func(t *testing.T) {
		require.LessOrEqual(t, len(h.Rows), 100)
		require.Greater(t, len(h.Rows), 90)
		require.Equal(t, 1000, h.Total)
		require.True(t, slices.IsSorted(ids), "the rows must be sorted by time")
		require.Len(t, slices.Compact(slices.Clone(ids)), len(ids), "no row may be returned twice")
	})

	t.Run("the newest rows are complete", func(t *testing.T) {
		for i := 960; i < 1000; i++ {
			require.Contains(t, ids, obs[i].Try.RunID)
		}
	})

	t.Run("the highest peaks are complete, including kills", func(t *testing.T) {
		for _, i := range []int{7, 11, 497, 498, 499, 500, 501, 502, 503} {
			n := slices.Index(ids, obs[i].Try.RunID)
			require.GreaterOrEqual(t, n, 0, obs[i].Try.RunID)
			require.Equal(t, 1.0, h.Rows[n].Weight)
		}
	})

	t.Run("weights sum to the number of all rows and preserve the mean", func(t *testing.T) {
		var sum, sumOfN float64
		for _, row := range h.Rows {
			require.GreaterOrEqual(t, row.Weight, 1.0)
			sum += row.Weight
			if row.RunID != obs[7].Try.RunID { // the kill has no features
				sumOfN += row.Weight * row.Features[0]
			}
		}
		require.InDelta(t, 1000, sum, 1e-9)
		require.InDelta(t, 499.5, sumOfN/sum, 60, "the weighted mean must be near that of 0 to 999; it is estimated from about 50 rows")
	})

	t.Run("the sample is fixed", func(t *testing.T) {
		require.Equal(t, h, read(t))
		recordNew(t, st, success(firstTry(key, "later"), sizing.MiB, 0))
		later := runIDs(read(t))
		missing := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(later, id) })
		require.LessOrEqual(t, len(missing), 2, "a new row must displace at most one sampled and one recent row")
	})

	t.Run("limits.Total without the other limits bounds the rows, too", func(t *testing.T) {
		for _, total := range []int{1, 2, 3, 20} {
			h, err := st.History(t.Context(), key, store.HistoryLimits{Total: total})
			require.NoError(t, err, total)
			require.LessOrEqual(t, len(h.Rows), max(total, store.MinHistoryTotal))
			var sum float64
			for _, row := range h.Rows {
				sum += row.Weight
			}
			require.InDelta(t, 1001, sum, 1e-9, total)
		}
	})
}

func runIDs(h sizing.History) []string {
	ids := make([]string, len(h.Rows))
	for i, row := range h.Rows {
		ids[i] = row.RunID
	}
	return ids
}

func testSince(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("rows come in order of arrival, page by page", func(t *testing.T) {
		key := task("pages")
		obs := runs(key, 5)
		slices.Reverse(obs) // the order of arrival differs from the order of time
		recordNew(t, st, obs...)
		recordNew(t, st, runs(task("another"), 5)...)
		var ids []string
		seq := int64(0)
		for range 4 {
			h, err := st.Since(t.Context(), key, seq, 2)
			require.NoError(t, err)
			require.Equal(t, 5, h.Total)
			if len(h.Rows) == 0 {
				require.Equal(t, seq, h.LastSeq, "LastSeq must stay if there are no new rows")
			}
			ids, seq = append(ids, runIDs(h)...), h.LastSeq
		}
		require.Equal(t, []string{"run00004", "run00003", "run00002", "run00001", "run00000"}, ids)
		require.Equal(t, seq, history(t, st, key).LastSeq)
	})

	t.Run("the newest rows come in order of arrival", func(t *testing.T) {
		key := task("newest")
		recordNew(t, st, runs(key, 5)...)
		rows := history(t, st, key).Rows
		for _, c := range []struct {
			seq, last int64
			limit     int
			want      []string
			lastSeq   int64
		}{
			{0, math.MaxInt64, 2, []string{"run00003", "run00004"}, rows[4].Seq},
			{rows[2].Seq, math.MaxInt64, 5, []string{"run00003", "run00004"}, rows[4].Seq},
			{rows[4].Seq, math.MaxInt64, 5, []string{}, rows[4].Seq},
			{rows[0].Seq, rows[3].Seq, 2, []string{"run00002", "run00003"}, rows[3].Seq},
		} {
			h, err := st.NewestSince(t.Context(), key, c.seq, c.last, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, runIDs(h))
			require.Equal(t, c.lastSeq, h.LastSeq)
		}
	})

	t.Run("an unknown task is not found", func(t *testing.T) {
		_, err := st.Since(t.Context(), task("unknown"), 0, 10)
		requireKind(t, sizing.NotFound, err)
		_, err = st.NewestSince(t.Context(), task("unknown"), 0, math.MaxInt64, 10)
		requireKind(t, sizing.NotFound, err)
	})

	t.Run("a reader concurrent with writers misses nothing", func(t *testing.T) {
		key := task("concurrent")
		recordNew(t, st, success(firstTry(key, "first"), sizing.GiB, 0))
		var writing atomic.Int64
		const writers, batches = 6, 15
		writing.Store(writers)
		var ids []string
		inParallel(t, writers+1, func(ctx context.Context, worker int) error {
			if worker < writers {
				defer writing.Add(-1)
				for batch := range batches {
					obs := runs(key, []int{1, 10, 200}[(worker+batch)%3])
					for i := range obs {
						obs[i].Try.RunID = fmt.Sprintf("%d/%d/%d", worker, batch, i)
					}
					if _, err := st.Record(ctx, obs); err != nil {
						return err
					}
				}
				return nil
			}
			for seq, haveEnded := int64(0), false; len(ids) < 100_000; { // far more rows than exist
				haveEnded = writing.Load() == 0
				h, err := st.Since(ctx, key, seq, 1000)
				if err != nil || haveEnded && len(h.Rows) == 0 {
					return err
				}
				ids, seq = append(ids, runIDs(h)...), h.LastSeq
			}
			return nil
		})
		total := history(t, st, key).Total
		require.Equal(t, 1+writers*batches/3*(1+10+200), total)
		require.Len(t, ids, total)
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), total, "no row may be read twice")
	})
}

func testKills(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key := task("kills")
	mapped := func(index, number int) sizing.TryKey {
		return sizing.TryKey{TaskKey: key, RunID: "r", MapIndex: index, Number: number}
	}
	after := func(o sizing.Observation, minutes int) sizing.Observation {
		o.EndedAt = noon.Add(time.Duration(minutes) * time.Minute)
		return o
	}
	ownLimit := kill(mapped(0, 2), 4*sizing.GiB)
	ownLimit.Outcome, ownLimit.MemoryMax, ownLimit.MemorySampled = sizing.AppOOM, 2*sizing.GiB, 3*sizing.GiB
	recordNew(t, st,
		after(ownLimit, 2),
		after(kill(mapped(0, 1), 2*sizing.GiB), 1),
		after(kill(mapped(1, 1), 8*sizing.GiB), 3),
		after(success(mapped(0, 3), sizing.GiB, 1), 4))

	t.Run("the kills of one run and map index are listed, oldest first", func(t *testing.T) {
		kills, err := st.Kills(t.Context(), key, "r", 0)
		require.NoError(t, err)
		require.Equal(t, []store.Kill{
			{Try: 1, Allocated: 2 * sizing.GiB, Outcome: sizing.OOMKilled, At: noon.Add(time.Minute)},
			{Try: 2, Allocated: 4 * sizing.GiB, Outcome: sizing.AppOOM, Peak: 3 * sizing.GiB, At: noon.Add(2 * time.Minute)},
		}, kills)
	})

	t.Run("an unknown run has no kills", func(t *testing.T) {
		kills, err := st.Kills(t.Context(), task("unknown"), "r", 0)
		require.NoError(t, err)
		require.Empty(t, kills)
	})

	t.Run("KillsAtCap lists the kills at a limit or above it since the last success", func(t *testing.T) {
		atCap := func(limit sizing.Bytes) int {
			kills, err := st.KillsAtCap(t.Context(), key, limit, sizing.MaxBytes)
			require.NoError(t, err)
			return len(kills)
		}
		require.Zero(t, atCap(8*sizing.GiB), "a kill before the last success must not count")
		app := after(kill(mapped(2, 1), 8*sizing.GiB), 5)
		app.Outcome = sizing.AppOOM
		recordNew(t, st, app, after(kill(mapped(2, 2), 9*sizing.GiB), 6), after(kill(mapped(2, 3), 7*sizing.GiB), 7))
		require.Equal(t, 1, atCap(8*sizing.GiB), "only the second try must count, because a later try of the run got more memory than the first")
		kills, err := st.KillsAtCap(t.Context(), key, 9*sizing.GiB, 9*sizing.GiB)
		require.NoError(t, err)
		require.Equal(t, []sizing.TryKey{mapped(2, 2)}, kills)
		require.Equal(t, 2, atCap(sizing.GiB), "the second and the third try must count, because no later try of the run got more memory")
		reproduced := after(success(firstTry(key, campaign.RunID(7, "0123456789abcdef", noon, 1)), sizing.GiB, 1), 8)
		recordNew(t, st, reproduced)
		require.Equal(t, 2, atCap(sizing.GiB), "a success of a reproduced run must not reset the count")
		recordNew(t, st, after(success(mapped(3, 1), sizing.GiB, 1), 8))
		require.Zero(t, atCap(sizing.GiB))
		recordNew(t, st, after(kill(mapped(4, 1), sizing.GiB), 9), after(success(mapped(5, 1), sizing.GiB, 1), 9),
			after(kill(mapped(6, 1), sizing.GiB), 9), after(kill(mapped(7, 1), sizing.GiB), 9))
		require.Equal(t, 2, atCap(sizing.GiB), "of the kills that ended at the same time as the success, only the two that were reported after it must count")
	})
}
