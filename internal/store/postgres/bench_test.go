package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

var benchTask = sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "hst", Task: "calibrate"}

// benchRuns are n successes with ten features: six numbers, three categories and
// a date, the shape of a real task.
func benchRuns(n int) []sizing.Observation {
	dice := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	obs := make([]sizing.Observation, n)
	for i := range obs {
		started := start.Add(time.Duration(i) * time.Minute)
		f := sizing.Features{"date": sizing.TextValue(started.Format(time.DateOnly))}
		for j := range 6 {
			f[fmt.Sprint("number", j)] = sizing.NumberValue(dice.NormFloat64())
		}
		for j := range 3 {
			f[fmt.Sprint("category", j)] = sizing.TextValue(fmt.Sprint("value", dice.IntN(12)))
		}
		duration := time.Duration(dice.IntN(3600)) * time.Second
		obs[i] = sizing.Observation{
			Try:     sizing.TryKey{TaskKey: benchTask, RunID: fmt.Sprintf("r%06d", i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.Bytes(dice.Int64N(64 << 30)), CPUMax: 1.5,
			Duration: duration, StartedAt: started, EndedAt: started.Add(duration),
			Requested: sizing.Resources{Memory: 64 * sizing.GiB}, Features: f,
		}
	}
	return obs
}

func BenchmarkIngest(b *testing.B) {
	obs := benchRuns(29_191)
	for _, size := range []int{500, 5000} {
		b.Run(fmt.Sprint("batches of ", size), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				dsn := pgtest.DSN(b)
				st := open(b, dsn)
				b.StartTimer()
				for part := range slices.Chunk(obs, size) {
					_, err := st.Record(b.Context(), part)
					require.NoError(b, err)
				}
				b.StopTimer()
				reportSize(b, dsn, len(obs))
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*len(obs))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func reportSize(b *testing.B, dsn string, rows int) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(b, err)
	defer conn.Close(ctx)
	var table, all int64
	require.NoError(b, conn.QueryRow(ctx, `SELECT pg_table_size('observation'), pg_total_relation_size('observation')`).Scan(&table, &all))
	b.ReportMetric(float64(table)/float64(rows), "table-B/row")
	b.ReportMetric(float64(all)/float64(rows), "total-B/row")
}

// BenchmarkRecord has 64 callers, each telling one run at a time and waiting for
// its commit. Beside it, the same callers send the one INSERT themselves.
func BenchmarkRecord(b *testing.B) {
	const callers = 64
	b.Run("ours", func(b *testing.B) {
		st := open(b, pgtest.DSN(b))
		obs := benchRuns(1000)
		var n atomic.Int64
		b.SetParallelism(callers / 2)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				i := int(n.Add(1))
				o := obs[i%len(obs)]
				o.Try.RunID = fmt.Sprintf("r%08d", i)
				_, err := st.Record(b.Context(), []sizing.Observation{o})
				require.NoError(b, err)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{20_000, 100_000, 500_000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			st := open(b, pgtest.DSN(b))
			_, err := st.Record(b.Context(), benchRuns(n))
			require.NoError(b, err)
			for b.Loop() {
				h, err := st.History(b.Context(), benchTask, store.Keep{})
				require.NoError(b, err)
				require.NotEmpty(b, h.Rows)
			}
		})
	}
}

func BenchmarkProfile(b *testing.B) {
	for _, n := range []int{4_000, 100_000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			st := open(b, pgtest.DSN(b))
			_, err := st.Record(b.Context(), benchRuns(n))
			require.NoError(b, err)
			for b.Loop() {
				_, err := st.Task(b.Context(), benchTask)
				require.NoError(b, err)
			}
		})
	}
}
