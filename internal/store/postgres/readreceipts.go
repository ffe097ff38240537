package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// jsonColumns and compactRowColumns are the columns of storedReceipt in the two tables of receipts.
const (
	jsonColumns = `receipt.namespace, receipt.dag_id, receipt.task_id, ''::text, ''::text, 0, 0::smallint, receipt.at,
		NULL::float8, 0::bigint, 0::bigint, receipt.guard, receipt.body, 0, NULL::bytea`
	compactRowColumns = `receipt_name.namespace, receipt_name.dag_id, receipt_name.task_id, receipt.prediction_id::text, receipt.run_id, receipt.map_index, receipt.try_number, receipt.at,
		receipt.promised, receipt.task_limit, receipt.told, NULL::float8[], NULL::json, receipt.name, receipt.content`
)

type storedReceipt struct {
	receipt sizing.Receipt // the fields that the statement reads from columns
	guard   []float64      // only in table receipt, like body
	body    []byte
	name    int32 // id of the task in receipt_name; only in table receipt_compact, like content; 0 in table receipt
	content []byte
}

func (c *storedReceipt) fields() []any {
	r := &c.receipt
	try, a := &r.Ask.Try, &r.Allocation
	return []any{
		&try.Namespace, &try.DAG, &try.Task, &a.PredictionID, &try.RunID, &try.MapIndex, &try.Number, &r.At,
		&a.Risk.Promised, &a.Memory.Limit, &a.Guard.Version, &c.guard, &c.body, &c.name, &c.content,
	}
}

// decode returns the receipt. `words` is the vocabulary of c.name.
func (c *storedReceipt) decode(words []string) (sizing.Receipt, error) {
	r := c.receipt
	key := r.Ask.Try.TaskKey
	if c.name == 0 {
		r = sizing.Receipt{}
		if err := json.Unmarshal(c.body, &r); err != nil {
			return r, err
		}
		r.Allocation.Guard.Params = c.guard
	} else {
		r.At = r.At.UTC()
		if err := decodeCompact(c.content, words, &r); err != nil {
			return r, malformed(err)
		}
	}
	r.Ask.Try.TaskKey, r.Allocation.Task = key, key
	return r, nil
}

func malformed(err error) error {
	if errors.Is(err, errUnknownWord) {
		return errStale // the task was deleted after its receipt was read
	}
	return sizing.Errorf(sizing.Internal, "read a receipt: %w; check the database with `loadaware doctor`", err)
}

// readReceipts returns the receipts that a statement selects. The statement must return the columns of storedReceipt.
func (s *Store) readReceipts(ctx context.Context, sql string, args ...any) ([]sizing.Receipt, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	stored, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c storedReceipt, err error) {
		err = row.Scan(c.fields()...)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	words, err := readWords(ctx, s.pool, distinctNames(stored, func(c *storedReceipt) int32 { return c.name }))
	if err != nil {
		return nil, err
	}
	receipts := make([]sizing.Receipt, len(stored))
	for i := range stored {
		if receipts[i], err = stored[i].decode(words[stored[i].name]); err != nil {
			return nil, err
		}
	}
	return receipts, nil
}

