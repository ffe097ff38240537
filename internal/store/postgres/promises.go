package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// launchReceiptFirst sorts the receipts of a reported try so that the receipt in force at the
// launch comes first; see promisedAtLaunch.
const launchReceiptFirst = `newest.prediction_id IS NOT DISTINCT FROM observation.prediction_id DESC,
			newest.at <= observation.at DESC,
			CASE WHEN newest.at <= observation.at THEN newest.at END DESC,
			newest.at`

// realisedSQL counts the reported first tries with a promise, and the OOM kills (outcomes 2 and 3) among them, and sums
// their promises. It leaves out kills below the static grant of a memory plan; see isCompared.
const realisedSQL = `
	WITH newest AS (
		(SELECT prediction_id, run_id, map_index, try_number, promised, task_limit, at
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3` + notReproduced + `
		ORDER BY at DESC LIMIT $4)
		UNION ALL
		(SELECT prediction_id::text, run_id, map_index, try_number, promised, task_limit, at
		FROM receipt_compact
		WHERE name = ` + nameOfTask + notReproduced + `
		ORDER BY at DESC LIMIT $4)
		ORDER BY at DESC LIMIT $4),
	first_try AS (
		SELECT DISTINCT ON (newest.run_id, newest.map_index) newest.prediction_id, promised, task_limit, outcome, allocated_memory
		FROM newest
		JOIN observation ON observation.run_id = newest.run_id AND observation.map_index = newest.map_index AND observation.try_number = 1
		JOIN task ON task.id = observation.task
		WHERE newest.run_id <> '' AND newest.try_number = 1
			AND task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		ORDER BY newest.run_id, newest.map_index, ` + launchReceiptFirst + `)
	SELECT count(*), count(*) FILTER (WHERE outcome IN (2, 3)), coalesce(sum(promised), 0)
	FROM first_try
	WHERE promised IS NOT NULL` + isCompared

// Realised compares promised risks with outcomes. The field Promised of the result sums only the risks of reported
// tries, so that it is comparable with the field Killed.
func (s *Store) Realised(ctx context.Context, task sizing.TaskKey, limit int) (sizing.RealisedRisk, error) {
	var r sizing.RealisedRisk
	err := s.pool.QueryRow(ctx, realisedSQL, task.Namespace, task.DAG, task.Task, max(limit, 0)).
		Scan(&r.Tries, &r.Killed, &r.Promised)
	return r, wrapError("compare promised risks", err)
}

const countUnreportedSQL = `
	WITH ids AS (
		(SELECT prediction_id, namespace, dag_id, task_id, run_id, map_index
		FROM receipt
		WHERE prediction_id < $1 AND run_id <> '' AND try_number = 1
		ORDER BY prediction_id DESC LIMIT $2)
		UNION ALL
		SELECT prediction_id::text, namespace, dag_id, task_id, run_id, map_index
		FROM (
			SELECT prediction_id, name, run_id, map_index
			FROM receipt_compact
			WHERE prediction_id < $3 AND run_id <> '' AND try_number = 1
			ORDER BY prediction_id DESC LIMIT $2) AS compact
		JOIN receipt_name ON receipt_name.id = name),
	newest AS (SELECT * FROM ids ORDER BY prediction_id DESC LIMIT $2),
	first_try AS (SELECT DISTINCT namespace, dag_id, task_id, run_id, map_index FROM newest)
	SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
		SELECT FROM observation
		WHERE observation.task = (SELECT id FROM task WHERE namespace = first_try.namespace AND dag_id = first_try.dag_id AND task_id = first_try.task_id)
			AND observation.run_id = first_try.run_id AND observation.map_index = first_try.map_index AND try_number = 1))
	FROM first_try`

// CountUnreported counts the tries of the newest receipts of first tries, and how many of them are not reported.
func (s *Store) CountUnreported(ctx context.Context, before string, limit int) (tries, unreported int, err error) {
	err = s.pool.QueryRow(ctx, countUnreportedSQL, before, max(limit, 0), uuidBound(before)).Scan(&tries, &unreported)
	return tries, unreported, wrapError("count unreported tries", err)
}

// promisesSQL returns the successful (outcome 1) and the OOM-killed (2, 3) first tries that have a promise, a
// limit and a model version that is not withdrawn, except kills below the static grant of a memory plan (see
// isCompared). It reads the receipts since watched_from: the last time at which a person activated a
// version or a version was rolled back.
const promisesSQL = `
	WITH watched AS (
		SELECT id, coalesce(watched_from, '-infinity') AS since, coalesce(withdrawn, '{}') AS withdrawn
		FROM task
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3),
	newest AS (
		(SELECT prediction_id, run_id, map_index, promised, task_limit, model_version, told, at
		FROM receipt
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND at >= (SELECT since FROM watched)
			AND run_id <> '' AND try_number = 1` + notReproduced + `
		ORDER BY at DESC LIMIT $4)
		UNION ALL
		(SELECT prediction_id::text, run_id, map_index, promised, task_limit, model_version, told, at
		FROM receipt_compact
		WHERE name = ` + nameOfTask + ` AND at >= (SELECT since FROM watched)
			AND run_id <> '' AND try_number = 1` + notReproduced + `
		ORDER BY at DESC LIMIT $4)
		ORDER BY at DESC LIMIT $4),
	first_try AS (
		SELECT DISTINCT ON (newest.run_id, newest.map_index) withdrawn, newest.run_id, newest.map_index,
			newest.prediction_id, allocated_memory,
			promised, task_limit, model_version, told, outcome, seq
		FROM watched
		CROSS JOIN newest
		JOIN observation ON observation.task = watched.id AND try_number = 1 AND outcome IN (1, 2, 3)
			AND observation.run_id = newest.run_id AND observation.map_index = newest.map_index
		ORDER BY newest.run_id, newest.map_index, ` + launchReceiptFirst + `)
	SELECT model_version, told, run_id, map_index, task_limit, promised, outcome <> 1
	FROM first_try
	WHERE promised IS NOT NULL AND task_limit IS NOT NULL AND model_version IS NOT NULL AND model_version <> ALL (withdrawn)` + isCompared + `
	ORDER BY seq`

// Promises lists the promised risks of first tries with their outcomes; promisesSQL selects the tries.
func (s *Store) Promises(ctx context.Context, task sizing.TaskKey, limit int) ([]sizing.Promise, error) {
	rows, err := s.pool.Query(ctx, promisesSQL, task.Namespace, task.DAG, task.Task, max(limit, 0))
	if err != nil {
		return nil, wrapError("read promises", err)
	}
	promises, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p sizing.Promise, err error) {
		err = row.Scan(&p.Version, &p.GuardVersion, &p.RunID, &p.MapIndex, &p.Granted, &p.Risk, &p.Killed)
		return p, err
	})
	return promises, wrapError("read promises", err)
}
