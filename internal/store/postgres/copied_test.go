package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
)

// drawnReport has every field drawn, and left out now and then.
func drawnReport(r *rand.Rand, task string, i int) sizing.Observation {
	some := func(v int) int { return v * r.IntN(2) }
	when := func(hours int) (at time.Time) {
		if r.IntN(2) == 0 {
			at = time.Date(2020, 1, 1, hours, 0, 0, r.IntN(1e9), time.UTC)
		}
		return at
	}
	o := run(i)
	o.Try.Task, o.Try.MapIndex, o.Try.Number = task, r.IntN(3)-1, 1+r.IntN(3)
	o.Outcome = sizing.Outcome(1 + r.IntN(7))
	o.MemoryMax, o.MemorySampled = sizing.Bytes(some(1+r.IntN(9))), sizing.Bytes(some(1+r.IntN(9)))
	o.Allocated = sizing.Resources{Memory: sizing.Bytes(some(7)), CPU: sizing.Cores(some(2))}
	o.Requested = sizing.Resources{Memory: sizing.Bytes(some(8)), CPU: sizing.Cores(some(3))}
	o.CPUMax, o.Duration = sizing.Cores(r.Float64()*float64(some(1))), time.Duration(some(r.IntN(1e12)))
	o.StartedAt, o.EndedAt = when(i), when(i+1)
	o.Provisional = r.IntN(2) == 0
	o.PredictionID = []string{"", "p"}[r.IntN(2)]
	switch r.IntN(3) {
	case 0:
		o.Features = nil
	case 1:
		o.Features = sizing.Features{}
	default:
		o.Features = sizing.Features{"n": sizing.NumberValue(math.Ldexp(r.Float64(), r.IntN(99))), "c": sizing.TextValue(fmt.Sprint(r.IntN(3)))}
	}
	return o
}

func TestRowsThatAreCopiedAreThoseThatAreInserted(t *testing.T) {
	dsn := pgtest.DSN(t)
	st := open(t, dsn)
	const n = 300
	draw := func(task string) (reports []sizing.Observation) {
		r := rand.New(rand.NewPCG(1, 0))
		for i := range n {
			reports = append(reports, drawnReport(r, task, i))
		}
		return append(reports, reports[:9]...) // told twice in one batch
	}
	var inserted []sizing.Recorded
	for _, o := range draw("inserted") {
		got, err := st.Record(t.Context(), []sizing.Observation{o})
		require.NoError(t, err)
		inserted = append(inserted, got[0])
	}
	copied, err := st.Record(t.Context(), draw("copied"))
	require.NoError(t, err)
	again, err := st.Record(t.Context(), draw("copied"))
	require.NoError(t, err)

	seq := int64(0)
	for i := range copied {
		assert.Equal(t, inserted[i].Duplicate, copied[i].Duplicate, "report %d", i)
		assert.NoError(t, copied[i].Err)
		if i < n {
			assert.Greater(t, copied[i].Seq, seq, "in the order in which they were told")
			seq = copied[i].Seq
		}
		assert.True(t, again[i].Duplicate, "report %d, told again", i)
	}
	differ := func(what string) (rows int) {
		columns := `run_id, map_index, try_number, outcome, provisional, coalesce(ended_at, started_at) IS NULL OR at = coalesce(ended_at, started_at),
			started_at, ended_at, duration_us, memory_max, allocated_memory, requested_memory, memory_sampled, sampled_only, cpu_max, allocated_cpu,
			requested_cpu, peak, prediction_id, features, lot`
		of := func(task string) string {
			return `SELECT ` + columns + ` FROM observation JOIN task ON task.id = observation.task WHERE task_id = '` + task + `'`
		}
		sql := `SELECT count(*) FROM ((` + of("inserted") + `) ` + what + ` (` + of("copied") + `)) AS rows`
		require.NoError(t, connect(t, dsn).QueryRow(t.Context(), sql).Scan(&rows))
		return rows
	}
	assert.Equal(t, n, differ("INTERSECT"))
	assert.Zero(t, differ("EXCEPT"))

	var tallies [][2]int64
	rows, err := connect(t, dsn).Query(t.Context(), "SELECT observations, kills FROM tally JOIN task ON id = task ORDER BY task_id")
	require.NoError(t, err)
	for rows.Next() {
		var tally [2]int64
		require.NoError(t, rows.Scan(&tally[0], &tally[1]))
		tallies = append(tallies, tally)
	}
	require.NoError(t, rows.Err())
	require.Len(t, tallies, 2)
	assert.Equal(t, tallies[0], tallies[1])
	assert.EqualValues(t, n, tallies[0][0])
}
