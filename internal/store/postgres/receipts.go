package postgres

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// insertReceiptsSQL writes table receipt, which contains sizing.Receipt as JSON. Renaming a field of sizing.Receipt therefore
// needs a migration. The table has the receipts from before the compact form (compact.go) was in use, those that the compact
// form cannot represent, and those that expandName converted. Values that are searched or summed have their own columns. After
// a rename of the task only the columns have the new name.
//
// The column told holds Guard.Version.
const insertReceiptsSQL = `
	INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
		at, promised, task_limit, guard, body, model_version, told)
	SELECT prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
		at, promised, task_limit, ($13::float8[])[guard_after + 1:guard_to], body::json, nullif(model_version, 0), told
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::smallint[],
		$8::timestamptz[], $9::float8[], $10::bigint[], $11::int[], $12::int[], $14::text[], $15::int[], $16::bigint[])
		AS new (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
			at, promised, task_limit, guard_after, guard_to, body, model_version, told)
	ORDER BY prediction_id -- the same order for all writers prevents deadlocks
	ON CONFLICT (prediction_id) DO NOTHING`

// bodyBuffers pools buffers. A buffer contains the encoded receipts of one write, usually a few megabytes.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

func encodeBodies(receipts []sizing.Receipt, buffer *[]byte) ([][]byte, error) {
	all := (*buffer)[:0]
	ends := make([]int, len(receipts))
	for i := range receipts {
		r := receipts[i]
		r.At = r.At.UTC()
		var err error
		if all, err = appendBody(all, &r); err != nil {
			return nil, sizing.Errorf(sizing.Invalid, "encode receipt %s: %w", r.Allocation.PredictionID, err)
		}
		ends[i] = len(all)
	}
	*buffer = all
	bodies, from := make([][]byte, len(receipts)), 0
	for i, end := range ends {
		bodies[i], from = all[from:end], end
	}
	return bodies, nil
}

var receiptColumns = []string{
	"prediction_id", "namespace", "dag_id", "task_id", "run_id", "map_index", "try_number",
	"at", "promised", "task_limit", "guard", "body", "model_version", "told",
}

// copyReceipts stores receipts as JSON by COPY. It fails with a unique_violation if a receipt is already stored.
func copyReceipts(ctx context.Context, tx pgx.Tx, receipts []sizing.Receipt, bodies [][]byte) error {
	order := orderByID(receipts)
	values := make([]any, len(receiptColumns))
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"receipt"}, receiptColumns, pgx.CopyFromSlice(len(order), func(i int) ([]any, error) {
		r := &receipts[order[i]]
		a, try := &r.Allocation, &r.Ask.Try
		return append(values[:0], a.PredictionID, try.Namespace, try.DAG, try.Task, try.RunID, int32(try.MapIndex), int16(try.Number),
			r.At, a.Risk.Promised, int64(a.Memory.Limit), a.Guard.Params, bodies[order[i]], nullVersion(a), a.Guard.Version), nil
	}))
	return err
}

// orderByID returns the indexes of the receipts by ascending prediction id. The same order for all writers prevents deadlocks.
func orderByID(receipts []sizing.Receipt) []int {
	order := make([]int, len(receipts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return strings.Compare(receipts[i].Allocation.PredictionID, receipts[j].Allocation.PredictionID)
	})
	return order
}

func nullVersion(a *sizing.Allocation) *int32 {
	if v := versionOf(a); v != 0 {
		return &v
	}
	return nil
}

// insertReceipts stores receipts as JSON by INSERT, and skips those that are already stored.
func insertReceipts(ctx context.Context, tx pgx.Tx, receipts []sizing.Receipt, bodies [][]byte) error {
	texts := make([]string, len(bodies))
	for i, body := range bodies {
		texts[i] = string(body)
	}
	rows := pointers(receipts)
	guards, after, to := flatten(rows, func(r *sizing.Receipt) []float64 { return r.Allocation.Guard.Params })
	_, err := tx.Exec(ctx, insertReceiptsSQL,
		column(rows, func(r *sizing.Receipt) string { return r.Allocation.PredictionID }),
		column(rows, func(r *sizing.Receipt) string { return r.Ask.Try.Namespace }),
		column(rows, func(r *sizing.Receipt) string { return r.Ask.Try.DAG }),
		column(rows, func(r *sizing.Receipt) string { return r.Ask.Try.Task }),
		column(rows, func(r *sizing.Receipt) string { return r.Ask.Try.RunID }),
		column(rows, func(r *sizing.Receipt) int32 { return int32(r.Ask.Try.MapIndex) }),
		column(rows, func(r *sizing.Receipt) int16 { return int16(r.Ask.Try.Number) }),
		column(rows, func(r *sizing.Receipt) time.Time { return r.At }),
		column(rows, func(r *sizing.Receipt) *float64 { return r.Allocation.Risk.Promised }),
		column(rows, func(r *sizing.Receipt) int64 { return int64(r.Allocation.Memory.Limit) }),
		after, to, guards, texts,
		column(rows, func(r *sizing.Receipt) int32 { return versionOf(&r.Allocation) }),
		column(rows, func(r *sizing.Receipt) int64 { return r.Allocation.Guard.Version }))
	return err
}

func versionOf(a *sizing.Allocation) int32 {
	if a.Model == nil {
		return 0
	}
	return int32(a.Model.Version)
}

// newestOfTry is the end of a query for the newest receipt of a try by the index receipt_try. The
// query must compare run_id by BETWEEN: as the order begins with run_id, the planner can then use no
// other index. With "=" the planner may scan all receipts of the task in the order of at, and does so
// while a new table has no statistics.
const newestOfTry = `
			ORDER BY receipt.run_id DESC, receipt.at DESC LIMIT 1`

// oldestOfTry scans the same index in the other direction.
const oldestOfTry = `
			ORDER BY receipt.run_id, receipt.at LIMIT 1`

// recentTasksSQL reads the newest receipts backwards by their time-ordered ids.
const recentTasksSQL = `
	SELECT namespace, dag_id, task_id
	FROM (
		(SELECT namespace, dag_id, task_id, prediction_id FROM receipt ORDER BY prediction_id DESC LIMIT $1)
		UNION ALL
		SELECT namespace, dag_id, task_id, prediction_id::text COLLATE "C"
		FROM (SELECT name, prediction_id FROM receipt_compact ORDER BY prediction_id DESC LIMIT $1) AS compact
		JOIN receipt_name ON receipt_name.id = compact.name
		ORDER BY prediction_id DESC LIMIT $1) AS newest
	GROUP BY namespace, dag_id, task_id
	ORDER BY max(prediction_id) DESC`

// RecentTasks lists the tasks of the newest receipts, at most limit receipts, newest first.
func (s *Store) RecentTasks(ctx context.Context, limit int) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, recentTasksSQL, limit)
	if err != nil {
		return nil, wrapError("list recent tasks", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (key sizing.TaskKey, err error) {
		err = row.Scan(&key.Namespace, &key.DAG, &key.Task)
		return key, err
	})
	return keys, wrapError("list recent tasks", err)
}
