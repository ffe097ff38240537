package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// insertDetailedSQL replaces a stored series only by a series with shorter steps. So a detailed series that arrives after
// the usage series of the same try replaces the usage series. The comparison of seq is >= because the oldest stored series
// may be replaced, too.
const insertDetailedSQL = `
	INSERT INTO detailed_series (task, seq, step_us, content)
	SELECT $1::bigint, $2::bigint, $3::bigint, $4::bytea
	WHERE $2::bigint >= coalesce((SELECT seq FROM detailed_series WHERE task = $1::bigint ORDER BY seq DESC OFFSET $5 - 1 LIMIT 1), 0)
	ON CONFLICT (task, seq) DO UPDATE SET step_us = excluded.step_us, content = excluded.content
		WHERE excluded.step_us < detailed_series.step_us`

const insertExecutedSQL = `
	INSERT INTO executed_plan (task, seq, version, mode, followed, body)
	SELECT $1::bigint, $2::bigint, $3::integer, $4::text, $5::boolean, $6::jsonb
	WHERE $2::bigint > coalesce((SELECT seq FROM executed_plan WHERE task = $1::bigint ORDER BY seq DESC OFFSET $7 - 1 LIMIT 1), 0)
	ON CONFLICT DO NOTHING`

// insertMeanSQL does the same as insertExecutedSQL, and also stores the mean limit of the try, for the ledger of savings.
const insertMeanSQL = `
	WITH executed AS (` + insertExecutedSQL + `
		RETURNING task, seq)
	UPDATE observation SET mean_allocated = $8
	FROM executed WHERE observation.task = executed.task AND observation.seq = executed.seq`

// pruneDetailedSQL and pruneExecutedSQL keep only the $2 rows of a task with the highest seq. If $2 rows are stored, the inserts
// above omit a row with a lower seq than all of them. Otherwise a repeated report would restore its deleted row.
const pruneDetailedSQL = `
	DELETE FROM detailed_series
	WHERE task = $1 AND seq <= (SELECT seq FROM detailed_series WHERE task = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1)`

const pruneExecutedSQL = `
	DELETE FROM executed_plan
	WHERE task = $1 AND seq <= (SELECT seq FROM executed_plan WHERE task = $1 ORDER BY seq DESC OFFSET $2 LIMIT 1)`

// insertPlans stores the executed plans of reports, and the series from which plans are learned. It keeps a stored plan, and
// a stored series unless the new series has shorter steps. It does not make the tasks due, because trainings of models read
// neither.
func insertPlans(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.RecordResult) error {
	batch := &pgx.Batch{}
	changed := map[int64]bool{} // ids of tasks
	for i := range reports {
		r, result := &reports[i], &recorded[i]
		if result.Err != nil || result.Seq == 0 || r.PlanSeries() == nil && r.Executed == nil {
			continue
		}
		amend := func(tag pgconn.CommandTag) error {
			if result.Duplicate && tag.RowsAffected() > 0 {
				result.Duplicate, result.Amended = false, true
			}
			return nil
		}
		if s := r.PlanSeries(); s != nil {
			batch.Queue(insertDetailedSQL, r.task.id, result.Seq, s.Step.Microseconds(), encodeSeries(s), store.MaxDetailedRuns).Exec(amend)
		}
		if p := r.Executed; p != nil {
			row := []any{r.task.id, result.Seq, p.Version, string(p.Mode), p.Followed, p, store.MaxExecutedPlans}
			if mean := p.MeanLimit(r.Allocated.Memory, r.Duration); mean > 0 {
				batch.Queue(insertMeanSQL, append(row, int64(mean))...).Exec(amend)
			} else {
				batch.Queue(insertExecutedSQL, row...).Exec(amend)
			}
		}
		changed[r.task.id] = true
	}
	for task := range changed {
		batch.Queue(pruneDetailedSQL, task, store.MaxDetailedRuns)
		batch.Queue(pruneExecutedSQL, task, store.MaxExecutedPlans)
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

const plannableSQL = `
	SELECT namespace, dag_id, task_id
	FROM task LEFT JOIN task_plan ON task_plan.task = task.id
	WHERE task.id IN (SELECT task FROM detailed_series UNION SELECT task FROM executed_plan)
		AND (task_plan.format IS DISTINCT FROM $1
			OR EXISTS (SELECT FROM detailed_series AS s WHERE s.task = task.id AND s.id > task_plan.series)
			OR EXISTS (
				SELECT FROM executed_plan AS p
				JOIN observation ON observation.task = p.task AND observation.seq = p.seq
				WHERE p.task = task.id AND p.id > task_plan.plans` + countedPlan + `))
	ORDER BY namespace, dag_id, task_id`

// PlannableTasks lists the tasks whose plan is missing, of another format, or older than their series or outcomes.
func (s *Store) PlannableTasks(ctx context.Context, format int) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, plannableSQL, format)
	if err != nil {
		return nil, wrapError("list tasks to plan", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k sizing.TaskKey, err error) {
		err = row.Scan(&k.Namespace, &k.DAG, &k.Task)
		return k, err
	})
	return keys, wrapError("list tasks to plan", err)
}

