package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// grantedTriesSQL reads the newest answers with the outcomes of their tries. The column before_guard is the
// promised risk without the guard's factor: guard[4] is the factor and guard[2] the risk that the experts
// promised; see taskmodel.BeforeGuard. For compact receipts the column equals promised until decodeGranted
// corrects it. guard[17] is the run score, see taskmodel.RunScore. The statement reads the large body only of retries, of
// tries that are not reported, and of kills below the limit.
const grantedTriesSQL = `
	WITH newest AS (
		(SELECT run_id, map_index, try_number, task_limit, at, prediction_id, body, promised,
			CASE WHEN guard[4] > 1 THEN least(promised, guard[2]) ELSE promised END AS before_guard,
			coalesce(guard[17], 0) AS run_score,
			CASE WHEN try_number > 1 THEN
				coalesce(body -> 'Allocation' ->> 'Source', '') = 'lift' AND body -> 'Allocation' ->> 'Shadow' IS NULL
			ELSE false END AS lifted, 0 AS name, NULL::bytea AS content
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND at >= $4 AND run_id <> ''` + notReproduced + `
		ORDER BY at DESC LIMIT $5)
		UNION ALL
		(SELECT run_id, map_index, try_number, task_limit, at, prediction_id::text, NULL, promised, promised, 0, false, name, content
		FROM receipt_compact
		WHERE name = ` + nameOfTask + ` AND at >= $4 AND run_id <> ''` + notReproduced + `
		ORDER BY at DESC LIMIT $5)
		ORDER BY at DESC LIMIT $5)
	SELECT newest.run_id, newest.map_index, newest.try_number, promised, before_guard, newest.run_score, coalesce(task_limit, 0), newest.at, lifted, coalesce(outcome, 0),
		CASE WHEN outcome IS NULL THEN body -> 'Ask' -> 'Features' END,
		CASE WHEN outcome IS NULL OR ` + isKilledBelow + ` THEN ` + isPlanned + ` ELSE false END, name, content
	FROM newest
	LEFT JOIN task ON task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	LEFT JOIN observation ON observation.task = task.id AND observation.run_id = newest.run_id
		AND observation.map_index = newest.map_index AND observation.try_number = newest.try_number
	ORDER BY newest.at, newest.prediction_id`

// grantedTry is a GrantedTry with the undecoded columns of the compact form. The field `name` is the id of the task
// in receipt_name, and 0 in the JSON form.
type grantedTry struct {
	store.GrantedTry
	name    int32
	content []byte
}

// GrantedTries lists the newest answers to tries since a time, oldest first, with the outcomes of the tries.
func (s *Store) GrantedTries(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.GrantedTry, error) {
	rows, err := s.pool.Query(ctx, grantedTriesSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, wrapError("list granted tries", err)
	}
	read, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g grantedTry, err error) {
		err = row.Scan(&g.RunID, &g.MapIndex, &g.Try, &g.Promised, &g.BeforeGuard, &g.RunScore, &g.Limit, &g.At, &g.Lifted, &g.Outcome, &g.Features, &g.Planned, &g.name, &g.content)
		g.At = g.At.UTC()
		return g, err
	})
	if err == nil {
		err = s.decodeGranted(ctx, read)
	}
	if err != nil {
		return nil, wrapError("list granted tries", err)
	}
	granted := make([]store.GrantedTry, len(read))
	for i := range read {
		granted[i] = read[i].GrantedTry
	}
	return granted, nil
}

// decodeGranted sets, for the compact receipts, the fields that grantedTriesSQL reads only from JSON receipts.
func (s *Store) decodeGranted(ctx context.Context, granted []grantedTry) error {
	names := distinctNames(granted, func(g *grantedTry) int32 { return g.name })
	if len(names) == 0 {
		return nil
	}
	words, err := readWords(ctx, s.pool, names)
	if err != nil {
		return err
	}
	for i := range granted {
		g := &granted[i]
		if g.name == 0 {
			continue
		}
		var r sizing.Receipt
		a := &r.Allocation
		a.Risk.Promised, a.Memory.Limit = g.Promised, g.Limit
		if err := decodeCompact(g.content, words[g.name], &r); err != nil {
			return malformed(err)
		}
		params := a.Guard.Params
		if g.Promised != nil && len(params) > 3 && params[3] > 1 {
			before := min(*g.Promised, params[1])
			g.BeforeGuard = &before
		}
		if len(params) > 16 {
			g.RunScore = params[16]
		}
		g.Lifted = g.Try > 1 && a.Source == sizing.FromLift && a.Shadow == nil
		if g.Outcome == sizing.UnknownOutcome {
			g.Features = r.Ask.Features
		}
	}
	return nil
}