func distinctNames[R any](rows []R, name func(*R) int32) (ids []int32) {
	known := map[int32]bool{0: true}
	for i := range rows {
		if id := name(&rows[i]); !known[id] {
			known[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

const receiptSQL = `
	SELECT ` + jsonColumns + `
	FROM receipt WHERE prediction_id = $1
	UNION ALL
	SELECT ` + compactRowColumns + `
	FROM receipt_compact AS receipt JOIN receipt_name ON receipt_name.id = receipt.name
	WHERE prediction_id = $2::uuid`

// Receipt returns the receipt of a prediction id.
func (s *Store) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	var compactID *[16]byte
	if id, err := uuid.Parse(predictionID); err == nil && id.String() == predictionID {
		compactID = (*[16]byte)(&id)
	}
	receipts, err := s.readReceipts(ctx, receiptSQL, predictionID, compactID)
	if err == nil && len(receipts) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return sizing.Receipt{}, orNotFound("read a receipt", err, "%s", sizing.UnknownPrediction(predictionID).Detail)
	}
	return receipts[0], nil
}

// nameOfTask selects the id of a task in receipt_name. The namespace, DAG and task are $1 to $3.
const nameOfTask = `(SELECT id FROM receipt_name WHERE namespace = $1 AND dag_id = $2 AND task_id = $3)`

// endOfTrySQL reads which receipt the report of a try names, and the end of the try.
const endOfTrySQL = `
	SELECT coalesce(prediction_id, ''), at
	FROM observation
	WHERE task = (SELECT id FROM task WHERE namespace = $1 AND dag_id = $2 AND task_id = $3)
		AND run_id = $4 AND map_index = $5 AND try_number = $6`

// receiptsOfTrySQL returns a statement that reads from each of the two tables of receipts the receipt of a try that meets
// `condition` and is the first by `order`. $7 is the end of the try.
func receiptsOfTrySQL(condition, order string) string {
	return `
	(SELECT ` + jsonColumns + `
	FROM receipt
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
		AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number = $6 AND run_id <> ''` + condition + order + `)
	UNION ALL
	(SELECT ` + compactRowColumns + `
	FROM receipt_compact AS receipt JOIN receipt_name ON receipt_name.id = receipt.name
	WHERE name = ` + nameOfTask + ` AND hashtext(run_id) # map_index = hashtext($4) # $5
		AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number = $6 AND run_id <> ''` + condition + order + `)`
}

var (
	receiptBeforeEndSQL = receiptsOfTrySQL(` AND receipt.at <= coalesce($7::timestamptz, 'infinity')`, newestOfTry)
	receiptAfterEndSQL  = receiptsOfTrySQL(` AND receipt.at > $7::timestamptz AND receipt.at <= $7::timestamptz + interval '24 hours'`, oldestOfTry)
)

// ReceiptOfTry returns the receipt in force when a try ran, by the rule of promisedAtLaunch.
func (s *Store) ReceiptOfTry(ctx context.Context, try sizing.TryKey) (sizing.Receipt, error) {
	args := []any{try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number}
	var named string
	var end *time.Time // nil without a report
	err := s.pool.QueryRow(ctx, endOfTrySQL, args...).Scan(&named, &end)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return sizing.Receipt{}, wrapError("read a receipt", err)
	}
	if named != "" {
		r, err := s.Receipt(ctx, named)
		if err == nil && r.Ask.Try == try || err != nil && sizing.KindOf(err) != sizing.NotFound {
			return r, err
		}
	}
	receipts, err := s.readReceipts(ctx, receiptBeforeEndSQL, append(args, end)...)
	order := func(a, b sizing.Receipt) int { return b.At.Compare(a.At) }
	if err == nil && len(receipts) == 0 && end != nil {
		receipts, err = s.readReceipts(ctx, receiptAfterEndSQL, append(args, end)...)
		order = func(a, b sizing.Receipt) int { return a.At.Compare(b.At) }
	}
	if err == nil && len(receipts) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return sizing.Receipt{}, orNotFound("read a receipt", err, "no prediction is stored for try %d of run %q of %s", try.Number, try.RunID, try.TaskKey)
	}
	return slices.MinFunc(receipts, order), nil
}

// receiptFeaturesSQL wraps the arrays in subqueries to hide their lengths from the planner, so
// that PostgreSQL keeps a generic plan. Planning for every weekly partition takes longer than
// running.
const receiptFeaturesSQL = `
	SELECT n - 1, newest.at, newest.features, newest.name, newest.content
	FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::int[]), (SELECT $6::smallint[]))
		WITH ORDINALITY AS try (namespace, dag_id, task_id, run_id, map_index, try_number, n)
	CROSS JOIN LATERAL (
		(SELECT receipt.at, receipt.body -> 'Ask' -> 'Features' AS features, 0 AS name, NULL::bytea AS content
		FROM receipt
		WHERE receipt.namespace = try.namespace AND receipt.dag_id = try.dag_id AND receipt.task_id = try.task_id
			AND receipt.run_id BETWEEN try.run_id AND try.run_id AND receipt.map_index = try.map_index AND receipt.try_number = try.try_number
			AND receipt.run_id <> ''` + newestOfTry + `)
		UNION ALL
		(SELECT receipt.at, NULL, receipt.name, receipt.content
		FROM receipt_compact AS receipt
		WHERE receipt.name = (SELECT id FROM receipt_name WHERE namespace = try.namespace AND dag_id = try.dag_id AND task_id = try.task_id)
			AND hashtext(receipt.run_id) # receipt.map_index = hashtext(try.run_id) # try.map_index
			AND receipt.run_id BETWEEN try.run_id AND try.run_id AND receipt.map_index = try.map_index AND receipt.try_number = try.try_number
			AND receipt.run_id <> ''` + newestOfTry + `)) AS newest`

type receiptFeatures struct {
	report   int // index among the reports without features
	at       time.Time
	features sizing.Features // nil for a compact receipt, until decodeFeatures sets them
	name     int32           // of a compact receipt, like content; see storedReceipt
	content  []byte
}

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
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f receiptFeatures, err error) {
		err = row.Scan(&f.report, &f.at, &f.features, &f.name, &f.content)
		return f, err
	})
	if err != nil || len(found) == 0 {
		return err
	}
	if err := s.decodeFeatures(ctx, found); err != nil {
		return err
	}
	newest := make([]time.Time, len(incomplete))
	for i := range found {
		f := &found[i]
		if f.at.Before(newest[f.report]) {
			continue
		}
		newest[f.report] = f.at
		incomplete[f.report].Features, incomplete[f.report].fromReceipt = f.features, f.features != nil
	}
	return nil
}

func (s *Store) decodeFeatures(ctx context.Context, found []receiptFeatures) error {
	names := distinctNames(found, func(f *receiptFeatures) int32 { return f.name })
	if len(names) == 0 {
		return nil
	}
	words, err := readWords(ctx, s.pool, names)
	if err != nil {
		return err
	}
	for i := range found {
		f := &found[i]
		if f.name == 0 {
			continue
		}
		ask, err := compactAsk(f.content, words[f.name])
		if err != nil {
			return malformed(err)
		}
		f.features = ask.Features
	}
	return nil
}
