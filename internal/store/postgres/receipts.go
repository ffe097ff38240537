package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A receipt is stored as the JSON of sizing.Receipt, so renaming one of its fields needs a
// migration. Values that are searched or summed have their own columns, which take
// precedence over the JSON: after a rename of the task only the columns are up to date.
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

// SaveReceipts stores all receipts or none. It uses COPY, which costs half of an INSERT. If a
// receipt is already stored, because the result of an earlier write was lost, it inserts the
// others.
func (s *Store) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	buffer := bodyBuffers.Get().(*[]byte)
	defer bodyBuffers.Put(buffer)
	bodies, err := encodeBodies(receipts, buffer)
	if err != nil {
		return err
	}
	err = s.copyReceipts(ctx, receipts, bodies)
	var known *pgconn.PgError
	if errors.As(err, &known) && known.Code == "23505" {
		err = s.insertReceipts(ctx, receipts, bodies)
	}
	return err
}

// bodyBuffers pools the buffers for the bodies of one write, some megabytes each.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

// encodeBodies encodes the receipts as JSON into one buffer.
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

// copyReceipts fails with a unique_violation if a receipt is already stored.
func (s *Store) copyReceipts(ctx context.Context, receipts []sizing.Receipt, bodies [][]byte) error {
	order := make([]int, len(receipts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { // the same order for all writers prevents deadlocks
		return strings.Compare(receipts[i].Allocation.PredictionID, receipts[j].Allocation.PredictionID)
	})
	values := make([]any, len(receiptColumns))
	return s.inTx(ctx, "save receipts", readWrite, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"receipt"}, receiptColumns, pgx.CopyFromSlice(len(order), func(i int) ([]any, error) {
			r := &receipts[order[i]]
			a, try := &r.Allocation, &r.Ask.Try
			var version *int32
			if v := versionOf(a); v != 0 {
				version = &v
			}
			return append(values[:0], a.PredictionID, try.Namespace, try.DAG, try.Task, try.RunID, int32(try.MapIndex), int16(try.Number),
				r.At, a.Risk.Promised, int64(a.Memory.Limit), a.Guard.Params, bodies[order[i]], version, a.Guard.Version), nil
		}))
		return err
	})
}

// insertReceipts skips receipts that are already stored.
func (s *Store) insertReceipts(ctx context.Context, receipts []sizing.Receipt, bodies [][]byte) error {
	texts := make([]string, len(bodies))
	for i, body := range bodies {
		texts[i] = string(body)
	}
	rows := pointers(receipts)
	guards, after, to := flatten(rows, func(r *sizing.Receipt) []float64 { return r.Allocation.Guard.Params })
	return s.inTx(ctx, "save receipts", readWrite, func(tx pgx.Tx) error {
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
	})
}

// versionOf returns the version of the model that answered, or 0 if no published one did.
func versionOf(a *sizing.Allocation) int32 {
	if a.Model == nil {
		return 0
	}
	return int32(a.Model.Version)
}

const receiptSQL = `
	SELECT namespace, dag_id, task_id, guard, body
	FROM receipt WHERE prediction_id = $1`

// Receipt returns the receipt of a prediction id.
func (s *Store) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	r, err := scanReceipt(s.pool.QueryRow(ctx, receiptSQL, predictionID))
	return r, orNotFound("read a receipt", err, "no prediction %q is stored", predictionID)
}

// newestOfTry ends a lookup by the index of tries (receipt_try). Comparing run_id by BETWEEN
// and sorting by it leave the planner no other index. With "=" it may scan all receipts of the
// task in the order of at, and does so while a new table has no statistics.
const newestOfTry = `
			ORDER BY receipt.run_id DESC, receipt.at DESC LIMIT 1`

// oldestOfTry scans the same index in the other direction.
const oldestOfTry = `
			ORDER BY receipt.run_id, receipt.at LIMIT 1`

const receiptOfTrySQL = `
	SELECT namespace, dag_id, task_id, guard, body
	FROM receipt
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
		AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number = $6 AND run_id <> ''` + newestOfTry

// ReceiptOfTry returns the newest receipt of a try.
func (s *Store) ReceiptOfTry(ctx context.Context, try sizing.TryKey) (sizing.Receipt, error) {
	r, err := scanReceipt(s.pool.QueryRow(ctx, receiptOfTrySQL,
		try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number))
	return r, orNotFound("read a receipt", err, "no prediction is stored for try %d of run %q of %s", try.Number, try.RunID, try.TaskKey)
}

func scanReceipt(row pgx.Row) (sizing.Receipt, error) {
	var r sizing.Receipt
	var key sizing.TaskKey
	var guard []float64
	var body []byte
	if err := row.Scan(&key.Namespace, &key.DAG, &key.Task, &guard, &body); err != nil {
		return r, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, err
	}
	r.Ask.Try.TaskKey, r.Allocation.Task, r.Allocation.Guard.Params = key, key, guard
	return r, nil
}

// receiptFeaturesSQL wraps the arrays in subqueries to hide their lengths from the planner, so
// that it keeps a generic plan. Planning for every weekly partition takes longer than running.
const receiptFeaturesSQL = `
	SELECT n - 1, newest.features
	FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::int[]), (SELECT $6::smallint[]))
		WITH ORDINALITY AS try (namespace, dag_id, task_id, run_id, map_index, try_number, n)
	CROSS JOIN LATERAL (
		SELECT receipt.body -> 'Ask' -> 'Features' AS features
		FROM receipt
		WHERE receipt.namespace = try.namespace AND receipt.dag_id = try.dag_id AND receipt.task_id = try.task_id
			AND receipt.run_id BETWEEN try.run_id AND try.run_id AND receipt.map_index = try.map_index AND receipt.try_number = try.try_number
			AND receipt.run_id <> ''` + newestOfTry + `) AS newest`

// addReceiptFeatures fills the features that a report omits from the newest receipt of the
// same try.
func (s *Store) addReceiptFeatures(ctx context.Context, reports []report) error {
	var incomplete []*report
	for i := range reports {
		if reports[i].Features == nil {
			incomplete = append(incomplete, &reports[i])
		}
	}
	if len(incomplete) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, receiptFeaturesSQL,
		column(incomplete, func(r *report) string { return r.Try.Namespace }),
		column(incomplete, func(r *report) string { return r.Try.DAG }),
		column(incomplete, func(r *report) string { return r.Try.Task }),
		column(incomplete, func(r *report) string { return r.Try.RunID }),
		column(incomplete, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(incomplete, func(r *report) int16 { return int16(r.Try.Number) }))
	if err != nil {
		return err
	}
	var n int
	var features sizing.Features
	_, err = pgx.ForEachRow(rows, []any{&n, &features}, func() error {
		incomplete[n].Features, incomplete[n].fromReceipt = features, features != nil
		features = nil
		return nil
	})
	return err
}
