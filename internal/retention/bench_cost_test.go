package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/store"
)

// measureCosts starts to measure the WAL volume of PostgreSQL. The returned function reports the WAL
// volume since then, and the size of the table before and after, all in MB.
func measureCosts(b *testing.B, conn *pgx.Conn, table string) func(phase string) {
	before, from := sizes(b, conn, table)
	return func(phase string) {
		b.ReportMetric(before, "MB-before-"+phase)
		after, to := sizes(b, conn, table)
		b.ReportMetric(after, "MB-after-"+phase)
		b.ReportMetric(to-from, "MB-log-"+phase)
	}
}

// sizes returns the size of a table with its indexes and the position in the WAL, in MB.
func sizes(b *testing.B, conn *pgx.Conn, table string) (size, walPosition float64) {
	// pg_partition_tree returns no rows for a table without partitions.
	require.NoError(b, conn.QueryRow(b.Context(), `
		SELECT coalesce(sum(pg_total_relation_size(relid)), pg_total_relation_size($1::regclass)) / 1e6, (pg_current_wal_lsn() - '0/0') / 1e6
		FROM pg_partition_tree($1::regclass)`, table).Scan(&size, &walPosition))
	return size, walPosition
}

func vacuum(b *testing.B, conn *pgx.Conn, table string) {
	cost := measureCosts(b, conn, table)
	start := time.Now()
	_, err := conn.Exec(b.Context(), "VACUUM "+table)
	require.NoError(b, err)
	b.ReportMetric(time.Since(start).Seconds(), "vacuum-s")
	cost("vacuum")
}

func copyReceipts(b *testing.B, conn *pgx.Conn, rows int, now time.Time) {
	body := fmt.Sprintf(`{"Ask": {"Features": {"x": "%01200d"}}}`, 0)
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"receipt"},
		[]string{"prediction_id", "namespace", "dag_id", "task_id", "run_id", "map_index", "try_number", "at", "body"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			at := now.Add(-time.Duration(float64(rows-i) / float64(rows) * float64(180*day)))
			return []any{fmt.Sprintf("%s-7000-8000-%012x", store.FirstID(at), i), "default", "d", fmt.Sprint(i % 50), fmt.Sprint(i), -1, 1, at, body}, nil
		}))
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), "CHECKPOINT")
	require.NoError(b, err)
}
