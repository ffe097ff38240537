package postgres

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// openMapped returns a store with `runs` runs of the task "mapped", an hour apart, and the task's id.
func openMapped(t testing.TB, runs, instances int) (*Store, int64) {
	st, err := Open(t.Context(), pgtest.Migrated(t), Config{})
	require.NoError(t, err)
	t.Cleanup(func() { st.Close() })
	var id int64
	require.NoError(t, st.pool.QueryRow(t.Context(), "INSERT INTO task (namespace, dag_id, task_id) VALUES ('default', 'dag', 'mapped') RETURNING id").Scan(&id))
	_, err = st.pool.Exec(t.Context(), `
		INSERT INTO observation (task, at, duration_us, memory_max, map_index, lot, try_number, outcome, provisional, run_id, features)
		SELECT $1, timestamptz '2026-01-01' + run * interval '1 hour' + i * interval '1 ms', 1000000::bigint * (1 + i), 1000000000, i, hashint4(run * 10000 + i), 1, 1, false,
			'scheduled__2026-01-01T00:00:00+00:00_' || run, ARRAY[run, i, 3, 4, 5, 6, 7, 8]
		FROM generate_series(1, $2::int) AS run, generate_series(0, $3::int - 1) AS i`, id, runs, instances)
	require.NoError(t, err)
	return st, id
}

func TestRowsReadByNewestRunsAreBoundedByItsLimit(t *testing.T) {
	const tries = 1000
	st, id := openMapped(t, 100, 300)
	check := func(t *testing.T) {
		for name, sql := range map[string]string{"runs": newestRunsSQL, "sample": sampledSuccessesSQL} {
			read := rowsRead(t, st, "observation", sql, []int64{id}, nil, tries, 50)
			assert.LessOrEqual(t, read, 2.5*tries, "%s: the newest tries; the query for the runs reads them a second time to count them", name)
		}
	}
	t.Run("without statistics", check)
	_, err := st.pool.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)
	t.Run("with statistics", check)
}

func BenchmarkNewestRuns(b *testing.B) {
	st, _ := openMapped(b, 100, 5000)
	_, err := st.pool.Exec(b.Context(), "VACUUM ANALYZE observation")
	require.NoError(b, err)
	for b.Loop() {
		all, err := st.NewestRuns(b.Context(), sizing.DefaultNamespace, "dag", []string{"mapped"}, store.RunLimits{Tries: 250_000, Runs: 200, Sample: 200})
		require.NoError(b, err)
		require.Len(b, all["mapped"].Runs, 50)
	}
}