// grantedToFirst is the newest limit in bytes that the first try of a run was granted; null without a
// receipt. It needs the namespace, DAG and task id as $2 to $4.
const grantedToFirst = `(SELECT task_limit FROM (
			(SELECT task_limit, receipt.at FROM receipt
			WHERE namespace = $2 AND dag_id = $3 AND task_id = $4
				AND receipt.run_id <> '' AND receipt.run_id BETWEEN observation.run_id AND observation.run_id
				AND receipt.map_index = observation.map_index AND receipt.try_number = 1)
			UNION ALL
			(SELECT task_limit, receipt.at FROM receipt_compact AS receipt
			WHERE receipt.name = ` + nameOfHistory + ` AND hashtext(receipt.run_id) # receipt.map_index
					BETWEEN hashtext(observation.run_id) # observation.map_index AND hashtext(observation.run_id) # observation.map_index
				AND receipt.run_id <> '' AND receipt.run_id BETWEEN observation.run_id AND observation.run_id
				AND receipt.map_index = observation.map_index AND receipt.try_number = 1)) AS granted
		ORDER BY at DESC LIMIT 1)`

// detailedRunsSQL reads the successes (outcome 1) with a stored series.
const detailedRunsSQL = `
	SELECT s.id, run_id, map_index, try_number, step_us, content,
		coalesce(` + grantedToFirst + `, allocated_memory, requested_memory, 0), coalesce(allocated_cpu, requested_cpu, 0)
	FROM detailed_series AS s
	JOIN observation ON observation.task = s.task AND observation.seq = s.seq
	WHERE s.task = (SELECT id FROM task WHERE namespace = $2 AND dag_id = $3 AND task_id = $4) AND s.id > $1 AND outcome = 1
	ORDER BY s.id`

// DetailedRuns returns the successes with a stored series whose id is above `after`, in order of arrival.
func (s *Store) DetailedRuns(ctx context.Context, task sizing.TaskKey, after int64) ([]store.DetailedRun, error) {
	rows, err := s.pool.Query(ctx, detailedRunsSQL, after, task.Namespace, task.DAG, task.Task)
	if err != nil {
		return nil, wrapError("read detailed series", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r store.DetailedRun, err error) {
		var micros int64
		var content []byte
		if err = row.Scan(&r.ID, &r.RunID, &r.MapIndex, &r.Try, &micros, &content, &r.Static.Memory, &r.Static.CPU); err != nil {
			return r, err
		}
		r.Series, err = decodeSeries(time.Duration(micros)*time.Microsecond, content)
		return r, err
	})
	return runs, wrapError("read detailed series", err)
}

// countedPlan selects the tries that followed a memory plan and ended with a success (outcome 1) or an OOM kill
// (2, 3).
const countedPlan = `
		AND followed AND mode = 'memory' AND outcome IN (1, 2, 3)`

const planOutcomesSQL = `
	SELECT p.id, outcome IN (2, 3)
	FROM executed_plan AS p
	JOIN observation ON observation.task = p.task AND observation.seq = p.seq
	WHERE p.task = (SELECT id FROM task WHERE namespace = $2 AND dag_id = $3 AND task_id = $4) AND p.id > $1
` + countedPlan + `
	ORDER BY p.id`

// PlanOutcomes returns the outcomes of the tries that countedPlan selects and whose ids are above `after`, in order of
// arrival.
func (s *Store) PlanOutcomes(ctx context.Context, task sizing.TaskKey, after int64) ([]store.PlanOutcome, error) {
	rows, err := s.pool.Query(ctx, planOutcomesSQL, after, task.Namespace, task.DAG, task.Task)
	if err != nil {
		return nil, wrapError("read the outcomes of plans", err)
	}
	outcomes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o store.PlanOutcome, err error) {
		err = row.Scan(&o.ID, &o.Killed)
		return o, err
	})
	return outcomes, wrapError("read the outcomes of plans", err)
}

const insertPlanSQL = `
	INSERT INTO task_plan (task, version, format, series, plans, learned_at, content) VALUES ($1, 1, $2, $3, $4, $5, $6)
	ON CONFLICT DO NOTHING`

