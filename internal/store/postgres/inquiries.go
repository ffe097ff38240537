package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const takeDutySQL = `
	INSERT INTO duty (name, owner, until) VALUES ($1, $2, now() + $3)
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
		WHERE duty.owner = excluded.owner OR duty.until < now()
	RETURNING true`

// AcquireLease takes or keeps a duty; false while another has it.
func (s *Store) AcquireLease(ctx context.Context, duty, owner string, lease time.Duration) (bool, error) {
	var taken bool
	err := s.pool.QueryRow(ctx, takeDutySQL, duty, owner, lease).Scan(&taken)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return taken, explain("take a duty", err)
}

// notAsked leaves out what is settled, or not to be asked about yet; $3 is now.
const notAsked = `NOT EXISTS (
		SELECT FROM inquiry
		WHERE inquiry.namespace = known.namespace AND inquiry.dag_id = known.dag_id AND inquiry.task_id = known.task_id
			AND inquiry.run_id = known.run_id AND inquiry.map_index = known.map_index AND inquiry.try_number = known.try_number
			AND (inquiry.again_at IS NULL OR inquiry.again_at > $3))`

const unsampledSQL = `
	SELECT namespace, dag_id, task_id, run_id, map_index, try_number, outcome, provisional, at,
		started_at, ended_at, coalesce(duration_us, 0), coalesce(memory_max, 0),
		coalesce(allocated_memory, 0), coalesce(requested_memory, 0),
		coalesce(cpu_max, 0), coalesce(allocated_cpu, 0), coalesce(requested_cpu, 0)
	FROM (SELECT observation.*, namespace, dag_id, task_id FROM observation JOIN task ON task.id = observation.task) AS known
	WHERE at >= $1 AND at < $2 AND memory_sampled IS NULL AND outcome <> 7 AND ` + notAsked + `
	ORDER BY at, seq LIMIT $4`

// Unsampled lists tries whose peak nobody sampled. One whose end is not known is
// said to have ended when it was reported.
func (s *Store) Unsampled(ctx context.Context, w store.Window) ([]sizing.Observation, error) {
	rows, err := s.pool.Query(ctx, unsampledSQL, w.From, w.To, w.Now, w.Limit)
	if err != nil {
		return nil, explain("list tries that were not sampled", err)
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
	return tries, explain("list tries that were not sampled", err)
}

// silentSQL looks only at those that nothing was reported of (OFFSET 0) for whether they are
// the newest of their try.
const silentSQL = `
	SELECT namespace, dag_id, task_id, guard, body
	FROM (
		SELECT *
		FROM receipt AS known
		WHERE at >= $1 AND at < $2 AND run_id <> ''
			AND NOT EXISTS (
				SELECT FROM task JOIN observation ON observation.task = task.id
				WHERE task.namespace = known.namespace AND task.dag_id = known.dag_id AND task.task_id = known.task_id
					AND observation.run_id = known.run_id AND observation.map_index = known.map_index AND observation.try_number = known.try_number)
			AND ` + notAsked + `
		OFFSET 0) AS silent
	WHERE prediction_id = (
		SELECT prediction_id FROM receipt
		WHERE receipt.namespace = silent.namespace AND receipt.dag_id = silent.dag_id AND receipt.task_id = silent.task_id
			AND receipt.run_id BETWEEN silent.run_id AND silent.run_id AND receipt.map_index = silent.map_index AND receipt.try_number = silent.try_number
			AND receipt.run_id <> ''` + newestOfTheTry + `)
	ORDER BY at, prediction_id LIMIT $4`

// Silent lists the newest receipts of tries that nothing was reported of.
func (s *Store) Silent(ctx context.Context, w store.Window) ([]sizing.Receipt, error) {
	rows, err := s.pool.Query(ctx, silentSQL, w.From, w.To, w.Now, w.Limit)
	if err != nil {
		return nil, explain("list tries that were not reported", err)
	}
	receipts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sizing.Receipt, error) { return scanReceipt(row) })
	return receipts, explain("list tries that were not reported", err)
}

const inquiredSQL = `
	INSERT INTO inquiry (namespace, dag_id, task_id, run_id, map_index, try_number, asked_at, again_at)
	SELECT namespace, dag_id, task_id, run_id, map_index, try_number, now(), again_at
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::smallint[], $7::timestamptz[])
		AS new (namespace, dag_id, task_id, run_id, map_index, try_number, again_at)
	ORDER BY 1, 2, 3, 4, 5, 6 -- one order for all writers: no deadlocks
	ON CONFLICT (namespace, dag_id, task_id, run_id, map_index, try_number)
		DO UPDATE SET asked_at = excluded.asked_at, again_at = excluded.again_at`

const forgetInquiriesSQL = `DELETE FROM inquiry WHERE asked_at < $1`

// Inquired notes who was asked about, and forgets what is old.
func (s *Store) Inquired(ctx context.Context, asked []store.Inquiry, forget time.Time) error {
	rows := pointers(asked)
	return s.inTx(ctx, "note inquiries", readWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, forgetInquiriesSQL, forget); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, inquiredSQL,
			column(rows, func(q *store.Inquiry) string { return q.Try.Namespace }),
			column(rows, func(q *store.Inquiry) string { return q.Try.DAG }),
			column(rows, func(q *store.Inquiry) string { return q.Try.Task }),
			column(rows, func(q *store.Inquiry) string { return q.Try.RunID }),
			column(rows, func(q *store.Inquiry) int32 { return int32(q.Try.MapIndex) }),
			column(rows, func(q *store.Inquiry) int16 { return int16(q.Try.Number) }),
			column(rows, func(q *store.Inquiry) *time.Time { return knownTime(&q.Again) }))
		return err
	})
}
