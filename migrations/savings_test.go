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

func countRows(t *testing.T, dsn, from string) (n int) {
	t.Helper()
	require.NoError(t, connect(t, dsn).QueryRow(t.Context(), "SELECT count(*) FROM "+from).Scan(&n))
	return n
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

// withLargePeaks makes some peaks of the history larger than the allocations of their tries, and some larger than their mean
// limits, and stores months for all tasks.
const withLargePeaks = history + `;
	UPDATE observation SET memory_max = allocated_memory + 1000000000::bigint * (1 + lot % 3) WHERE lot % 4 = 0;
	UPDATE observation SET mean_allocated = memory_max / 2 WHERE lot % 3 = 1;
	INSERT INTO savings_summed (task, until) SELECT id, '2026-03-01' FROM task`

// beforeUnused is the last step with which a try whose peak is above its allocation reduces the unused memory of other tries.
const beforeUnused = 31

// Step 32 counts no negative unused memory, and corrects the sums of the stored reports and their months. So a voided report
// subtracts what it has added, also if it was stored before the step, and also after a revert.
func TestUnusedMemoryIsNeverNegative(t *testing.T) {
	migrated, reverted := atStep(t, beforeUnused), pgtest.DSN(t)
	require.NoError(t, exec(t, migrated, withLargePeaks))
	negative := ledger(t, migrated)
	require.NoError(t, migrations.Up(t.Context(), migrated))
	require.NoError(t, migrations.Up(t.Context(), reverted))
	require.NoError(t, exec(t, reverted, withLargePeaks))
	counted := ledger(t, reverted)
	require.NotEqual(t, negative, counted)
	require.Equal(t, counted, ledger(t, migrated))
	require.Zero(t, countRows(t, migrated, "savings_summed WHERE until > '2026-01-01'"),
		"the stored months must be added up again")

	require.NoError(t, migrations.Down(t.Context(), reverted, stepsAfter(t, beforeUnused)))
	require.Equal(t, negative, ledger(t, reverted))
	for _, dsn := range []string{migrated, reverted} {
		require.NoError(t, exec(t, dsn, "DELETE FROM observation"))
		require.Zero(t, countRows(t, dsn, "savings_day WHERE tries <> 0 OR unused <> 0"))
	}
}

// Reports that retention has removed before step 32 can have made the unused memory of a day negative.
func TestRemovedReportsLeaveNoNegativeUnusedMemory(t *testing.T) {
	dsn := atStep(t, beforeUnused)
	const negative = "savings_day WHERE unused < 0"
	require.NoError(t, exec(t, dsn, withLargePeaks+"; SET loadaware.retention = on; DELETE FROM observation WHERE lot % 4 = 0 OR lot < 20"))
	require.Positive(t, countRows(t, dsn, negative))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Zero(t, countRows(t, dsn, negative))
	require.NoError(t, exec(t, dsn, "DELETE FROM observation"))
	require.Zero(t, countRows(t, dsn, negative))
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