const updatePlanSQL = `
	UPDATE task_plan SET version = version + 1, format = $2, series = $3, plans = $4, learned_at = $5, content = $6
	WHERE task = $1 AND version = $7`

const insertPoolSQL = `
	INSERT INTO plan_pool (namespace, version, format, content) VALUES ($1, 1, $2, $3)
	ON CONFLICT DO NOTHING`

const updatePoolSQL = `
	UPDATE plan_pool SET version = version + 1, format = $2, content = $3
	WHERE namespace = $1 AND version = $4`

const plannedTaskSQL = `
	SELECT id FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR KEY SHARE`

// SavePlan replaces the plan of a task and the pool of its namespace together, or returns Conflict and replaces neither.
func (s *Store) SavePlan(ctx context.Context, p store.TaskPlan, pool store.PlanPool) error {
	return s.inTx(ctx, "save a plan", readWrite, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, plannedTaskSQL, p.Task.Namespace, p.Task.DAG, p.Task.Task).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return unknownTask(p.Task)
		}
		if err != nil {
			return err
		}
		query, args := insertPlanSQL, []any{id, p.Format, p.Series, p.Plans, p.LearnedAt, p.Content}
		if p.Version > 0 {
			query, args = updatePlanSQL, append(args, p.Version)
		}
		if err := replaceOne(ctx, tx, "plan", p.Task.String(), p.Version, query, args); err != nil {
			return err
		}
		query, args = insertPoolSQL, []any{pool.Namespace, pool.Format, pool.Content}
		if pool.Version > 0 {
			query, args = updatePoolSQL, append(args, pool.Version)
		}
		return replaceOne(ctx, tx, "pool of plans", pool.Namespace, pool.Version, query, args)
	})
}

func replaceOne(ctx context.Context, tx pgx.Tx, kind, name string, version int, query string, args []any) error {
	tag, err := tx.Exec(ctx, query, args...)
	if err == nil && tag.RowsAffected() == 0 {
		return sizing.Errorf(sizing.Conflict, "save a plan: version %d of the %s of %s is not the newest; learn from the newest version", version, kind, name)
	}
	return err
}

const taskPlanSQL = `
	SELECT version, format, series, plans, learned_at, CASE WHEN version <> $4 THEN content END
	FROM task JOIN task_plan ON task_plan.task = task.id
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

// TaskPlan returns the plan of a task, without content if its version equals `known`.
func (s *Store) TaskPlan(ctx context.Context, task sizing.TaskKey, known int) (store.TaskPlan, error) {
	p := store.TaskPlan{Task: task}
	err := s.pool.QueryRow(ctx, taskPlanSQL, task.Namespace, task.DAG, task.Task, known).
		Scan(&p.Version, &p.Format, &p.Series, &p.Plans, &p.LearnedAt, &p.Content)
	p.LearnedAt = p.LearnedAt.UTC()
	return p, orNotFound("read a plan", err, "nothing was learned about the runs of %s yet: report its successes with detailed_series, or with usage_series of ten minutes or more", task)
}

const plannedTasksSQL = `
	SELECT namespace, dag_id, task_id, version, format, series, plans, learned_at
	FROM task JOIN task_plan ON task_plan.task = task.id
	WHERE $1 IN ('', namespace)
	ORDER BY namespace, dag_id, task_id`

// PlannedTasks lists the tasks with a plan, by name.
func (s *Store) PlannedTasks(ctx context.Context, namespace string) ([]store.TaskPlan, error) {
	rows, err := s.pool.Query(ctx, plannedTasksSQL, namespace)
	if err != nil {
		return nil, wrapError("list the plans", err)
	}
	plans, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p store.TaskPlan, err error) {
		err = row.Scan(&p.Task.Namespace, &p.Task.DAG, &p.Task.Task, &p.Version, &p.Format, &p.Series, &p.Plans, &p.LearnedAt)
		p.LearnedAt = p.LearnedAt.UTC()
		return p, err
	})
	return plans, wrapError("list the plans", err)
}

const planPoolSQL = `
	SELECT version, format, CASE WHEN version <> $2 THEN content END
	FROM plan_pool WHERE namespace = $1`

// PlanPool returns the pool of a namespace, without content if its version equals `known`.
func (s *Store) PlanPool(ctx context.Context, namespace string, known int) (store.PlanPool, error) {
	p := store.PlanPool{Namespace: namespace}
	err := s.pool.QueryRow(ctx, planPoolSQL, namespace, known).Scan(&p.Version, &p.Format, &p.Content)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil
	}
	return p, wrapError("read the pool of plans", err)
}
