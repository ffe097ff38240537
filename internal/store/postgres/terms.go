package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// termsSQL reads receipts in the order of their index: see newestOfTheTry.
const termsSQL = `
	WITH killed AS (
		SELECT try_number, coalesce(requested_memory, 0) AS memory, coalesce(requested_cpu, 0) AS cpu
		FROM observation
		JOIN task ON task.id = observation.task
		WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
			AND run_id = $4 AND map_index = $5 AND try_number <= $6 AND outcome IN (2, 3)),
	asked AS (
		SELECT try_number, at, body -> 'Ask' AS said
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
			AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number <= $6 AND run_id <> ''
		ORDER BY run_id DESC, map_index DESC, try_number DESC, at DESC
		LIMIT 16)
	SELECT try_number, 'infinity'::timestamptz AS at, memory, cpu, 0::bigint, NULL::json
	FROM killed
	UNION ALL
	SELECT try_number, at, coalesce((said -> 'Requested' ->> 'Memory')::bigint, 0), coalesce((said -> 'Requested' ->> 'CPU')::float8, 0),
		coalesce((said ->> 'MaxMemory')::bigint, 0), said -> 'Features'
	FROM asked
	ORDER BY try_number DESC, at DESC`

// Terms are what the callers said of a run up to a try.
func (s *Store) Terms(ctx context.Context, try sizing.TryKey) (store.Terms, error) {
	rows, err := s.pool.Query(ctx, termsSQL, try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number)
	if err != nil {
		return store.Terms{}, explain("read what a run was asked with", err)
	}
	var terms, next store.Terms
	_, err = pgx.ForEachRow(rows, []any{nil, nil, &next.Requested.Memory, &next.Requested.CPU, &next.MaxMemory, &next.Features}, func() error {
		terms.Requested.Memory = cmp.Or(terms.Requested.Memory, next.Requested.Memory)
		terms.Requested.CPU = cmp.Or(terms.Requested.CPU, next.Requested.CPU)
		terms.MaxMemory = cmp.Or(terms.MaxMemory, next.MaxMemory)
		if terms.Features == nil {
			terms.Features = next.Features
		}
		next = store.Terms{}
		return nil
	})
	return terms, explain("read what a run was asked with", err)
}
