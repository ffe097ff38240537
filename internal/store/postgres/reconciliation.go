package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const acquireLeaseSQL = `
	INSERT INTO duty (name, owner, until) VALUES ($1, $2, now() + $3)
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE duty.owner = excluded.owner OR duty.until < now()
	RETURNING true`

// AcquireLease acquires or renews a named lease, a row of table duty.
func (s *Store) AcquireLease(ctx context.Context, name, owner string, lease time.Duration) (bool, error) {
	var acquired bool
	err := s.pool.QueryRow(ctx, acquireLeaseSQL, name, owner, lease).Scan(&acquired)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return acquired, wrapError("acquire a lease", err)
}

// lookupDue omits tries that are settled (not looked up again), and those whose next lookup is later than the
// current time $3. Table inquiry has the lookups. A row without again_at means that its try is settled.
const lookupDue = `NOT EXISTS (
		SELECT FROM inquiry
		WHERE inquiry.namespace = known.namespace AND inquiry.dag_id = known.dag_id AND inquiry.task_id = known.task_id
			AND inquiry.run_id = known.run_id AND inquiry.map_index = known.map_index AND inquiry.try_number = known.try_number
			AND (inquiry.again_at IS NULL OR inquiry.again_at > $3))`

// unsampledSQL omits scheduling failures (outcome 7), whose tries never started.
const unsampledSQL = `
	SELECT namespace, dag_id, task_id, run_id, map_index, try_number, outcome, provisional, at,
		started_at, ended_at, coalesce(duration_us, 0), coalesce(memory_max, 0),
		coalesce(allocated_memory, 0), coalesce(requested_memory, 0),
		coalesce(cpu_max, 0), coalesce(allocated_cpu, 0), coalesce(requested_cpu, 0)
	FROM (
		SELECT namespace, dag_id, task_id, run_id, map_index, try_number, outcome, provisional, at, seq,
			started_at, ended_at, duration_us, memory_max, memory_sampled,
			allocated_memory, requested_memory, cpu_max, allocated_cpu, requested_cpu
		FROM observation JOIN task ON task.id = observation.task) AS known
	WHERE at >= $1 AND at < $2 AND memory_sampled IS NULL AND outcome <> 7 AND ` + lookupDue + `
	ORDER BY at, seq LIMIT $4`

// Unsampled lists the observations in the window without a sampled peak whose lookup is due.
func (s *Store) Unsampled(ctx context.Context, w store.Window) ([]sizing.Observation, error) {
	rows, err := s.pool.Query(ctx, unsampledSQL, w.From, w.To, w.Now, w.Limit)
	if err != nil {
		return nil, wrapError("list unsampled tries", err)
	}
	tries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o sizing.Observation, err error) {
		var started, ended *time.Time
		var micros int64
		err = row.Scan(&o.Try.Namespace, &o.Try.DAG, &o.Try.Task, &o.Try.RunID, &o.Try.MapIndex, &o.Try.Number, &o.Outcome, &o.Provisional, &o.EndedAt,
			&started, &ended, &micros, &o.MemoryMax,
			&o.Allocated.Memory, &o.Requested.Memory, &o.CPUMax, &o.Allocated.CPU, &o.Requested.CPU)
		if started != nil {
			o.StartedAt = started.UTC()
		}
		if ended != nil {
			o.EndedAt = *ended
		}
		o.EndedAt, o.Duration = o.EndedAt.UTC(), time.Duration(micros)*time.Microsecond
		return o, err
	})
	return tries, wrapError("list unsampled tries", err)
}

// unreportedReceiptsSQL selects the unreported tries first, and only then checks whether a
// receipt is the newest of its try in both tables: OFFSET 0 keeps the planner from merging the subquery.
// unreportedCompactSQL does the same for compact receipts, but omits a compact receipt if the try has a JSON receipt of the
// same time.
const unreportedReceiptsSQL = `
	SELECT ` + jsonColumns + `
	FROM (
		SELECT prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, guard, body
		FROM receipt AS known
		WHERE at >= $1 AND at < $2 AND run_id <> ''
			AND ` + notReported + ` AND ` + lookupDue + `
		OFFSET 0) AS receipt
	WHERE prediction_id = (
		SELECT prediction_id FROM receipt AS newer
		WHERE newer.namespace = receipt.namespace AND newer.dag_id = receipt.dag_id AND newer.task_id = receipt.task_id
			AND newer.run_id BETWEEN receipt.run_id AND receipt.run_id AND newer.map_index = receipt.map_index AND newer.try_number = receipt.try_number
			AND newer.run_id <> ''
		ORDER BY newer.run_id DESC, newer.at DESC LIMIT 1)
		AND at >= coalesce((
			SELECT newer.at FROM receipt_compact AS newer
			WHERE newer.name = (SELECT id FROM receipt_name AS name WHERE name.namespace = receipt.namespace AND name.dag_id = receipt.dag_id AND name.task_id = receipt.task_id)
				AND hashtext(newer.run_id) # newer.map_index = hashtext(receipt.run_id) # receipt.map_index
				AND newer.run_id BETWEEN receipt.run_id AND receipt.run_id AND newer.map_index = receipt.map_index AND newer.try_number = receipt.try_number
				AND newer.run_id <> ''
			ORDER BY newer.run_id DESC, newer.at DESC LIMIT 1), '-infinity')
	ORDER BY at, prediction_id LIMIT $4`

