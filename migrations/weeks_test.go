package migrations_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/migrations"
)

// beforeWeeks is the last step of the version without partitions; the ninth step partitions receipts.
const beforeWeeks = 6

// atStep returns a database with only the first steps.
func atStep(t *testing.T, step uint) (dsn string) {
	t.Helper()
	dsn = pgtest.DSN(t)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.NoError(t, migrations.Down(t.Context(), dsn, int(latest(t)-step)))
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

// previous simulates a replica of the previous version by its statements. Its connection and prepared
// statements survive the migration.
type previous struct {
	testing.TB
	*pgx.Conn
}

// idAt returns the nth prediction id of a time.
func idAt(at time.Time, n int) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}

func (p previous) copies(id string) error {
	_, err := p.CopyFrom(p.Context(), pgx.Identifier{"receipt"},
		[]string{"prediction_id", "namespace", "dag_id", "task_id", "run_id", "map_index", "try_number", "at", "promised", "task_limit", "guard", "body", "model_version", "told"},
		pgx.CopyFromRows([][]any{{id, "n", "d", "t", "r", -1, 1, time.Now(), 0.5, 7, []float64{1, 2}, []byte("{}"), 3, int64(4)}}))
	return err
}

func (p previous) changes(sql string, args ...any) (rows int) {
	p.Helper()
	tag, err := p.Conn.Exec(p.Context(), sql, args...)
	require.NoError(p, err)
	return int(tag.RowsAffected())
}

func (p previous) inserts(ids ...string) int {
	p.Helper()
	return p.changes(`INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
			at, promised, task_limit, guard, body, model_version, told)
		SELECT prediction_id, 'n', 'd', 't', 'r', -1, 1, now(), 0.5, 7, '{1,2}', '{}', 3, 4
		FROM unnest($1::text[]) AS new (prediction_id) ORDER BY prediction_id ON CONFLICT (prediction_id) DO NOTHING`, ids)
}

// stored lists the ids of the task in order.
func (p previous) stored() (ids []string) {
	p.Helper()
	rows, err := p.Query(p.Context(), "SELECT prediction_id FROM receipt WHERE namespace = $1 AND dag_id = 'd' AND task_id = 't' ORDER BY prediction_id", "n")
	require.NoError(p, err)
	ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(p, err)
	return ids
}

func TestPreviousVersionWorksWithPartitions(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	p := previous{t, connect(t, dsn)}
	now := time.Now()
	id := func(days int) string { return idAt(now.AddDate(0, 0, days), days+1000) }
	require.Equal(t, 3, p.inserts(id(-100), id(-1), id(0)))
	require.NoError(t, p.copies(id(1)))
	before := p.stored()
	require.Len(t, before, 4)

	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, before, p.stored(), "existing receipts are found")
	require.Equal(t, 2, p.inserts(id(-1), id(2), id(100)), "one of them is already stored")
	require.ErrorContains(t, p.copies(id(-1)), "23505", "COPY fails on a stored id, and the previous version then inserts")
	require.ErrorContains(t, p.copies(id(100)), "23505")
	require.NoError(t, p.copies(id(3)))
	require.NoError(t, p.copies(id(200)))
	require.Equal(t, 2, p.changes(`DELETE FROM receipt WHERE prediction_id = ANY (ARRAY(
		SELECT prediction_id FROM receipt WHERE prediction_id < $1 ORDER BY prediction_id LIMIT 2))`, id(1)))
	require.Equal(t, 6, p.changes("UPDATE receipt SET task_id = $1 WHERE namespace = 'n'", "moved"))
	require.Equal(t, 6, p.changes("UPDATE receipt SET task_id = $1 WHERE namespace = 'n'", "t"))
	after := p.stored()
	require.Equal(t, []string{id(0), id(1), id(2), id(3), id(100), id(200)}, after)

	// A week as retention creates it, and then all steps down.
	p.changes(fmt.Sprintf("CREATE TABLE receipt_week PARTITION OF receipt FOR VALUES FROM ('%.13s') TO ('%.13s')", id(300), id(307)))
	require.Equal(t, 1, p.inserts(id(301)))
	require.NoError(t, migrations.Down(t.Context(), dsn, int(latest(t))-beforeWeeks))
	require.Equal(t, append(after, id(301)), p.stored())
	require.Zero(t, p.inserts(id(0), id(200), id(301)), "all are already stored")
	require.Error(t, exec(t, dsn, "SELECT FROM receipt_before"))
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, append(after, id(301)), p.stored())
}

// The migration neither copies existing rows nor builds indexes.
func TestReceiptsBecomeAPartitionWithoutCopy(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	p := previous{t, connect(t, dsn)}
	p.inserts(idAt(time.Now(), 1), "whole") // the second id is not a UUID and sorts above all
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

func TestOwnerAndPrivilegesStay(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	admin := connect(t, dsn)
	p := previous{t, admin}
	role := "reader_" + strings.ToLower(fmt.Sprint(time.Now().UnixNano()))
	owner := strings.Replace(role, "reader", "owner", 1)
	p.changes("CREATE ROLE " + role)
	p.changes("CREATE ROLE " + owner)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), fmt.Sprintf("DROP OWNED BY %[1]s, %[2]s; DROP ROLE %[1]s, %[2]s", role, owner))
		require.NoError(t, err)
	})
	p.changes("ALTER TABLE receipt OWNER TO " + owner)
	p.changes("GRANT SELECT, INSERT ON receipt TO " + role)
	may := func() (all []string) {
		rows, err := p.Query(t.Context(), `SELECT privilege_type || ' ' || grantee::regrole FROM pg_class, aclexplode(relacl) WHERE oid = 'receipt'::regclass
			UNION SELECT relowner::regrole::text FROM pg_class WHERE oid = 'receipt'::regclass ORDER BY 1`)
		require.NoError(t, err)
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return all
	}
	before := may()
	require.Contains(t, before, "INSERT "+role)
	require.Contains(t, before, owner)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	require.Equal(t, before, may())
	require.NoError(t, migrations.Down(t.Context(), dsn, int(latest(t))-beforeWeeks))
	require.Equal(t, before, may())
}

// Replicas of the previous version save receipts during the migration; none may fail.
func TestReceiptsAreSavedDuringTheMigration(t *testing.T) {
	dsn := atStep(t, beforeWeeks)
	saving, stop := context.WithCancel(t.Context())
	var saved atomic.Int64
	var savers errgroup.Group
	for range 4 {
		p := previous{t, connect(t, dsn)}
		savers.Go(func() error {
			for saving.Err() == nil {
				if err := p.copies(idAt(time.Now(), int(saved.Add(1)))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	started := func() bool { return saved.Load() > 20 }
	require.Eventually(t, started, 10*time.Second, time.Millisecond)
	require.NoError(t, migrations.Up(t.Context(), dsn))
	saved0 := saved.Load()
	require.Eventually(t, func() bool { return saved.Load() > saved0+20 }, 10*time.Second, time.Millisecond)
	stop()
	require.NoError(t, savers.Wait())
	assert.Len(t, previous{t, connect(t, dsn)}.stored(), int(saved.Load()))
}
