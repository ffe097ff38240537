package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// runInputsSQL reads receipts in the order of their index; see newestOfTry.
const runInputsSQL = `
	WITH killed AS (
		SELECT try_number, coalesce(requested_memory, 0) AS memory, coalesce(requested_cpu, 0) AS cpu
		FROM observation
		JOIN task ON task.id = observation.task
		WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
			AND run_id = $4 AND map_index = $5 AND try_number <= $6 AND outcome IN (2, 3)),
	answered AS (
		SELECT try_number, at, body -> 'Ask' AS ask
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
			AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number <= $6 AND run_id <> ''
		ORDER BY run_id DESC, map_index DESC, try_number DESC, at DESC
		LIMIT 16)
	SELECT try_number, 'infinity'::timestamptz AS at, memory, cpu, 0::bigint, NULL::json
	FROM killed
	UNION ALL
	SELECT try_number, at, coalesce((ask -> 'Requested' ->> 'Memory')::bigint, 0), coalesce((ask -> 'Requested' ->> 'CPU')::float8, 0),
		coalesce((ask ->> 'MaxMemory')::bigint, 0), ask -> 'Features'
	FROM answered
	ORDER BY try_number DESC, at DESC`

// RunInputs returns the inputs of a run up to a try.
func (s *Store) RunInputs(ctx context.Context, try sizing.TryKey) (store.RunInputs, error) {
	rows, err := s.pool.Query(ctx, runInputsSQL, try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number)
	if err != nil {
		return store.RunInputs{}, wrapError("read the inputs of a run", err)
	}
	var inputs, next store.RunInputs
	_, err = pgx.ForEachRow(rows, []any{nil, nil, &next.Requested.Memory, &next.Requested.CPU, &next.MaxMemory, &next.Features}, func() error {
		inputs.Requested.Memory = cmp.Or(inputs.Requested.Memory, next.Requested.Memory)
		inputs.Requested.CPU = cmp.Or(inputs.Requested.CPU, next.Requested.CPU)
		inputs.MaxMemory = cmp.Or(inputs.MaxMemory, next.MaxMemory)
		if inputs.Features == nil {
			inputs.Features = next.Features
		}
		next = store.RunInputs{}
		return nil
	})
	return inputs, wrapError("read the inputs of a run", err)
}
