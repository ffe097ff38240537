package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

// layout is a store with receipts of several weeks, in one partition per week, in one partition,
// or in one table as before partitioning.
type layout struct {
	name      string
	first     time.Time // the time of the first receipt; if it is monday, each week has a partition
	weeks     int
	migration uint // the version of the tables; the newest if zero
	*postgres.Store
	rng   *rand.Rand
	saved int // receipts saved so far
}

const (
	partitionedTries = 20_000 // receipts per task; all tries of the first task are reported
	partitionedTasks = 10
)

// at returns the time of the nth receipt.
func (p *layout) at(n int) time.Time {
	return p.first.Add(time.Duration(float64(n) / (partitionedTries * partitionedTasks) * float64(p.weeks) * float64(week))).Truncate(time.Microsecond)
}

// partitionedTry returns the try of the nth receipt.
func partitionedTry(n int) sizing.TryKey {
	return firstTry(fmt.Sprint("t", n%partitionedTasks), fmt.Sprint("r", n))
}

func firstTry(task, run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: task}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

// fillSQL inserts $4 receipts of $3 tasks, spread over $2 weeks from the time $1 on.
const fillSQL = `
	INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, promised, task_limit, guard, body, model_version, told)
	SELECT lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'),
		'default', 'd', 't' || n % $3, 'r' || n, -1, 1, at, 0.01, 1000000000, '{1,2}',
		json_build_object('Ask', json_build_object('Features', json_build_object()), 'Pad', repeat('x', 1200)), 1, n
	FROM generate_series(0, $4 - 1) AS n, LATERAL (SELECT $1::timestamptz + n * ($2 * interval '168 hours' / $4) AS at) AS t,
		LATERAL (SELECT (extract(epoch FROM at) * 1000)::bigint AS ms) AS m`

func openLayout(b *testing.B, p *layout) {
	dsn := pgtest.Migrated(b)
	p.Store = open(b, dsn)
	if p.migration > 0 {
		for at, _, _, err := migrations.Status(b.Context(), dsn); at > p.migration; at, _, _, err = migrations.Status(b.Context(), dsn) {
			require.NoError(b, err)
			require.NoError(b, migrations.Down(b.Context(), dsn, 1))
		}
	} else if p.first.Equal(monday) {
		require.NoError(b, p.MakeWeeks(b.Context(), monday, p.at(partitionedTries*partitionedTasks)))
	}
	conn := connect(b, dsn)
	_, err := conn.Exec(b.Context(), fillSQL, p.first, p.weeks, partitionedTasks, partitionedTries*partitionedTasks)
	require.NoError(b, err)
	obs := make([]sizing.Observation, partitionedTries)
	for i := range obs {
		n := i * partitionedTasks
		obs[i] = sizing.Observation{Try: partitionedTry(n), Outcome: sizing.Success, MemoryMax: sizing.GiB, Duration: time.Hour,
			EndedAt: p.at(n).Add(time.Hour), Features: sizing.Features{"n": sizing.NumberValue(float64(n))}}
	}
	for part := range slices.Chunk(obs, 2000) {
		_, err := p.Record(b.Context(), part)
		require.NoError(b, err)
	}
	_, err = conn.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	p.rng = rand.New(rand.NewPCG(1, 2)) // the same queries for each layout
}

// anyTry returns a random try with a receipt and without a report.
func (p *layout) anyTry() sizing.TryKey {
	return partitionedTry(p.rng.IntN(partitionedTries)*partitionedTasks + 1 + p.rng.IntN(partitionedTasks-1))
}