const unreportedCompactSQL = `
	SELECT ` + compactRowColumns + `
	FROM (
		SELECT * FROM (
			SELECT receipt_compact.*, namespace, dag_id, task_id
			FROM receipt_compact JOIN receipt_name ON receipt_name.id = receipt_compact.name
			WHERE at >= $1 AND at < $2 AND run_id <> '') AS known
		WHERE ` + notReported + ` AND ` + lookupDue + `
		OFFSET 0) AS receipt
	JOIN receipt_name ON receipt_name.id = receipt.name
	WHERE prediction_id = (
		SELECT prediction_id FROM receipt_compact AS newer
		WHERE newer.name = receipt.name AND hashtext(newer.run_id) # newer.map_index = hashtext(receipt.run_id) # receipt.map_index
			AND newer.run_id BETWEEN receipt.run_id AND receipt.run_id AND newer.map_index = receipt.map_index AND newer.try_number = receipt.try_number
			AND newer.run_id <> ''
		ORDER BY newer.run_id DESC, newer.at DESC LIMIT 1)
		AND at > coalesce((
			SELECT newer.at FROM receipt AS newer
			WHERE newer.namespace = receipt.namespace AND newer.dag_id = receipt.dag_id AND newer.task_id = receipt.task_id
				AND newer.run_id BETWEEN receipt.run_id AND receipt.run_id AND newer.map_index = receipt.map_index AND newer.try_number = receipt.try_number
				AND newer.run_id <> ''
			ORDER BY newer.run_id DESC, newer.at DESC LIMIT 1), '-infinity')
	ORDER BY at, prediction_id LIMIT $4`

const notReported = `NOT EXISTS (
				SELECT FROM task JOIN observation ON observation.task = task.id
				WHERE task.namespace = known.namespace AND task.dag_id = known.dag_id AND task.task_id = known.task_id
					AND observation.run_id = known.run_id AND observation.map_index = known.map_index AND observation.try_number = known.try_number)`

// UnreportedReceipts lists the newest receipt of each unreported try whose lookup is due. A try may have receipts in both tables.
func (s *Store) UnreportedReceipts(ctx context.Context, w store.Window) ([]sizing.Receipt, error) {
	var all []sizing.Receipt
	for _, sql := range []string{unreportedReceiptsSQL, unreportedCompactSQL} {
		receipts, err := s.readReceipts(ctx, sql, w.From, w.To, w.Now, w.Limit)
		if err != nil {
			return nil, wrapError("list unreported receipts", err)
		}
		all = append(all, receipts...)
	}
	slices.SortFunc(all, func(a, b sizing.Receipt) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Allocation.PredictionID, b.Allocation.PredictionID))
	})
	return all[:min(len(all), w.Limit)], nil
}

const saveLookupsSQL = `
	INSERT INTO inquiry (namespace, dag_id, task_id, run_id, map_index, try_number, asked_at, again_at)
	SELECT namespace, dag_id, task_id, run_id, map_index, try_number, now(), again_at
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::smallint[], $7::timestamptz[])
		AS new (namespace, dag_id, task_id, run_id, map_index, try_number, again_at)
	ORDER BY 1, 2, 3, 4, 5, 6 -- the same order for all writers prevents deadlocks
	ON CONFLICT (namespace, dag_id, task_id, run_id, map_index, try_number)
		DO UPDATE SET asked_at = excluded.asked_at, again_at = excluded.again_at`

const expireLookupsSQL = `DELETE FROM inquiry WHERE asked_at < $1`

// SaveLookups stores lookups, and deletes the lookups stored before the time `expireBefore`.
func (s *Store) SaveLookups(ctx context.Context, lookups []store.Lookup, expireBefore time.Time) error {
	rows := pointers(lookups)
	return s.inTx(ctx, "save lookups", readWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, expireLookupsSQL, expireBefore); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, saveLookupsSQL,
			column(rows, func(l *store.Lookup) string { return l.Try.Namespace }),
			column(rows, func(l *store.Lookup) string { return l.Try.DAG }),
			column(rows, func(l *store.Lookup) string { return l.Try.Task }),
			column(rows, func(l *store.Lookup) string { return l.Try.RunID }),
			column(rows, func(l *store.Lookup) int32 { return int32(l.Try.MapIndex) }),
			column(rows, func(l *store.Lookup) int16 { return int16(l.Try.Number) }),
			column(rows, func(l *store.Lookup) *time.Time { return knownTime(&l.RetryAt) }))
		return err
	})
}
