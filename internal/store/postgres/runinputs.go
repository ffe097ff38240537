package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// runInputsSQL reads, for the tries of a run up to a given try, the reports of OOM kills (outcomes 2 and 3), and the newest
// receipts, at most 16 from each of the two tables of receipts. A smaller limit could omit an input that only earlier tries
// sent. For the table receipt, the order of the rows is that of the index receipt_try; see newestOfTry.
const runInputsSQL = `
	WITH killed AS (
		SELECT try_number, coalesce(requested_memory, 0) AS memory, coalesce(requested_cpu, 0) AS cpu
		FROM observation
		JOIN task ON task.id = observation.task
		WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
			AND run_id = $4 AND map_index = $5 AND try_number <= $6 AND outcome IN (2, 3)),
	received AS (
		(SELECT try_number, at, body -> 'Ask' AS ask, CASE WHEN ` + isPlanned + ` THEN task_limit END AS static, 0 AS name, NULL::bytea AS content
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
			AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number <= $6 AND run_id <> ''
		ORDER BY run_id DESC, map_index DESC, try_number DESC, at DESC
		LIMIT 16)
		UNION ALL
		(SELECT try_number, at, NULL, NULL, name, content
		FROM receipt_compact
		WHERE name = ` + nameOfTask + ` AND hashtext(run_id) # map_index = hashtext($4) # $5
			AND run_id BETWEEN $4 AND $4 AND map_index = $5 AND try_number <= $6 AND run_id <> ''
		ORDER BY run_id DESC, map_index DESC, try_number DESC, at DESC
		LIMIT 16))
	SELECT try_number, NULL::timestamptz AS at, memory, cpu, NULL::bigint, NULL::json, 0::bigint, 0, NULL::bytea
	FROM killed
	UNION ALL
	SELECT try_number, at, coalesce((ask -> 'Requested' ->> 'Memory')::bigint, 0), coalesce((ask -> 'Requested' ->> 'CPU')::float8, 0),
		coalesce((ask ->> 'MaxMemory')::bigint, 0), ask -> 'Features', coalesce(static, 0), name, content
	FROM received
	ORDER BY try_number DESC, at DESC NULLS FIRST`

// tryInputs are the inputs of one try, from the report of its kill or from a receipt.
type tryInputs struct {
	store.RunInputs
	number    int
	at        *time.Time    // of a receipt; nil for a report
	maxMemory *sizing.Bytes // the cap of a receipt; nil for a report, which has none
	name      int32         // id of the task in receipt_name, if the inputs are from the table receipt_compact; otherwise 0
	content   []byte        // of a compact receipt
}

// RunInputs returns the inputs of a run up to a try.
func (s *Store) RunInputs(ctx context.Context, try sizing.TryKey) (store.RunInputs, error) {
	rows, err := s.pool.Query(ctx, runInputsSQL, try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number)
	if err != nil {
		return store.RunInputs{}, wrapError("read the inputs of a run", err)
	}
	tries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t tryInputs, err error) {
		err = row.Scan(&t.number, &t.at, &t.Requested.Memory, &t.Requested.CPU, &t.maxMemory, &t.Features, &t.Static, &t.name, &t.content)
		return t, err
	})
	if err == nil {
		err = s.decodeInputs(ctx, tries)
	}
	var inputs store.RunInputs
	var maxMemory *sizing.Bytes
	for i := range tries {
		t := &tries[i]
		inputs.Requested.Memory = cmp.Or(inputs.Requested.Memory, t.Requested.Memory)
		inputs.Requested.CPU = cmp.Or(inputs.Requested.CPU, t.Requested.CPU)
		maxMemory = cmp.Or(maxMemory, t.maxMemory)
		inputs.Static = max(inputs.Static, t.Static)
		if t.number == try.Number && t.at != nil && t.at.After(inputs.At) {
			inputs.At = t.at.UTC()
		}
		if inputs.Features == nil {
			inputs.Features = t.Features
		}
	}
	if maxMemory != nil {
		inputs.MaxMemory = *maxMemory
	}
	return inputs, wrapError("read the inputs of a run", err)
}

func (s *Store) decodeInputs(ctx context.Context, tries []tryInputs) error {
	names := distinctNames(tries, func(t *tryInputs) int32 { return t.name })
	if len(names) == 0 {
		return nil
	}
	words, err := readWords(ctx, s.pool, names)
	if err != nil {
		return err
	}
	for i := range tries {
		t := &tries[i]
		if t.name == 0 {
			continue
		}
		ask, err := compactAsk(t.content, words[t.name])
		if err != nil {
			return malformed(err)
		}
		t.Requested, t.maxMemory, t.Features = ask.Requested, &ask.MaxMemory, ask.Features
	}
	return nil
}
