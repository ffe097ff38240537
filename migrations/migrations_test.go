package migrations_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/migrations"
)

func requireStatus(t *testing.T, dsn string, version uint, dirty bool) (newest uint) {
	t.Helper()
	gotVersion, gotDirty, newest, err := migrations.Status(t.Context(), dsn)
	require.NoError(t, err)
	require.Equal(t, version, gotVersion)
	require.Equal(t, dirty, gotDirty)
	return newest
}

func exec(t *testing.T, dsn, sql string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql)
	return err
}

func TestUpAndDownAreInverse(t *testing.T) {
	dsn := pgtest.DSN(t)
	newest := requireStatus(t, dsn, 0, false)
	require.Positive(t, newest)
	for range 2 {
		require.NoError(t, migrations.Up(t.Context(), dsn))
		require.NoError(t, migrations.Up(t.Context(), dsn), "must succeed if no step is missing")
		requireStatus(t, dsn, newest, false)
		require.NoError(t, exec(t, dsn, "SELECT FROM observation"))

		require.NoError(t, migrations.Down(t.Context(), dsn, int(newest)+5), "must succeed if fewer steps are applied than given")
		requireStatus(t, dsn, 0, false)
		require.NoError(t, migrations.Down(t.Context(), dsn, 1), "must succeed if no step is applied")
		require.Error(t, exec(t, dsn, "SELECT FROM observation"))
	}
	require.ErrorContains(t, migrations.Down(t.Context(), dsn, 0), "must be 1 or more")
}

func TestUpKeepsADatabaseOfANewerVersion(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, exec(t, dsn, "UPDATE schema_migrations SET version = 9000"))
	require.NoError(t, migrations.Up(t.Context(), dsn), "an older replica must be able to restart")
	require.ErrorContains(t, migrations.Down(t.Context(), dsn, 1), "step 9000 of the database is unknown")
	requireStatus(t, dsn, 9000, false)
	require.NoError(t, exec(t, dsn, "UPDATE schema_migrations SET dirty = true"))
	require.ErrorContains(t, migrations.Up(t.Context(), dsn), "is unfinished")
}

func TestReplicasMigrateConcurrently(t *testing.T) {
	dsn := pgtest.DSN(t)
	var replicas errgroup.Group
	for range 4 {
		replicas.Go(func() error { return migrations.Up(t.Context(), dsn) })
	}
	require.NoError(t, replicas.Wait())
	version, dirty, newest, err := migrations.Status(t.Context(), dsn)
	require.NoError(t, err)
	require.False(t, dirty)
	require.Equal(t, newest, version)
}

// schemaOf lists the columns of all tables with their types, and the indexes.
func schemaOf(t *testing.T, dsn string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `
		SELECT concat_ws(' ', table_name,
			row_number() OVER (PARTITION BY table_name ORDER BY ordinal_position), -- ordinal_position has gaps after dropped columns
			column_name, data_type, is_nullable, column_default)
		FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name <> 'schema_migrations'
		UNION ALL
		SELECT replace(indexdef, ' ON ONLY ', ' ON ') -- for a partitioned table
		FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
		ORDER BY 1`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

func databaseBeforeNewestStep(t *testing.T) (dsn string) {
	t.Helper()
	dsn = pgtest.DSN(t)
	steps, err := filepath.Glob("*.up.sql")
	require.NoError(t, err)
	for _, step := range steps[:len(steps)-1] {
		sql, err := os.ReadFile(step)
		require.NoError(t, err)
		require.NoError(t, exec(t, dsn, string(sql)))
	}
	return dsn
}

// Replicas of the previous version continue to work while a replica of the next version migrates.
func TestNewestStepOnlyAddsAndIsReversible(t *testing.T) {
	before, dsn := schemaOf(t, databaseBeforeNewestStep(t)), pgtest.DSN(t)
	require.NotEmpty(t, before)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	after := schemaOf(t, dsn)
	require.Subset(t, after, before)

	const insert = "INSERT INTO task (namespace, dag_id, task_id) VALUES ('n', 'd', 't')"
	require.NoError(t, exec(t, dsn, insert))
	require.NoError(t, migrations.Down(t.Context(), dsn, 1))
	require.Equal(t, before, schemaOf(t, dsn))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, after, schemaOf(t, dsn))
	require.ErrorContains(t, exec(t, dsn, insert), "duplicate key", "the row must still exist")
}

