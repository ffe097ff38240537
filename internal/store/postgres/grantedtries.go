package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// grantedTriesSQL reads the large body only of retries and of open tries.
const grantedTriesSQL = `
	WITH newest AS (
		SELECT run_id, map_index, try_number, promised, task_limit, at, prediction_id, body,
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

// GrantedTries lists the newest answers to tries, oldest first, with the outcomes of the tries.
func (s *Store) GrantedTries(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.GrantedTry, error) {
	rows, err := s.pool.Query(ctx, grantedTriesSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, wrapError("list granted tries", err)
	}
	granted, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g store.GrantedTry, err error) {
		err = row.Scan(&g.RunID, &g.MapIndex, &g.Try, &g.Promised, &g.Limit, &g.At, &g.Lifted, &g.Outcome, &g.Features)
		g.At = g.At.UTC()
		return g, err
	})
	return granted, wrapError("list granted tries", err)
}

const schedulingFailuresSQL = `
	SELECT allocated_memory, at
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND at >= $4 AND outcome = 7 AND allocated_memory IS NOT NULL
	ORDER BY at DESC, seq DESC LIMIT $5`

// SchedulingFailures lists the newest unschedulable allocations, oldest first.
func (s *Store) SchedulingFailures(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.SchedulingFailure, error) {
	rows, err := s.pool.Query(ctx, schedulingFailuresSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, wrapError("list scheduling failures", err)
	}
	failures, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.SchedulingFailure, err error) {
		err = row.Scan(&r.Memory, &r.At)
		r.At = r.At.UTC()
		return r, err
	})
	slices.Reverse(failures)
	return failures, wrapError("list scheduling failures", err)
}
