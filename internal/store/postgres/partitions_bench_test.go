package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

// layout is a store with receipts of several weeks, in one partition per week, in one partition,
// or in a table without partitions.
type layout struct {
	name    string
	weeks   int                                  // number of weeks over which the times of the receipts are spread
	prepare func(*testing.B, *layout, *pgx.Conn) // changes the partitions of the empty tables; nil for one partition
	*postgres.Store
	rng   *rand.Rand
	saved int // receipts saved so far, without those of fill
}

// firstReceipt is the time of the first receipt, a Monday. It is in the past, because the store replaces
// future times of reports.
var firstReceipt = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	partitionedTries = 20_000 // receipts per task; all tries of the first task are reported
	partitionedTasks = 10
)

func (p *layout) at(n int) time.Time {
	return firstReceipt.Add(time.Duration(float64(n) / (partitionedTries * partitionedTasks) * float64(p.weeks) * float64(week))).Truncate(time.Microsecond)
}

func partitionedTry(n int) sizing.TryKey {
	return firstTry(fmt.Sprint("t", n%partitionedTasks), fmt.Sprint("r", n))
}

func firstTry(task, run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "d", Task: task}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func unpartition(b *testing.B, _ *layout, conn *pgx.Conn) {
	for _, table := range []string{"receipt", "receipt_compact"} {
		_, err := conn.Exec(b.Context(), fmt.Sprintf(`
			ALTER TABLE %[1]s RENAME TO partitioned;
			CREATE TABLE %[1]s (LIKE partitioned INCLUDING ALL);
			DROP TABLE partitioned`, table))
		require.NoError(b, err)
	}
}

func makeWeeks(b *testing.B, p *layout, conn *pgx.Conn) {
	_, err := conn.Exec(b.Context(), "DROP TABLE receipt_before, receipt_compact_before")
	require.NoError(b, err)
	require.NoError(b, p.MakeWeeks(b.Context(), firstReceipt, p.at(partitionedTries*partitionedTasks)))
}

func openLayout(b *testing.B, p *layout) {
	dsn := pgtest.Migrated(b)
	p.Store = reopen(b, dsn)
	conn := connect(b, dsn)
	if p.prepare != nil {
		p.prepare(b, p, conn)
	}
	p.fill(b)
	_, err := conn.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	p.rng = rand.New(rand.NewPCG(1, 2)) // the same queries for each layout
}

func (p *layout) fill(b *testing.B) {
	const batch = 2000
	r := rand.New(rand.NewPCG(1, 1))
	for first := 0; first < partitionedTries*partitionedTasks; first += batch {
		receipts := make([]sizing.Receipt, batch)
		for i := range receipts {
			n := first + i
			receipt := fullReceipt(r, n)
			receipt.At, receipt.Ask.Try = p.at(n), partitionedTry(n)
			receipt.Allocation.PredictionID = fmt.Sprintf("%s-7000-8000-%012x", store.FirstID(receipt.At), n)
			receipts[i] = receipt
		}
		require.NoError(b, p.SaveReceipts(b.Context(), receipts))
	}
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
}

// anyTry returns a random try for which fill saves a receipt and no report.
func (p *layout) anyTry() sizing.TryKey {
	return partitionedTry(p.rng.IntN(partitionedTries)*partitionedTasks + 1 + p.rng.IntN(partitionedTasks-1))
}

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
	{"promises of 500 tries", 50, func(b *testing.B, p *layout) error {
		_, err := p.Promises(b.Context(), partitionedTry(0).TaskKey, 500)
		return err
	}},
	{"outcomes of 1,000 promises", 50, func(b *testing.B, p *layout) error {
		_, err := p.Realised(b.Context(), partitionedTry(0).TaskKey, 1000)
		return err
	}},
	{"saving 100 receipts", 50, func(b *testing.B, p *layout) error {
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
	{"unreported tries of an hour", 20, func(b *testing.B, p *layout) error {
		at := p.at(p.rng.IntN(partitionedTries * partitionedTasks))
		_, err := p.UnreportedReceipts(b.Context(), store.Window{From: at, To: at.Add(time.Hour), Now: at.Add(24 * time.Hour), Limit: 500})
		return err
	}},
	{"unreported share of 1,000", 20, func(b *testing.B, p *layout) error {
		_, _, err := p.CountUnreported(b.Context(), store.FirstID(p.at(partitionedTries*partitionedTasks)), 1000)
		return err
	}},
}

// BenchmarkWeeks compares reads and writes of 200,000 receipts in partitions with those in one table. For each call and layout
// it prints the median time of one call in µs, and the median and the range of the ratio to the time in one table in the same
// round.
func BenchmarkWeeks(b *testing.B) {
	stores := []*layout{
		{name: "one table", weeks: 14, prepare: unpartition},
		{name: "one partition", weeks: 14},
		{name: "14 weeks", weeks: 14, prepare: makeWeeks},
		{name: "53 weeks", weeks: 53, prepare: makeWeeks},
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
