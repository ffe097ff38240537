package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/migrations"
)

// beforeSavings is before step 13, which adds the savings ledger, and before step 12, the first one that copies the privileges
// of the table task to other tables (see weeks_test.go).
const beforeSavings = 10

// beforeMeans is the last step before step 25 (there are no steps 21 to 24), which adds the mean limits of tries with a plan.
const beforeMeans = 20

const history = `
	INSERT INTO task (namespace, dag_id, task_id) VALUES ('n', 'd', 'reported'), ('n', 'd', 'predicted');
	INSERT INTO tally (task) SELECT id FROM task;
	INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
	SELECT '0000' || i, 'n', 'd', 'predicted', CASE WHEN i = 0 THEN '' ELSE 'r' || i END, -1, 1, timestamptz '2026-01-01 00:00Z' + i * interval '1 hour',
		json_build_object('Ask', json_build_object('Requested', json_build_object('Memory', (1 + i) * 1000000000::bigint, 'CPU', 0)))
	FROM generate_series(0, 3) AS i;
	INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional, at, duration_us, memory_max, allocated_memory, requested_memory, allocated_cpu, requested_cpu, lot)
	SELECT task.id, 'r' || i, -1, 1, 1 + i % 4, false, timestamptz '2026-01-01 00:00Z' + i * interval '7 hours', nullif(i % 5, 0) * 1000000000::bigint,
		nullif(i % 3, 0) * 1000000000::bigint, nullif(i % 7, 0) * 2000000000::bigint, CASE WHEN task_id = 'reported' AND i > 3 THEN 20000000000 + i END,
		CASE WHEN i % 2 = 0 THEN 0.5 END, CASE WHEN task_id = 'reported' THEN 1 END, i
	FROM task, generate_series(0, 99) AS i ORDER BY task.id, i`

func ledger(t *testing.T, dsn string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', task_id, to_jsonb(savings_day) - 'task') FROM savings_day JOIN task ON task.id = task
		UNION ALL
		SELECT concat_ws(' ', task_id, memory, memory_at AT TIME ZONE 'UTC', cpu) FROM baseline
		ORDER BY 1`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

// The migration counts the reports that are already stored in the same way as the triggers count new ones.
func TestSavingsStartWithTheStoredReports(t *testing.T) {
	dsn, withTriggers := atStep(t, beforeSavings), pgtest.DSN(t)
	require.NoError(t, exec(t, dsn, history))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	got := ledger(t, dsn)
	require.Contains(t, got, "predicted 2000000000 2026-01-01 01:00:00", "the baseline must be the request of the oldest receipt of a try")
	require.Contains(t, got, "reported 20000000004 2026-01-02 04:00:00 1", "the baseline must be the request of the first report with a memory request")

	require.NoError(t, migrations.Up(t.Context(), withTriggers))
	require.NoError(t, exec(t, withTriggers, history))
	require.NoError(t, exec(t, withTriggers, `SELECT note_requests('{n}', '{d}', '{predicted}', '{2026-01-01 01:00Z}', '{2000000000}', '{null}')`))
	require.Equal(t, ledger(t, withTriggers), got)
}

// When a report is voided, the version before step 25 subtracts the allocation from the ledger. So the revert of step 25
// must count the allocation of each stored report in place of its mean limit.
func TestRevertedMeansAreNotCounted(t *testing.T) {
	dsn, before := pgtest.DSN(t), atStep(t, beforeMeans)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, exec(t, dsn, history))
	require.NoError(t, exec(t, before, history))
	require.NoError(t, exec(t, dsn, "UPDATE observation SET mean_allocated = allocated_memory / 2"))
	require.NotEqual(t, ledger(t, before), ledger(t, dsn))
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, beforeMeans)))
	require.Equal(t, ledger(t, before), ledger(t, dsn))
}

// Step 27 changes what the ledger counts, and corrects the sums of the stored reports. Its revert undoes both.
func TestRevertCountsTheCPUOfRequestsAgain(t *testing.T) {
	const before = 26
	dsn, reverted := atStep(t, before), pgtest.DSN(t)
	require.NoError(t, exec(t, dsn, history))
	require.NoError(t, migrations.Up(t.Context(), reverted))
	require.NoError(t, exec(t, reverted, history))
	require.NotEqual(t, ledger(t, dsn), ledger(t, reverted))
	require.NoError(t, migrations.Down(t.Context(), reverted, stepsAfter(t, before)))
	require.Equal(t, ledger(t, dsn), ledger(t, reverted))
}
