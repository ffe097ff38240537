package migrations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// beforeWeeks is the last step before those that partition receipts by week (7 to 9).
const beforeWeeks = 6

func atStep(t *testing.T, step uint) (dsn string) {
	t.Helper()
	dsn = pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, step)))
	requireStatus(t, dsn, step, false)
	return dsn
}

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// previousReplica sends the statements of the last version without partitions. Its connection and its prepared statements
// survive the migration.
type previousReplica struct {
	testing.TB
	*pgx.Conn
}

// idAt returns the nth prediction id of a time.
func idAt(at time.Time, n int) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

func (p previousReplica) copyReceipt(id string) error {
	_, err := p.CopyFrom(p.Context(), pgx.Identifier{"receipt"},
		[]string{"prediction_id", "namespace", "dag_id", "task_id", "run_id", "map_index", "try_number", "at", "promised", "task_limit", "guard", "body", "model_version", "told"},
		pgx.CopyFromRows([][]any{{id, "n", "d", "t", "r", -1, 1, time.Now(), 0.5, 7, []float64{1, 2}, []byte("{}"), 3, int64(4)}}))
	return err
}

func (p previousReplica) exec(sql string, args ...any) (rows int) {
	p.Helper()
	tag, err := p.Conn.Exec(p.Context(), sql, args...)
	require.NoError(p, err)
	return int(tag.RowsAffected())
}

func (p previousReplica) insertReceipts(ids ...string) int {
	p.Helper()
	return p.exec(`INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
			at, promised, task_limit, guard, body, model_version, told)
		SELECT prediction_id, 'n', 'd', 't', 'r', -1, 1, now(), 0.5, 7, '{1,2}', '{}', 3, 4
		FROM unnest($1::text[]) AS new (prediction_id) ORDER BY prediction_id ON CONFLICT (prediction_id) DO NOTHING`, ids)
}

func (p previousReplica) stored() (ids []string) {
	p.Helper()
	rows, err := p.Query(p.Context(), "SELECT prediction_id FROM receipt WHERE namespace = $1 AND dag_id = 'd' AND task_id = 't' ORDER BY prediction_id", "n")
	require.NoError(p, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p, err)
	return ids
}

func TestPreviousVersionWorksWithPartitions(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	p := previousReplica{t, connect(t, dsn)}
	now := time.Now()
	id := func(days int) string { return idAt(now.AddDate(0, 0, days), days+1000) }
	require.Equal(t, 3, p.insertReceipts(id(-100), id(-1), id(0)))
	require.NoError(t, p.copyReceipt(id(1)))
	before := p.stored()
	require.Len(t, before, 4)

	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, before, p.stored(), "existing receipts must be found")
	require.Equal(t, 2, p.insertReceipts(id(-1), id(2), id(100)), "two of the three receipts must be inserted; the other one is stored already")
	require.ErrorContains(t, p.copyReceipt(id(-1)), "23505", "COPY of a stored id must fail; the previous version then uses INSERT")
	require.ErrorContains(t, p.copyReceipt(id(100)), "23505")
	require.NoError(t, p.copyReceipt(id(3)))
	require.NoError(t, p.copyReceipt(id(200)))
	require.Equal(t, 2, p.exec(`DELETE FROM receipt WHERE prediction_id = ANY (ARRAY(
		SELECT prediction_id FROM receipt WHERE prediction_id < $1 ORDER BY prediction_id LIMIT 2))`, id(1)))
	require.Equal(t, 6, p.exec("UPDATE receipt SET task_id = $1 WHERE namespace = 'n'", "renamed"))
	require.Equal(t, 6, p.exec("UPDATE receipt SET task_id = $1 WHERE namespace = 'n'", "t"))
	after := p.stored()
	require.Equal(t, []string{id(0), id(1), id(2), id(3), id(100), id(200)}, after)

	// Create the partition of a week in the same way as retention, and then revert the steps.
	p.exec(fmt.Sprintf("CREATE TABLE receipt_week PARTITION OF receipt FOR VALUES FROM ('%.13s') TO ('%.13s')", id(300), id(307)))
	require.Equal(t, 1, p.insertReceipts(id(301)))
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, beforeWeeks)))
	require.Equal(t, append(after, id(301)), p.stored())
	require.Zero(t, p.insertReceipts(id(0), id(200), id(301)), "no receipt must be inserted, because all are stored already")
	require.Error(t, exec(t, dsn, "SELECT FROM receipt_before"))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, append(after, id(301)), p.stored())
}

