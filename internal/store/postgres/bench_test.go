package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

var benchTask = sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "hst", Task: "calibrate"}

// benchRuns returns n successes with ten features, as many as a real task may have: six numbers, three
// categories and a date.
func benchRuns(n int) []sizing.Observation {
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	obs := make([]sizing.Observation, n)
	for i := range obs {
		started := start.Add(time.Duration(i) * time.Minute)
		f := sizing.Features{"date": sizing.TextValue(started.Format(time.DateOnly))}
		for j := range 6 {
			f[fmt.Sprint("number", j)] = sizing.NumberValue(rng.NormFloat64())
		}
		for j := range 3 {
			f[fmt.Sprint("category", j)] = sizing.TextValue(fmt.Sprint("value", rng.IntN(12)))
		}
		duration := time.Duration(rng.IntN(3600)) * time.Second
		obs[i] = sizing.Observation{
			Try:     sizing.TryKey{TaskKey: benchTask, RunID: fmt.Sprintf("r%06d", i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.Bytes(rng.Int64N(64 << 30)), CPUMax: 1.5,
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
				dsn := pgtest.Migrated(b)
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

const plainInsertSQL = `
	INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional, at, started_at, ended_at,
		duration_us, memory_max, requested_memory, cpu_max, features, lot)
	VALUES (1, $1, -1, 1, 1, false, $2, $3, $2, $4, $5, $6, 1.5, $7, hashtext($1))
	ON CONFLICT DO NOTHING`

// BenchmarkRecord measures 64 callers that each report one run at a time and wait for its commit. For comparison, each caller
// of "plain INSERT" sends one INSERT per run on its own connection.
func BenchmarkRecord(b *testing.B) {
	const callers = 64
	obs := benchRuns(1000)
	dsn := pgtest.Migrated(b)
	st := open(b, dsn)
	_, err := st.Record(b.Context(), obs[:1])
	require.NoError(b, err)
	config, err := pgxpool.ParseConfig(dsn)
	require.NoError(b, err)
	config.MaxConns = callers
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	defer pool.Close()
	row := []float64{.1, .2, .3, .4, .5, .6, 1, 2, 3, 19_000}
	var n atomic.Int64
	for name, report := range map[string]func(o *sizing.Observation) error{
		"store": func(o *sizing.Observation) error {
			_, err := st.Record(b.Context(), []sizing.Observation{*o})
			return err
		},
		"plain INSERT": func(o *sizing.Observation) error {
			_, err := pool.Exec(b.Context(), plainInsertSQL, o.Try.RunID, o.EndedAt, o.StartedAt,
				o.Duration.Microseconds(), int64(o.MemoryMax), int64(o.Requested.Memory), row)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(callers / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					o := obs[i%int64(len(obs))]
					o.Try.RunID = fmt.Sprintf("r%09d", i)
					if err := report(&o); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{20_000, 100_000, 500_000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			st, obs := open(b, pgtest.Migrated(b)), benchRuns(n)
			_, err := st.Record(b.Context(), obs)
			require.NoError(b, err)
			for part := range slices.Chunk(obs[n-20_000:], 1000) {
				savePromises(b, st, part)
			}
			for b.Loop() {
				h, err := st.History(b.Context(), benchTask, store.HistoryLimits{})
				require.NoError(b, err)
				require.NotEmpty(b, h.Rows)
			}
		})
	}
}

func savePromises(b *testing.B, st *postgres.Store, obs []sizing.Observation) {
	receipts := make([]sizing.Receipt, len(obs))
	for i, o := range obs {
		risk := 0.01
		receipts[i] = sizing.Receipt{At: o.StartedAt, Ask: sizing.Ask{Try: o.Try, Features: o.Features},
			Allocation: sizing.Allocation{PredictionID: "p" + o.Try.RunID, Task: o.Try.TaskKey, Risk: sizing.Risk{Promised: &risk}}}
	}
	require.NoError(b, st.SaveReceipts(b.Context(), receipts))
}

func BenchmarkProfile(b *testing.B) {
	for _, n := range []int{4_000, 100_000} {
		b.Run(fmt.Sprint("of ", n), func(b *testing.B) {
			st := open(b, pgtest.Migrated(b))
			_, err := st.Record(b.Context(), benchRuns(n))
			require.NoError(b, err)
			for b.Loop() {
				_, err := st.Task(b.Context(), benchTask)
				require.NoError(b, err)
			}
		})
	}
}