// The error of a rejected step says "fix the cause and start again", which must suffice.
func TestRejectedStepLeavesNoDirtyMark(t *testing.T) {
	dsn := pgtest.DSN(t)
	// This table makes the first step fail.
	require.NoError(t, exec(t, dsn, "CREATE TABLE receipt ()"))
	for range 2 {
		require.ErrorContains(t, migrations.Up(t.Context(), dsn), "rolled back")
		requireStatus(t, dsn, 0, false)
		require.Error(t, exec(t, dsn, "SELECT FROM task"), "a step must be applied completely or not at all")
	}
	require.NoError(t, exec(t, dsn, "DROP TABLE receipt"))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	requireStatus(t, dsn, latest(t), false)
}

// The dirty mark shows that a process ended during the first step, so it is not known whether the step was committed.
func TestDirtyDatabaseIsNotChanged(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, exec(t, dsn, "CREATE TABLE receipt ()"))
	require.Error(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, exec(t, dsn, "INSERT INTO schema_migrations VALUES (1, true)"))
	requireStatus(t, dsn, 1, true)

	err := migrations.Up(t.Context(), dsn)
	require.ErrorContains(t, err, "migration 1 is unfinished")
	require.ErrorContains(t, err, "DELETE FROM schema_migrations")
	require.NoError(t, exec(t, dsn, "DELETE FROM schema_migrations"), "the repair that the error advises must succeed")
	require.NoError(t, exec(t, dsn, "DROP TABLE receipt"))
	require.NoError(t, migrations.Up(t.Context(), dsn))
}

// The dirty mark of a revert has the number of the step before the reverted one; -1 if the first step is reverted. If a
// crash prevents the revert, the advice in the error makes the reverted step the current one again.
func TestAdviceAfterAnInterruptedRevert(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	newest := latest(t)
	for _, c := range []struct {
		applied, status uint
		dirtyMark       int
	}{{newest, migrations.Target(newest, 1), int(migrations.Target(newest, 1))}, {1, 0, -1}} {
		if c.applied < newest {
			require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, c.applied)))
		}
		require.NoError(t, exec(t, dsn, fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = true", c.dirtyMark)))
		requireStatus(t, dsn, c.status, true)
		repair := fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = false", c.applied)
		err := migrations.Up(t.Context(), dsn)
		require.ErrorContains(t, err, fmt.Sprintf("if the objects of migrations/%04d_*.up.sql exist, run %s; if not, ", c.applied, repair))
		require.NoError(t, exec(t, dsn, repair))
		require.NoError(t, migrations.Up(t.Context(), dsn))
	}
}

func TestUpReportsConnectionProblems(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://localhost:1/none?connect_timeout=2": "does not answer",
		"postgres://localhost:port/none":                "malformed",
	} {
		assert.ErrorContains(t, migrations.Up(context.Background(), dsn), want)
	}
}

// A step that changes a table waits for readers of the table. Statements that arrive during this wait must not wait, too.
func TestWaitingStepDoesNotBlockOtherStatements(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	newest := requireStatus(t, dsn, latest(t), false)
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, 3))) // the fourth step changes observation
	reader, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer reader.Close(t.Context())
	_, err = reader.Exec(t.Context(), "BEGIN; SELECT FROM observation")
	require.NoError(t, err)
	var migration errgroup.Group
	migration.Go(func() error { return migrations.Up(t.Context(), dsn) })

	waiting := waitsForLock(t, reader, "relation = 'observation'::regclass")
	require.Eventually(t, waiting, testwait.Limit, 10*time.Millisecond, "the step must wait for the reader")
	require.NoError(t, exec(t, dsn, "SET lock_timeout = '20s'; DELETE FROM observation"), "other statements must run while the reader holds its lock")
	require.Eventually(t, waiting, testwait.Limit, 10*time.Millisecond, "the step must be retried")

	_, err = reader.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, migration.Wait())
	requireStatus(t, dsn, newest, false)
}

