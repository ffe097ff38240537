package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// costs begins to count what PostgreSQL writes; the function that it returns tells it,
// with the size of the table before and after.
func costs(b *testing.B, conn *pgx.Conn, table string) func(doing string) {
	before, from := sizes(b, conn, table)
	b.ReportMetric(before, "MB-before")
	return func(doing string) {
		after, to := sizes(b, conn, table)
		b.ReportMetric(after, "MB-after-"+doing)
		b.ReportMetric(to-from, "MB-log-"+doing)
	}
}

// sizes are those of a table with its indexes, and of all that was ever logged, in MB.
func sizes(b *testing.B, conn *pgx.Conn, table string) (size, logged float64) {
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT sum(pg_total_relation_size(relid)) / 1e6, (pg_current_wal_lsn() - '0/0') / 1e6 FROM pg_partition_tree($1::regclass)", table).Scan(&size, &logged))
	return size, logged
}

// vacuum makes room for new rows where the removed ones were, as autovacuum would.
func vacuum(b *testing.B, conn *pgx.Conn, table string) {
	cost := costs(b, conn, table)
	began := time.Now()
	_, err := conn.Exec(b.Context(), "VACUUM "+table)
	require.NoError(b, err)
	b.ReportMetric(time.Since(began).Seconds(), "vacuum-s")
	cost("vacuum")
}

// copyReceipts fills 180 days.
func copyReceipts(b *testing.B, conn *pgx.Conn, rows int) {
	body := fmt.Sprintf(`{"Ask": {"Features": {"x": "%01200d"}}}`, 0)
	now := time.Now()
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"receipt"},
		[]string{"prediction_id", "namespace", "dag_id", "task_id", "run_id", "map_index", "try_number", "at", "body"},
		pgx.CopyFromSlice(rows, func(i int) ([]any, error) {
			at := now.Add(-time.Duration(float64(rows-i) / float64(rows) * float64(180*day)))
			return []any{fmt.Sprintf("%s-7000-8000-%012x", idAt(at), i), "default", "d", fmt.Sprint(i % 50), fmt.Sprint(i), -1, 1, at, body}, nil
		}))
	require.NoError(b, err)
	_, err = conn.Exec(b.Context(), "CHECKPOINT")
	require.NoError(b, err)
}

// idAt begins the prediction ids of a time.
func idAt(at time.Time) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// benchPartitions is what removing receipts would cost if they stood in partitions of
// ten days: ten are dropped. The product has none.
func benchPartitions(b *testing.B, rows int) {
	b.StopTimer()
	rows /= 5
	_, conn := benchStore(b)
	run := func(sql string) {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
	run("ALTER TABLE receipt RENAME TO whole")
	run("CREATE TABLE receipt (LIKE whole INCLUDING ALL) PARTITION BY RANGE (prediction_id)")
	now := time.Now().Add(time.Hour)
	for i := range 19 {
		run(fmt.Sprintf("CREATE TABLE days_%d PARTITION OF receipt FOR VALUES FROM ('%s') TO ('%s')",
			i, idAt(now.Add(-time.Duration(i+1)*10*day)), idAt(now.Add(-time.Duration(i)*10*day))))
	}
	began := time.Now()
	copyReceipts(b, conn, rows)
	b.ReportMetric(time.Since(began).Seconds(), "copy-s")
	_, from := sizes(b, conn, "receipt")
	gone := 0
	for i := range 10 {
		var rows int
		require.NoError(b, conn.QueryRow(b.Context(), fmt.Sprintf("SELECT count(*) FROM days_%d", 9+i)).Scan(&rows))
		gone += rows
	}
	began = time.Now()
	b.StartTimer()
	for i := range 10 {
		run(fmt.Sprintf("DROP TABLE days_%d", 9+i))
	}
	b.StopTimer()
	b.ReportMetric(time.Since(began).Seconds()*1000, "ms-dropping")
	b.ReportMetric(float64(gone), "removed")
	_, to := sizes(b, conn, "receipt")
	b.ReportMetric(to-from, "MB-log-removing")
}
