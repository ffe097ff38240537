package migrations_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/migrations"
)

// Four replicas of the last version without partitions save receipts while 10⁶ receipts are migrated. Run this with
// -benchtime 1x.
func BenchmarkSavesDuringPartitioning(b *testing.B) {
	for range b.N {
		b.StopTimer()
		dsn := pgtest.DSN(b)
		require.NoError(b, migrations.Up(b.Context(), dsn))
		require.NoError(b, migrations.Down(b.Context(), dsn, stepsAfter(b, beforeWeeks)))
		filler := connect(b, dsn)
		_, err := filler.Exec(b.Context(), `INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
			SELECT lpad(n::text, 8, '0'), 'n', 'd', 't' || n % 50, 'r' || n, -1, 1, now() - n * interval '1 second', json_build_object('pad', repeat('x', 1800))
			FROM generate_series(1, 1000000) AS n`)
		require.NoError(b, err)
		_, err = filler.Exec(b.Context(), "CHECKPOINT")
		require.NoError(b, err)

		alone := savesWhile(b, dsn, func() { time.Sleep(5 * time.Second) })
		migrating := savesWhile(b, dsn, func() {
			b.StartTimer()
			require.NoError(b, migrations.Up(b.Context(), dsn))
			b.StopTimer()
		})
		for name, durations := range map[string][]time.Duration{"alone": alone, "meanwhile": migrating} {
			b.ReportMetric(float64(len(durations)), "saves-"+name)
			b.ReportMetric(durations[len(durations)/2].Seconds()*1000, "ms-p50-"+name)
			b.ReportMetric(durations[len(durations)-1].Seconds()*1000, "ms-longest-"+name)
		}
		b.ReportMetric(b.Elapsed().Seconds(), "s-migrating")
	}
}

func savesWhile(b *testing.B, dsn string, do func()) (durations []time.Duration) {
	ctx, stop := context.WithCancel(b.Context())
	var savers sync.WaitGroup
	var mu sync.Mutex
	for saver := range 4 {
		p := previousReplica{b, connect(b, dsn)}
		savers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				started := time.Now()
				if err := p.copyReceipt(idAt(started, 4*n+saver)); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				durations = append(durations, time.Since(started))
				mu.Unlock()
				time.Sleep(time.Millisecond)
			}
		})
	}
	do()
	stop()
	savers.Wait()
	slices.Sort(durations)
	return durations
}