// When the context ends, a waiting step (up or down) is cancelled on the server.
func TestCancelledStepLeavesNoDirtyMark(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	newest := latest(t)
	migrateTo := func(ctx context.Context, target uint) error {
		at, dirty, _, err := migrations.Status(t.Context(), dsn)
		require.NoError(t, err)
		require.False(t, dirty)
		if at > target {
			return migrations.Down(ctx, dsn, stepsAfter(t, target)-stepsAfter(t, at)) // a cancelled call may have reverted some of the steps
		}
		return migrations.Up(ctx, dsn)
	}
	for direction, target := range map[string]uint{"down": 3, "up": newest} {
		require.NoError(t, migrations.Up(t.Context(), dsn))
		if direction == "up" {
			require.NoError(t, migrateTo(t.Context(), 3))
		}
		reader, err := pgx.Connect(t.Context(), dsn)
		require.NoError(t, err)
		_, err = reader.Exec(t.Context(), "BEGIN; SELECT FROM observation")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var migration errgroup.Group
		migration.Go(func() error { return migrateTo(ctx, target) })
		require.Eventually(t, waitsForLock(t, reader, "relation = 'observation'::regclass"), testwait.Limit, 10*time.Millisecond, direction)
		cancel()
		require.ErrorIs(t, migration.Wait(), context.Canceled, direction)
		at, dirty, _, err := migrations.Status(t.Context(), dsn)
		require.NoError(t, err)
		require.False(t, dirty, direction)
		require.NotEqual(t, target, at, direction)
		_, err = reader.Exec(t.Context(), "COMMIT")
		require.NoError(t, err)
		require.NoError(t, reader.Close(t.Context()))
		require.NoError(t, migrateTo(t.Context(), target), direction)
		requireStatus(t, dsn, target, false)
	}
}

func TestCallStoppedBetweenStepsReturnsTheErrorOfTheContext(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	observer := connect(t, dsn)
	require.NoError(t, exec(t, dsn, waitForCancellation))
	newest := latest(t)
	for _, c := range []struct {
		reached uint
		call    func(ctx context.Context) error
	}{
		{migrations.Target(newest, 1), func(ctx context.Context) error { return migrations.Down(ctx, dsn, 3) }},
		{migrations.Target(newest, 2), func(ctx context.Context) error { return migrations.Down(ctx, dsn, 2) }},
		{migrations.Target(newest, 1), func(ctx context.Context) error { return migrations.Up(ctx, dsn) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var migration errgroup.Group
		migration.Go(func() error { return c.call(ctx) })
		require.Eventually(t, sleeps(t, observer), testwait.Limit, 10*time.Millisecond)
		cancel()
		err := migration.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, fmt.Sprintf("stopped at step %d:", c.reached))
		requireStatus(t, dsn, c.reached, false)
	}
}

// The end of the context also cancels the query for the version, by which a call finds out which steps it has reverted.
func TestCallWhoseVersionQueryIsCancelledReturnsTheErrorOfTheContext(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	observer := connect(t, dsn)
	require.NoError(t, exec(t, dsn, waitForCancellation))
	ctx, cancel := context.WithCancel(t.Context())
	var calls errgroup.Group
	calls.Go(func() error { return migrations.Down(ctx, dsn, 2) })
	require.Eventually(t, sleeps(t, observer), testwait.Limit, 10*time.Millisecond)
	// After the end of ctx, the program sends cancel requests repeatedly (cancel.go). The first request ends the sleeping step.
	// Then the holder gets the lock and keeps it until after the second request, which therefore hits the query for the version.
	holder := connect(t, dsn)
	var locked errgroup.Group
	locked.Go(func() error {
		_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE schema_migrations; SELECT pg_sleep(1); COMMIT")
		return err
	})
	require.Eventually(t, waitsForLock(t, observer, "relation = 'schema_migrations'::regclass"), testwait.Limit, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, calls.Wait(), context.Canceled)
	require.NoError(t, locked.Wait())
	requireStatus(t, dsn, migrations.Target(latest(t), 1), false)
}

// waitForCancellation creates a trigger that keeps each step from ending until its statement is cancelled,
// and then lets the step end.
const waitForCancellation = `CREATE FUNCTION wait_for_cancellation() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN PERFORM pg_sleep(60); RETURN new; EXCEPTION WHEN query_canceled THEN RETURN new; END $$;
	CREATE TRIGGER wait BEFORE INSERT ON schema_migrations FOR EACH ROW WHEN (NOT new.dirty) EXECUTE FUNCTION wait_for_cancellation()`

func sleeps(t *testing.T, conn *pgx.Conn) func() bool {
	return func() (found bool) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')").Scan(&found))
		return found
	}
}

