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

var benchRows = flag.Int("rows", 300_000, "observations that BenchmarkRetention begins with, more than 200000; a fifth as many receipts")

// BenchmarkRetention removes what is older than a year of two years of observations in
// ten tasks, at the end while one caller reports to them, one at a time; then half of a
// fifth as many receipts, as they were before they stood in weeks, and by weeks. What was older than 600 days goes
// first, and History and profiles must be the same afterwards. PostgreSQL keeps its
// promises here (fsync is on). Run it with -benchtime 1x.
func BenchmarkRetention(b *testing.B) {
	for _, form := range []struct {
		name    string
		measure func(*testing.B, int)
	}{{"observations", benchObservations}, {"receipts", benchReceiptsAsTheyWere}, {"weeks", benchWeeks}} {
		b.Run(form.name, func(b *testing.B) {
			for range b.N {
				form.measure(b, *benchRows)
			}
		})
	}
}

const benchTasks = 10

func benchStore(b *testing.B) (*postgres.Store, *pgx.Conn) {
	dir, err := os.MkdirTemp("", "retention-bench-")
	require.NoError(b, err)
	require.NoError(b, os.Chmod(dir, 0o755)) //nolint:gosec // a server that was started by root drops its rights, and must still get in
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
	dice := rand.New(rand.NewPCG(1, 2))
	began := time.Now()
	for n := range benchTasks {
		_, err := st.Record(b.Context(), []sizing.Observation{report(n, "first", time.Now())})
		require.NoError(b, err)
	}
	each := rows / benchTasks
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"observation"},
		[]string{"task", "at", "ended_at", "duration_us", "memory_max", "requested_memory", "map_index", "lot", "try_number", "outcome", "provisional", "run_id", "features"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			at := began.Add(-time.Duration(float64(rows-i) / float64(rows) * float64(2*365*day)))
			return []any{1 + i%benchTasks, at, at, dice.Int64N(3e9), dice.Int64N(64 << 30), int64(64 << 30), -1, int32(dice.Uint32()), 1, 1, false, fmt.Sprintf("r%09d", i),
				[]float64{dice.Float64(), dice.Float64(), dice.Float64(), dice.Float64(), 3, 4, 1, 0, 5, 6}}, nil
		}))
	require.NoError(b, err)
	for _, sql := range []string{
		fmt.Sprintf("UPDATE tally SET observations = %d", each+1),
		`INSERT INTO model SELECT id, 1, 'f', 1, 1, (SELECT max(seq) FROM observation), now(), NULL, '' FROM task`,
		`UPDATE task SET active_version = 1`, `ANALYZE`, `CHECKPOINT`,
	} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err)
	}
	copied := time.Since(began)
	before := known(b, st)
	half, err := retention.New(st, retention.Config{Observations: 600 * day}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	require.NoError(b, half.RunOnce(b.Context()))
	require.Equal(b, before, known(b, st))
	_, err = conn.Exec(b.Context(), "DELETE FROM duty") // which is another worker's
	require.NoError(b, err)
	alone := reporting(b, st, func() { time.Sleep(5 * time.Second) })
	cost := costs(b, conn, "observation")
	gone := 0
	worker, err := retention.New(st, retention.Config{Observations: 365 * day, Removed: func(_ string, rows int) { gone += rows }}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	b.StartTimer()
	beside := reporting(b, st, func() {
		began := time.Now()
		require.NoError(b, worker.RunOnce(b.Context()))
		b.ReportMetric(float64(gone)/time.Since(began).Seconds(), "removed/s")
	})
	b.StopTimer()
	cost("removing")
	again := time.Now()
	require.NoError(b, worker.RunOnce(b.Context()))
	b.ReportMetric(time.Since(again).Seconds()/benchTasks*1000, "ms/task-again")
	b.ReportMetric(float64(gone)/float64(rows), "removed-share")
	b.ReportMetric(copied.Seconds(), "copy-s")
	b.ReportMetric(float64(beside[len(beside)/2].Microseconds())/1000, "report-p50-ms")
	b.ReportMetric(float64(beside[len(beside)*99/100].Microseconds())/1000, "report-p99-ms")
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

type knowledge struct {
	profiles  []sizing.Profile
	histories []sizing.History
}

// known is what trainings and people read of the tasks.
func known(b *testing.B, st *postgres.Store) (k knowledge) {
	for n := range benchTasks {
		p, err := st.Task(b.Context(), benchTask(n))
		require.NoError(b, err)
		k.profiles = append(k.profiles, p)
		h, err := st.History(b.Context(), benchTask(n), store.HistoryLimits{})
		require.NoError(b, err)
		k.histories = append(k.histories, h)
	}
	return k
}

var reported atomic.Int64

// reporting are the times, sorted, that reports took while do ran.
func reporting(b *testing.B, st *postgres.Store, do func()) (took []time.Duration) {
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
			o.MemoryMax = 16 * sizing.GiB // neither highest nor lowest
			began := time.Now()
			if _, err := st.Record(b.Context(), []sizing.Observation{o}); err != nil {
				b.Error(err)
			}
			took = append(took, time.Since(began))
		}
	})
	do()
	close(done)
	caller.Wait()
	slices.Sort(took)
	return took
}

// benchReceiptsAsTheyWere are in the partition of those from before there were weeks.
func benchReceiptsAsTheyWere(b *testing.B, rows int) { benchReceipts(b, rows, time.Now()) }

// benchWeeks is a year ahead, in weeks of their own.
func benchWeeks(b *testing.B, rows int) { benchReceipts(b, rows, time.Now().Add(365*day)) }

func benchReceipts(b *testing.B, rows int, now time.Time) {
	b.StopTimer()
	rows /= 5
	st, conn := benchStore(b)
	require.NoError(b, st.MakeWeeks(b.Context(), now.Add(-180*day), now))
	copyReceipts(b, conn, rows, now)
	gone := 0
	worker, err := retention.New(st, retention.Config{Receipts: 90 * day, Now: func() time.Time { return now },
		Removed: func(_ string, rows int) { gone += rows }}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	cost := costs(b, conn, "receipt")
	began := time.Now()
	b.StartTimer()
	require.NoError(b, worker.RunOnce(b.Context()))
	b.StopTimer()
	b.ReportMetric(float64(gone)/time.Since(began).Seconds(), "removed/s")
	b.ReportMetric(float64(gone), "removed")
	cost("removing")
	vacuum(b, conn, "receipt")
}
