package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testConcurrentWriters(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	for name, size := range map[string]int{"large": 300, "small": 20} {
		t.Run("equal reports in "+name+" batches are recorded once", func(t *testing.T) {
			a, b := task("once a "+name), task("once b "+name)
			obs := append(runs(a, 300), runs(b, 300)...)
			var added, repeated atomic.Int64
			inParallel(t, 8, func(ctx context.Context, worker int) error {
				shuffled := slices.Clone(obs)
				rng := rand.New(rand.NewPCG(1, uint64(worker)))
				rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				for part := range slices.Chunk(shuffled, size) {
					recorded, err := st.Record(ctx, part)
					if err != nil {
						return err
					}
					for _, r := range recorded {
						switch {
						case r.Err != nil:
							return r.Err
						case r.Duplicate:
							repeated.Add(1)
						case !r.Amended:
							added.Add(1)
						}
					}
				}
				return nil
			})
			require.EqualValues(t, 600, added.Load())
			require.EqualValues(t, 7*600, repeated.Load())
			require.Equal(t, 300, history(t, st, a).Total)
			require.Len(t, history(t, st, b).Rows, 300)
		})
	}

	t.Run("concurrent writers assign each category code once", func(t *testing.T) {
		keys := []sizing.TaskKey{task("codes 0"), task("codes 1")}
		sent := func(worker, i int) sizing.Features {
			return sizing.Features{
				fmt.Sprintf("field %d", i): sizing.NumberValue(float64(worker)), // new for all writers at the same time
				"colour":                   sizing.TextValue(fmt.Sprintf("colour %d", (worker+i)%20)),
			}
		}
		inParallel(t, 8, func(ctx context.Context, worker int) error {
			for i := range 20 {
				var obs []sizing.Observation
				for turn := range keys { // half of the writers use the reverse order
					o := success(firstTry(keys[(turn+worker)%2], fmt.Sprintf("%d/%d", worker, i)), sizing.GiB, 0)
					o.Features = sent(worker, i)
					obs = append(obs, o)
				}
				if _, err := st.Record(ctx, obs); err != nil {
					return err
				}
			}
			return nil
		})
		for _, key := range keys {
			h := history(t, st, key)
			require.Len(t, h.Rows, 160)
			require.Len(t, h.Schema.Fields, 21)
			for _, row := range h.Rows {
				var worker, i int
				_, err := fmt.Sscanf(row.RunID, "%d/%d", &worker, &i)
				require.NoError(t, err)
				require.Equal(t, sent(worker, i), h.Schema.Features(row.Features), "run %s", row.RunID)
			}
		}
	})

	t.Run("a failing call does not fail others of the same group commit", func(t *testing.T) {
		key := task("group commit")
		inParallel(t, 32, func(ctx context.Context, worker int) error {
			o := success(firstTry(key, fmt.Sprint(worker)), sizing.GiB, 1)
			failing := worker%4 == 0
			if failing {
				o.EndedAt = time.Date(294_277, 1, 2, 0, 0, 0, 0, time.UTC) // beyond the range of timestamps
			}
			recorded, err := st.Record(ctx, []sizing.Observation{o})
			if err == nil {
				err = recorded[0].Err
			}
			if failing && sizing.KindOf(err) == sizing.Invalid {
				return nil
			}
			return err
		})
		require.Equal(t, 24, history(t, st, key).Total)
	})

	t.Run("a cancelled call may be repeated", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := st.Record(ctx, runs(task("cancelled"), 1))
		require.Error(t, err)
		recorded := record(t, st, runs(task("cancelled"), 1)...)
		require.NoError(t, recorded[0].Err, "the repeated call must succeed")
	})
}

func testVoid(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("a voided report is removed from history and counts", func(t *testing.T) {
		key := task("void")
		obs := append(runs(key, 3), kill(firstTry(key, "killed"), sizing.GiB))
		recordNew(t, st, obs...)
		require.NoError(t, st.Void(t.Context(), obs[1].Try))
		require.NoError(t, st.Void(t.Context(), obs[3].Try))
		require.Equal(t, 2, history(t, st, key).Total)
		p, err := st.Task(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, 2, p.Observations)
		require.Zero(t, p.Kills)

		requireKind(t, sizing.NotFound, st.Void(t.Context(), obs[1].Try))
		obs[1].MemoryMax = 9 * sizing.GiB
		recordNew(t, st, obs[1])
	})

	t.Run("voiding a report of an unknown task is not found", func(t *testing.T) {
		requireKind(t, sizing.NotFound, st.Void(t.Context(), firstTry(task("unknown"), "r")))
	})
}