// partitionedCalls are the calls that read and write receipts.
var partitionedCalls = []struct {
	name  string
	times int // calls per round
	call  func(*testing.B, *layout) error
}{
	{"the receipt of a try", 200, func(b *testing.B, p *layout) error {
		_, err := p.ReceiptOfTry(b.Context(), p.anyTry())
		return err
	}},
	{"a report without features", 200, func(b *testing.B, p *layout) error {
		_, err := p.Record(b.Context(), []sizing.Observation{{Try: p.anyTry(), Outcome: sizing.Success, MemoryMax: 1, EndedAt: p.at(0)}})
		return err
	}},
	{"100 reports without features", 20, func(b *testing.B, p *layout) error {
		obs := make([]sizing.Observation, 100)
		for i := range obs {
			obs[i] = sizing.Observation{Try: p.anyTry(), Outcome: sizing.Success, MemoryMax: 1, EndedAt: p.at(0)}
		}
		_, err := p.Record(b.Context(), obs)
		return err
	}},
	{"promises of 500", 50, func(b *testing.B, p *layout) error {
		_, err := p.Promises(b.Context(), partitionedTry(0).TaskKey, 500)
		return err
	}},
	{"realised of 1,000", 50, func(b *testing.B, p *layout) error {
		_, err := p.Realised(b.Context(), partitionedTry(0).TaskKey, 1000)
		return err
	}},
	{"saving 100", 50, func(b *testing.B, p *layout) error {
		receipts := make([]sizing.Receipt, 100)
		for i := range receipts {
			p.saved++
			at := p.at(partitionedTries*partitionedTasks - 1)
			receipts[i] = sizing.Receipt{At: at, Ask: sizing.Ask{Try: firstTry("saved", fmt.Sprint(p.saved))},
				Allocation: sizing.Allocation{PredictionID: fmt.Sprintf("%s-7000-9000-%012x", store.FirstID(at), p.saved)}}
		}
		return p.SaveReceipts(b.Context(), receipts)
	}},
	{"a training's history of 20,000", 2, func(b *testing.B, p *layout) error {
		h, err := p.History(b.Context(), partitionedTry(0).TaskKey, store.HistoryLimits{})
		require.NotNil(b, h.Rows[0].Promised)
		return err
	}},
	{"unreported receipts of an hour", 20, func(b *testing.B, p *layout) error {
		at := p.at(p.rng.IntN(partitionedTries * partitionedTasks))
		_, err := p.UnreportedReceipts(b.Context(), store.Window{From: at, To: at.Add(time.Hour), Now: at.Add(24 * time.Hour), Limit: 500})
		return err
	}},
	{"unreported of 1,000", 20, func(b *testing.B, p *layout) error {
		_, _, err := p.CountUnreported(b.Context(), store.FirstID(p.at(partitionedTries*partitionedTasks)), 1000)
		return err
	}},
}

// BenchmarkWeeks compares reads and writes of 200,000 receipts in partitions with reads and writes
// in one table, in alternation. It prints the median time in µs and the ratios within a round.
func BenchmarkWeeks(b *testing.B) {
	past := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	stores := []*layout{
		{name: "one table", first: past, weeks: 14, migration: 6},
		{name: "one partition", first: past, weeks: 14},
		{name: "14 weeks", first: monday, weeks: 14},
		{name: "53 weeks", first: monday, weeks: 53},
	}
	for _, p := range stores {
		openLayout(b, p)
	}
	const rounds = 5
	for _, c := range partitionedCalls {
		durations := make([][]float64, len(stores))
		for round := range rounds + 1 {
			for i, p := range stores {
				start := time.Now()
				for range c.times {
					require.NoError(b, c.call(b, p), "%s, %s", c.name, p.name)
				}
				if round > 0 { // round 0 warms up
					durations[i] = append(durations[i], float64(time.Since(start).Microseconds())/float64(c.times))
				}
			}
		}
		for i, p := range stores {
			ratios := make([]float64, rounds)
			for r := range ratios {
				ratios[r] = durations[i][r] / durations[0][r]
			}
			slices.Sort(ratios)
			slices.Sort(durations[i])
			b.Logf("%-32s %-14s %9.0f µs  × %.2f [%.2f .. %.2f]", c.name, p.name, durations[i][rounds/2], ratios[rounds/2], ratios[0], ratios[rounds-1])
		}
	}
}
