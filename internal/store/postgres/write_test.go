package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

func reported(task, runID string) sizing.Observation {
	o := run(1)
	o.Try.Task, o.Try.RunID = task, runID
	return o
}

func taskNamed(name string) sizing.TaskKey { return reported(name, "").Try.TaskKey }

func stored(t *testing.T, dsn string) []string {
	rows, err := connect(t, dsn).Query(t.Context(), `SELECT task_id || '/' || run_id FROM observation JOIN task ON id = task ORDER BY 1`)
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

// afterInsert is a tracer that runs a function after each statement that inserts observations.
type afterInsert func()

func (afterInsert) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, inserts{}, strings.Contains(data.SQL, "INSERT INTO observation"))
}

func (do afterInsert) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if ctx.Value(inserts{}) == true {
		do()
	}
}

// inserts is the key of a context value: whether the statement inserts observations.
type inserts struct{}

// Another replica renames the task after the statement that inserts new reports, and before the
// transaction that compares repeated reports.
func TestReportsAreStoredDespiteARenameBetweenInsertAndCompare(t *testing.T) {
	dsn := pgtest.Migrated(t)
	other := open(t, dsn)
	var renames atomic.Bool // whether the next insert triggers the rename
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{Tracer: afterInsert(func() {
		if renames.CompareAndSwap(true, false) {
			assert.NoError(t, other.Rename(context.Background(), taskNamed("t"), taskNamed("u")))
		}
	})})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	_, err = st.Record(t.Context(), []sizing.Observation{reported("t", "old")})
	require.NoError(t, err)
	renames.Store(true)
	recorded, err := st.Record(t.Context(), []sizing.Observation{reported("t", "old"), reported("t", "new"), reported("x", "new")})
	require.NoError(t, err)
	assert.False(t, renames.Load(), "the insert must trigger the rename")
	for i := range recorded {
		assert.False(t, recorded[i].Duplicate, "report %d must not be a duplicate: no task has the name t after the rename, and the other reports are new", i)
	}
	assert.Equal(t, []string{"t/old", "u/new", "u/old", "x/new"}, stored(t, dsn))
}

func TestFailedComparisonDoesNotFailNewReports(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st := open(t, dsn)
	_, err := st.Record(t.Context(), []sizing.Observation{reported("t", "old")})
	require.NoError(t, err)
	_, err = connect(t, dsn).Exec(t.Context(), `
		CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
		CREATE TRIGGER reject BEFORE UPDATE ON observation FOR EACH ROW EXECUTE FUNCTION reject()`)
	require.NoError(t, err)
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for n := range 10 {
				if caller == 0 {
					amended := reported("t", "old")
					amended.CPUMax = 1
					_, err := st.Record(context.Background(), []sizing.Observation{amended})
					assert.Error(t, err)
					continue
				}
				recorded, err := st.Record(context.Background(), []sizing.Observation{reported("t", fmt.Sprint(caller, "-", n))})
				if assert.NoError(t, err) {
					assert.NoError(t, recorded[0].Err)
					assert.False(t, recorded[0].Duplicate, "a try that was reported once must not be a duplicate")
				}
			}
		})
	}
	callers.Wait()
	assert.Len(t, stored(t, dsn), 1+15*10)
}

// A replica that missed a rename has one task cached under two names.
func TestReportsUnderOldAndNewNameAreSeparate(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, other := open(t, dsn), reopen(t, dsn)
	_, err := st.Record(t.Context(), []sizing.Observation{reported("a", "1")})
	require.NoError(t, err)
	require.NoError(t, other.Rename(t.Context(), taskNamed("a"), taskNamed("b")))
	_, err = st.Record(t.Context(), []sizing.Observation{reported("b", "2")})
	require.NoError(t, err)
	recorded, err := st.Record(t.Context(), []sizing.Observation{reported("a", "3"), reported("b", "3")})
	require.NoError(t, err)
	assert.NotEqual(t, recorded[0].Seq, recorded[1].Seq)
	assert.Equal(t, []string{"a/3", "b/1", "b/2", "b/3"}, stored(t, dsn))
}

// Another replica may delete a task between its creation and its lock. A trigger simulates this
// by skipping the insert a number of times.
func TestTaskDeletedDuringItsCreationIsCreatedAgain(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, db := open(t, dsn), connect(t, dsn)
	_, err := db.Exec(t.Context(), `
		CREATE SEQUENCE created MINVALUE -100 START 1;
		CREATE FUNCTION skip_insert() RETURNS trigger LANGUAGE plpgsql AS
			$$BEGIN IF nextval('created') <= 2 THEN RETURN NULL; END IF; RETURN new; END$$;
		CREATE TRIGGER skip_insert BEFORE INSERT ON task FOR EACH ROW EXECUTE FUNCTION skip_insert()`)
	require.NoError(t, err)
	recorded, err := st.Record(t.Context(), []sizing.Observation{reported("t", "first")})
	require.NoError(t, err)
	assert.NoError(t, recorded[0].Err)
	assert.Equal(t, []string{"t/first"}, stored(t, dsn))

	_, err = db.Exec(t.Context(), `SELECT setval('created', -100)`)
	require.NoError(t, err)
	_, err = st.Record(t.Context(), []sizing.Observation{reported("u", "first")})
	assert.Equal(t, sizing.Unavailable, sizing.KindOf(err), "Record must give up after a bounded number of retries: %v", err)
	assert.Equal(t, []string{"t/first"}, stored(t, dsn))
}