// The migration neither copies existing rows nor builds indexes.
func TestReceiptsBecomeAPartitionWithoutCopy(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	p := previousReplica{t, connect(t, dsn)}
	p.insertReceipts(idAt(time.Now(), 1), "whole") // the second id is not a UUID and sorts after all UUIDs
	files := func(table string) (all []string) {
		rows, err := p.Query(t.Context(), `SELECT pg_relation_filepath(oid) FROM pg_class
			WHERE oid = $1::text::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::text::regclass) ORDER BY 1`, table)
		require.NoError(t, err)
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return all
	}
	before := files("receipt")
	require.Len(t, before, 5)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, before, files("receipt_before"))
	require.Len(t, p.stored(), 2)
}

// newRoles creates one role for privileges and one to own tables.
func (p previousReplica) newRoles(dsn string) (role, owner string) {
	role = "reader_" + strings.ToLower(fmt.Sprint(time.Now().UnixNano()))
	owner = strings.Replace(role, "reader", "owner", 1)
	p.exec("CREATE ROLE " + role)
	p.exec("CREATE ROLE " + owner)
	p.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		require.NoError(p, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %[1]s, %[2]s CASCADE; DROP ROLE %[1]s, %[2]s", role, owner))
		require.NoError(p, err)
	})
	return role, owner
}

func (p previousReplica) privileges(table string) []string {
	return p.texts(`SELECT privilege_type || ' ' || grantee::regrole FROM pg_class, aclexplode(relacl) WHERE oid = $1::text::regclass
		UNION SELECT relowner::regrole::text FROM pg_class WHERE oid = $1::text::regclass ORDER BY 1`, table)
}

func (p previousReplica) texts(sql string, args ...any) []string {
	rows, err := p.Query(p.Context(), sql, args...)
	require.NoError(p, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p, err)
	return all
}

func TestOwnerAndPrivilegesStay(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	p := previousReplica{t, connect(t, dsn)}
	role, owner := p.newRoles(dsn)
	p.exec("ALTER TABLE receipt OWNER TO " + owner)
	p.exec("GRANT SELECT, INSERT ON receipt TO " + role)
	before := p.privileges("receipt")
	require.Contains(t, before, "INSERT "+role)
	require.Contains(t, before, owner)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	for _, table := range []string{"receipt", "receipt_compact", "receipt_compact_other", "receipt_name", "receipt_word", "receipt_format"} {
		require.Equal(t, before, p.privileges(table), table)
	}
	require.NoError(t, migrations.Down(t.Context(), dsn, stepsAfter(t, beforeWeeks)))
	require.Equal(t, before, p.privileges("receipt"))
}

// A service whose role does not own the tables needs access to the tables of later steps, too: triggers of reports write
// into them.
func TestNewTablesHaveTheOwnerAndPrivilegesOfTask(t *testing.T) {
	dsn := atStep(t, beforeSavings)
	p := previousReplica{t, connect(t, dsn)}
	role, owner := p.newRoles(dsn)
	p.exec("ALTER TABLE task OWNER TO " + owner)
	p.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON task TO " + role)
	const tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() AND NOT starts_with(tablename, 'receipt') ORDER BY 1"
	before := p.texts(tables)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	ofTask := p.privileges("task")
	require.Contains(t, ofTask, "INSERT "+role)
	created := 0
	for _, table := range p.texts(tables) {
		if !slices.Contains(before, table) {
			created++
			require.Equal(t, ofTask, p.privileges(table), table)
		}
	}
	require.GreaterOrEqual(t, created, 11)
}

func TestReceiptsAreSavedDuringTheMigration(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	ctx, stop := context.WithCancel(t.Context())
	var saved atomic.Int64
	var savers errgroup.Group
	for range 4 {
		p := previousReplica{t, connect(t, dsn)}
		savers.Go(func() error {
			for ctx.Err() == nil {
				if err := p.copyReceipt(idAt(time.Now(), int(saved.Add(1)))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	hasStarted := func() bool { return saved.Load() > 20 }
	require.Eventually(t, hasStarted, testwait.Limit, time.Millisecond)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	atEnd := saved.Load()
	require.Eventually(t, func() bool { return saved.Load() > atEnd+20 }, testwait.Limit, time.Millisecond)
	stop()
	require.NoError(t, savers.Wait())
	assert.Len(t, previousReplica{t, connect(t, dsn)}.stored(), int(saved.Load()))
}
