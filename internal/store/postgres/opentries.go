package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// grantedSQL takes the promise before the guard widened: guard[4] is its factor, guard[2]
// the experts' promise, see fitting.BeforeGuard. It looks into the bodies of later tries and of open ones only: a body is large.
const grantedSQL = `
	WITH newest AS (
		SELECT run_id, map_index, try_number, task_limit, at, prediction_id, body,
			CASE WHEN guard[4] > 1 THEN least(promised, guard[2]) ELSE promised END AS promised,
			CASE WHEN try_number > 1 THEN
				coalesce(body -> 'Allocation' ->> 'Source', '') = 'lift' AND body -> 'Allocation' ->> 'Shadow' IS NULL
			ELSE false END AS lifted
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND at >= $4 AND run_id <> ''
		ORDER BY at DESC LIMIT $5)
	SELECT newest.run_id, newest.map_index, newest.try_number, promised, coalesce(task_limit, 0), newest.at, lifted, coalesce(outcome, 0),
		CASE WHEN outcome IS NULL THEN body -> 'Ask' -> 'Features' END
	FROM newest
	LEFT JOIN task ON task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	LEFT JOIN observation ON observation.task = task.id AND observation.run_id = newest.run_id
		AND observation.map_index = newest.map_index AND observation.try_number = newest.try_number
	ORDER BY newest.at, newest.prediction_id`

// Granted lists the newest answers to tries, oldest first, with what came of them.
func (s *Store) Granted(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.Granted, error) {
	rows, err := s.pool.Query(ctx, grantedSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, explain("list granted tries", err)
	}
	granted, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g store.Granted, err error) {
		err = row.Scan(&g.RunID, &g.MapIndex, &g.Try, &g.Promised, &g.Limit, &g.At, &g.Lifted, &g.Outcome, &g.Features)
		g.At = g.At.UTC()
		return g, err
	})
	return granted, explain("list granted tries", err)
}

const refusalsSQL = `
	SELECT allocated_memory, at
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND at >= $4 AND outcome = 7 AND allocated_memory IS NOT NULL
	ORDER BY at DESC, seq DESC LIMIT $5`

// Refusals lists the newest allocations that were unschedulable, oldest first.
func (s *Store) Refusals(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.Refusal, error) {
	rows, err := s.pool.Query(ctx, refusalsSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, explain("list refusals", err)
	}
	refusals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.Refusal, err error) {
		err = row.Scan(&r.Memory, &r.At)
		r.At = r.At.UTC()
		return r, err
	})
	slices.Reverse(refusals)
	return refusals, explain("list refusals", err)
}
