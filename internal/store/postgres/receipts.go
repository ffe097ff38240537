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

// A receipt is stored as the JSON of sizing.Receipt: to rename a field of it is a
// migration. Columns stand beside it for what is searched or summed, and win
// where the JSON says otherwise (a renamed task).
const saveReceiptsSQL = `
	INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
		at, promised, task_limit, guard, body, model_version, told)
	SELECT prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
		at, promised, task_limit, ($13::float8[])[guard_after + 1:guard_to], body::json, nullif(model_version, 0), told
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::smallint[],
		$8::timestamptz[], $9::float8[], $10::bigint[], $11::int[], $12::int[], $14::text[], $15::int[], $16::bigint[])
		AS new (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number,
			at, promised, task_limit, guard_after, guard_to, body, model_version, told)
	ORDER BY prediction_id -- one order for all writers: no deadlocks
	ON CONFLICT (prediction_id) DO NOTHING`

// SaveReceipts stores all of them or none. They are copied, which costs the database
// and us half of an INSERT; where one is stored already, for the answer to an earlier
// write was lost, they are inserted around it.
func (s *Store) SaveReceipts(ctx context.Context, receipts []sizing.Receipt) error {
	if len(receipts) == 0 {
		return nil
	}
	room := bodyRooms.Get().(*[]byte)
	defer bodyRooms.Put(room)
	bodies, err := bodiesOf(receipts, room)
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

// bodyRooms hold the bodies of one write, some megabytes, and are used again.
var bodyRooms = sync.Pool{New: func() any { return new([]byte) }}

// bodiesOf are the receipts as JSON, in one piece of memory.
func bodiesOf(receipts []sizing.Receipt, room *[]byte) ([][]byte, error) {
	all := (*room)[:0]
	ends := make([]int, len(receipts))
	for i := range receipts {
		r := receipts[i]
		r.At = r.At.UTC()
		var err error
		if all, err = appendBody(all, &r); err != nil {
			return nil, sizing.Errorf(sizing.Invalid, "receipt %s holds what cannot be stored: %w", r.Allocation.PredictionID, err)
		}
		ends[i] = len(all)
	}
	*room = all
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

// copyReceipts fails with a unique_violation where one is stored already.
func (s *Store) copyReceipts(ctx context.Context, receipts []sizing.Receipt, bodies [][]byte) error {
	order := make([]int, len(receipts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { // one order for all writers: no deadlocks
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

// insertReceipts leaves alone those that are stored already.
func (s *Store) insertReceipts(ctx context.Context, receipts []sizing.Receipt, bodies [][]byte) error {
	texts := make([]string, len(bodies))
	for i, body := range bodies {
		texts[i] = string(body)
	}
	rows := pointers(receipts)
	guards, after, to := flatten(rows, func(r *sizing.Receipt) []float64 { return r.Allocation.Guard.Params })
	return s.inTx(ctx, "save receipts", readWrite, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, saveReceiptsSQL,
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

// versionOf is 0 where no published model answered.
func versionOf(a *sizing.Allocation) int32 {
	if a.Model == nil {
		return 0
	}
	return int32(a.Model.Version)
}

const receiptSQL = `
	SELECT namespace, dag_id, task_id, guard, body
	FROM receipt WHERE prediction_id = $1`

// Receipt finds one by its prediction id.
func (s *Store) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	r, err := scanReceipt(s.pool.QueryRow(ctx, receiptSQL, predictionID))
	return r, found("read a receipt", err, "no prediction %q is stored", predictionID)
}

// newestOfTheTry ends a look-up by the index of tries (receipt_try). That the run's name is
// asked for by BETWEEN, and is part of the order, leaves the planner no other index: as
// equal to something, it may as well read all receipts of the task in the order of at,
// and does while a young table has no statistics.
const newestOfTheTry = `
			ORDER BY receipt.run_id DESC, receipt.at DESC LIMIT 1`

// oldestOfTheTry reads the same index in the other direction.
const oldestOfTheTry = `
			ORDER BY receipt.run_id, receipt.at LIMIT 1`

const receiptOfTrySQL = `
	SELECT namespace, dag_id, task_id, guard, body
	FROM receipt
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
		AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number = $6 AND run_id <> ''` + newestOfTheTry

// ReceiptOfTry finds the newest one of a try.
func (s *Store) ReceiptOfTry(ctx context.Context, try sizing.TryKey) (sizing.Receipt, error) {
	r, err := scanReceipt(s.pool.QueryRow(ctx, receiptOfTrySQL,
		try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number))
	return r, found("read a receipt", err, "no prediction was made for try %d of run %q of %s", try.Number, try.RunID, try.TaskKey)
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

// receiptFeaturesSQL hides how many there are from the planner, which would else make a
// plan for each call: with a partition for each week that takes longer than to run it.
const receiptFeaturesSQL = `
	SELECT n - 1, newest.features
	FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::int[]), (SELECT $6::smallint[]))
		WITH ORDINALITY AS try (namespace, dag_id, task_id, run_id, map_index, try_number, n)
	CROSS JOIN LATERAL (
		SELECT receipt.body -> 'Ask' -> 'Features' AS features
		FROM receipt
		WHERE receipt.namespace = try.namespace AND receipt.dag_id = try.dag_id AND receipt.task_id = try.task_id
			AND receipt.run_id BETWEEN try.run_id AND try.run_id AND receipt.map_index = try.map_index AND receipt.try_number = try.try_number
			AND receipt.run_id <> ''` + newestOfTheTry + `) AS newest`

// addReceiptFeatures fills in features that were not reported, from the newest
// receipt of the same try.
func (s *Store) addReceiptFeatures(ctx context.Context, reports []report) error {
	var silent []*report
	for i := range reports {
		if reports[i].Features == nil {
			silent = append(silent, &reports[i])
		}
	}
	if len(silent) == 0 {
		return nil
	}
	rows, err := s.pool.Query(ctx, receiptFeaturesSQL,
		column(silent, func(r *report) string { return r.Try.Namespace }),
		column(silent, func(r *report) string { return r.Try.DAG }),
		column(silent, func(r *report) string { return r.Try.Task }),
		column(silent, func(r *report) string { return r.Try.RunID }),
		column(silent, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(silent, func(r *report) int16 { return int16(r.Try.Number) }))
	if err != nil {
		return err
	}
	var n int
	var features sizing.Features
	_, err = pgx.ForEachRow(rows, []any{&n, &features}, func() error {
		silent[n].Features, silent[n].fromReceipt = features, features != nil
		features = nil
		return nil
	})
	return err
}

// launchedFirst orders the receipts of a reported try so that the one that it was launched
// with comes first; see promisedAtLaunch.
const launchedFirst = `newest.prediction_id IS NOT DISTINCT FROM observation.prediction_id DESC,
			newest.at <= observation.at DESC,
			CASE WHEN newest.at <= observation.at THEN newest.at END DESC,
			newest.at`

const realisedSQL = `
	WITH newest AS (
		SELECT prediction_id, run_id, map_index, try_number, promised, at
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
		ORDER BY at DESC LIMIT $4),
	first_try AS (
		SELECT DISTINCT ON (newest.run_id, newest.map_index) promised, outcome
		FROM newest
		JOIN observation ON observation.run_id = newest.run_id AND observation.map_index = newest.map_index AND observation.try_number = 1
		JOIN task ON task.id = observation.task
		WHERE newest.run_id <> '' AND newest.try_number = 1
			AND task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		ORDER BY newest.run_id, newest.map_index, ` + launchedFirst + `)
	SELECT count(*), count(*) FILTER (WHERE outcome IN (2, 3)), coalesce(sum(promised), 0)
	FROM first_try
	WHERE promised IS NOT NULL`

// Realised compares promises with what happened. The sum is taken over the tries
// that have ended, so that it can be held against Killed.
func (s *Store) Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.Realised, error) {
	var r sizing.Realised
	err := s.pool.QueryRow(ctx, realisedSQL, task.Namespace, task.DAG, task.Task, max(limit, 0)).
		Scan(&r.Tries, &r.Killed, &r.Promised)
	return r, explain("compare promises", err)
}

const unreportedSQL = `
	WITH newest AS (
		SELECT namespace, dag_id, task_id, run_id, map_index
		FROM receipt
		WHERE prediction_id < $1 AND run_id <> '' AND try_number = 1
		ORDER BY prediction_id DESC LIMIT $2),
	first_try AS (SELECT DISTINCT namespace, dag_id, task_id, run_id, map_index FROM newest)
	SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
		SELECT FROM task
		JOIN observation ON observation.task = task.id
		WHERE task.namespace = first_try.namespace AND task.dag_id = first_try.dag_id AND task.task_id = first_try.task_id
			AND observation.run_id = first_try.run_id AND observation.map_index = first_try.map_index AND try_number = 1))
	FROM first_try`

// Unreported counts first tries that were asked for and never reported.
func (s *Store) Unreported(ctx context.Context, before string, limit int) (tries, unreported int, err error) {
	err = s.pool.QueryRow(ctx, unreportedSQL, before, max(limit, 0)).Scan(&tries, &unreported)
	return tries, unreported, explain("count what was never reported", err)
}

const promisesSQL = `
	WITH judged AS (
		SELECT id, coalesce(watched_from, '-infinity') AS since, coalesce(withdrawn, '{}') AS withdrawn
		FROM task
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3),
	newest AS (
		SELECT prediction_id, run_id, map_index, promised, task_limit, model_version, told, at
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND at >= (SELECT since FROM judged)
			AND run_id <> '' AND try_number = 1
		ORDER BY at DESC LIMIT $4),
	first_try AS (
		SELECT DISTINCT ON (newest.run_id, newest.map_index) withdrawn, newest.run_id, newest.map_index,
			promised, task_limit, model_version, told, outcome, seq
		FROM judged
		CROSS JOIN newest
		JOIN observation ON observation.task = judged.id AND try_number = 1 AND outcome IN (1, 2, 3)
			AND observation.run_id = newest.run_id AND observation.map_index = newest.map_index
		ORDER BY newest.run_id, newest.map_index, ` + launchedFirst + `)
	SELECT model_version, told, run_id, map_index, task_limit, promised, outcome <> 1
	FROM first_try
	WHERE promised IS NOT NULL AND task_limit IS NOT NULL AND model_version IS NOT NULL AND model_version <> ALL (withdrawn)
	ORDER BY seq`

// Promises are the evidence for or against the active model. A version that is not
// known answers nothing: its receipt is left out.
func (s *Store) Promises(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.Promise, error) {
	rows, err := s.pool.Query(ctx, promisesSQL, task.Namespace, task.DAG, task.Task, max(limit, 0))
	if err != nil {
		return nil, explain("read promises", err)
	}
	promises, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p sizing.Promise, err error) {
		err = row.Scan(&p.Version, &p.GuardVersion, &p.RunID, &p.MapIndex, &p.Granted, &p.Risk, &p.Killed)
		return p, err
	})
	return promises, explain("read promises", err)
}