// waitsForLock returns a function that reports whether a lock is waited for. The condition selects rows of pg_locks.
func waitsForLock(t *testing.T, conn *pgx.Conn, condition string) func() bool {
	return func() (waits bool) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND "+condition+")").Scan(&waits))
		return waits
	}
}

func TestCancelledRevertOfTheFirstStepLeavesNoDirtyMark(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, 1)))
	requireStatus(t, dsn, 1, false)
	reader := connect(t, dsn)
	_, err := reader.Exec(t.Context(), "BEGIN; SELECT FROM task")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var migration errgroup.Group
	migration.Go(func() error { return migrations.Down(ctx, dsn, 1) })
	require.Eventually(t, waitsForLock(t, reader, "relation = 'task'::regclass"), testwait.Limit, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, migration.Wait(), context.Canceled)
	requireStatus(t, dsn, 1, false)
	_, err = reader.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, migrations.Down(t.Context(), dsn, 1))
	requireStatus(t, dsn, 0, false)
}

func TestUpWithoutTheLockKeepsTheDirtyMark(t *testing.T) {
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, exec(t, dsn, "UPDATE schema_migrations SET dirty = true"))
	replica := connect(t, dsn)
	_, err := replica.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(0x6c6f6164_61776172))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var migration errgroup.Group
	migration.Go(func() error { return migrations.Up(ctx, dsn) })
	database := "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	require.Eventually(t, waitsForLock(t, replica, database), testwait.Limit, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, migration.Wait(), context.Canceled)
	requireStatus(t, dsn, latest(t), true)
}

// stepsAfter counts the steps after a version, whose numbers have gaps.
func stepsAfter(t testing.TB, version uint) (n int) {
	t.Helper()
	steps, err := filepath.Glob("*.up.sql")
	require.NoError(t, err)
	for _, step := range steps {
		var number uint
		_, err := fmt.Sscanf(step, "%d_", &number)
		require.NoError(t, err)
		if number > version {
			n++
		}
	}
	return n
}

func latest(t *testing.T) uint {
	n, err := migrations.Newest()
	require.NoError(t, err)
	return n
}

func TestMissingCountsStepsAndNotNumbers(t *testing.T) {
	files, err := filepath.Glob("*.up.sql")
	require.NoError(t, err)
	newest, err := migrations.Newest()
	require.NoError(t, err)
	require.Equal(t, len(files), migrations.Missing(0), "a gap between two numbers is not a missing step")
	require.Equal(t, 1, migrations.Missing(newest-1))
	require.Zero(t, migrations.Missing(newest))
}
