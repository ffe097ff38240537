package retention_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/retention"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

var benchRows = flag.Int("rows", 300_000, "number of observations of BenchmarkRetention, more than 200000, because retention keeps 20000 of each of its ten tasks; the number of receipts is a fifth of it")

// BenchmarkRetention has three parts. The first removes observations older than a year from ten tasks with two years of
// observations, while a caller reports new ones; before that it checks that the removal of observations older than 600 days
// changes no history and no profile. The others remove half of the receipts, without and with weekly partitions. fsync is
// on. Run it with -benchtime 1x.
func BenchmarkRetention(b *testing.B) {
	for _, part := range []struct {
		name    string
		measure func(*testing.B, int)
	}{{"observations", benchObservations}, {"receipts", benchUnpartitioned}, {"weeks", benchWeeks}} {
		b.Run(part.name, func(b *testing.B) {
			for range b.N {
				part.measure(b, *benchRows)
			}
		})
	}
}

const benchTasks = 10

func benchStore(b *testing.B) (*postgres.Store, *pgx.Conn) {
	dir, err := os.MkdirTemp("", "retention-bench-")
	require.NoError(b, err)
	require.NoError(b, os.Chmod(dir, 0o755)) //nolint:gosec // a server started by root runs as another user, which needs access
	server, err := pglocal.Start(b.Context(), pglocal.Config{DataDir: filepath.Join(dir, "data"), Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() {
		assert.NoError(b, server.Stop())
		assert.NoError(b, pglocal.Remove(context.Background(), server.DataDir()))
		assert.NoError(b, os.RemoveAll(dir))
	})
	require.NoError(b, migrations.Up(b.Context(), server.DSN()))
	st, err := postgres.Open(b.Context(), server.DSN(), postgres.Config{Debounce: time.Hour})
	require.NoError(b, err)
	b.Cleanup(st.Close)
	conn, err := pgx.Connect(b.Context(), server.DSN())
	require.NoError(b, err)
	b.Cleanup(func() { conn.Close(context.Background()) })
	return st, conn
}

func benchObservations(b *testing.B, rows int) {
	b.StopTimer()
	st, conn := benchStore(b)
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Now()
	for n := range benchTasks {
		_, err := st.Record(b.Context(), []sizing.Observation{report(n, "first", time.Now())})
		require.NoError(b, err)
	}
	perTask := rows / benchTasks
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"observation"},
		[]string{"task", "at", "ended_at", "duration_us", "memory_max", "requested_memory", "map_index", "lot", "try_number", "outcome", "provisional", "run_id", "features"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			at := start.Add(-time.Duration(float64(rows-i) / float64(rows) * float64(2*365*day)))
			return []any{1 + i%benchTasks, at, at, rng.Int64N(3e9), rng.Int64N(64 << 30), int64(64 << 30), -1, int32(rng.Uint32()), 1, 1, false, fmt.Sprintf("r%09d", i),
				[]float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64(), 3, 4, 1, 0, 5, 6}}, nil
		}))
	require.NoError(b, err)
	for _, sql := range []string{
		fmt.Sprintf("UPDATE tally SET observations = %d", perTask+1),
		`INSERT INTO model SELECT id, 1, 'f', 1, 1, (SELECT max(seq) FROM observation), now(), NULL, '' FROM task`,
		`UPDATE task SET active_version = 1`, `ANALYZE`, `CHECKPOINT`,
	} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err)
	}
	copied := time.Since(start)
	before := readAll(b, st)
	first, err := retention.New(st, retention.Config{Observations: 600 * day}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	require.NoError(b, first.RunOnce(b.Context()))
	require.Equal(b, before, readAll(b, st))
	_, err = conn.Exec(b.Context(), "DELETE FROM duty") // the lease of the first worker
	require.NoError(b, err)
	alone := latencies(b, st, func() { time.Sleep(5 * time.Second) }) // without retention
	cost := measureCosts(b, conn, "observation")
	removed := 0
	worker, err := retention.New(st, retention.Config{Observations: 365 * day, Removed: func(_ string, rows int) { removed += rows }}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.StartTimer()
	during := latencies(b, st, func() {
		start := time.Now()
		require.NoError(b, worker.RunOnce(b.Context()))
		b.ReportMetric(float64(removed)/time.Since(start).Seconds(), "removed/s")
	})
	b.StopTimer()
	cost("removing")
	secondStart := time.Now()
	require.NoError(b, worker.RunOnce(b.Context()))
	b.ReportMetric(time.Since(secondStart).Seconds()/benchTasks*1000, "ms/task-again")
	b.ReportMetric(float64(removed)/float64(rows), "removed-share")
	b.ReportMetric(copied.Seconds(), "copy-s")
	b.ReportMetric(float64(during[len(during)/2].Microseconds())/1000, "report-p50-ms")
	b.ReportMetric(float64(during[len(during)*99/100].Microseconds())/1000, "report-p99-ms")
	b.ReportMetric(float64(alone[len(alone)/2].Microseconds())/1000, "alone-p50-ms")
	b.ReportMetric(float64(alone[len(alone)*99/100].Microseconds())/1000, "alone-p99-ms")
	vacuum(b, conn, "observation")
}

func benchTask(n int) sizing.TaskKey { return task(fmt.Sprint("bench", n)) }

func report(n int, run string, at time.Time) sizing.Observation {
	return sizing.Observation{
		Try:     sizing.TryKey{TaskKey: benchTask(n), RunID: run, MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: 32 * sizing.GiB, EndedAt: at, Features: sizing.Features{},
	}
}

type contents struct {
	profiles  []sizing.Profile
	histories []sizing.History
}

func readAll(b *testing.B, st *postgres.Store) (c contents) {
	for n := range benchTasks {
		p, err := st.Task(b.Context(), benchTask(n))
		require.NoError(b, err)
		c.profiles = append(c.profiles, p)
		h, err := st.History(b.Context(), benchTask(n), store.HistoryLimits{})
		require.NoError(b, err)
		c.histories = append(c.histories, h)
	}
	return c
}

// reported counts the reports that the function latencies sends, so that each report has its own run id.
var reported atomic.Int64

func latencies(b *testing.B, st *postgres.Store, do func()) (durations []time.Duration) {
	done := make(chan struct{})
	var caller sync.WaitGroup
	caller.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			n := reported.Add(1)
			o := report(int(n)%benchTasks, fmt.Sprint("new", n), time.Now())
			o.MemoryMax = 16 * sizing.GiB // neither the highest nor the lowest peak
			start := time.Now()
			if _, err := st.Record(b.Context(), []sizing.Observation{o}); err != nil {
				b.Error(err)
			}
			durations = append(durations, time.Since(start))
		}
	})
	do()
	close(done)
	caller.Wait()
	slices.Sort(durations)
	return durations
}

// benchUnpartitioned removes receipts that are older than the first weekly partition and share one partition.
func benchUnpartitioned(b *testing.B, rows int) { benchReceipts(b, rows, time.Now()) }

// benchWeeks removes receipts with times of the next year, so that they are in weekly partitions.
func benchWeeks(b *testing.B, rows int) { benchReceipts(b, rows, time.Now().Add(365*day)) }

func benchReceipts(b *testing.B, rows int, now time.Time) {
	b.StopTimer()
	rows /= 5
	st, conn := benchStore(b)
	require.NoError(b, st.MakeWeeks(b.Context(), now.Add(-180*day), now))
	copyReceipts(b, conn, rows, now)
	removed := 0
	worker, err := retention.New(st, retention.Config{Receipts: 90 * day, Now: func() time.Time { return now },
		Removed: func(_ string, rows int) { removed += rows }}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	cost := measureCosts(b, conn, "receipt")
	start := time.Now()
	b.StartTimer()
	require.NoError(b, worker.RunOnce(b.Context()))
	b.StopTimer()
	b.ReportMetric(float64(removed)/time.Since(start).Seconds(), "removed/s")
	b.ReportMetric(float64(removed), "removed")
	cost("removing")
	vacuum(b, conn, "receipt")
}
