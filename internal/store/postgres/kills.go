package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// killsSQL reads the OOM kills (outcomes 2 and 3) of a run and map index.
const killsSQL = `
	SELECT try_number, coalesce(allocated_memory, memory_max, 0), outcome, coalesce(greatest(memory_max, memory_sampled), 0), at
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND run_id = $4 AND map_index = $5 AND outcome IN (2, 3)
	ORDER BY at, try_number`

// Kills lists the OOM-killed tries of one (run, map index), oldest first.
func (s *Store) Kills(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) ([]store.Kill, error) {
	rows, err := s.pool.Query(ctx, killsSQL, task.Namespace, task.DAG, task.Task, runID, mapIndex)
	if err != nil {
		return nil, wrapError("list kills", err)
	}
	kills, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k store.Kill, err error) {
		err = row.Scan(&k.Try, &k.Allocated, &k.Outcome, &k.Peak, &k.At)
		k.At = k.At.UTC()
		return k, err
	})
	return kills, wrapError("list kills", err)
}

// killsAtCapSQL omits a kill if a later try of its run got more memory, because the kill was then below the
// cap. It also omits reproduced runs, which say nothing about the current runs. Reports of a batch may have the same time;
// seq is their order.
const killsAtCapSQL = `
	SELECT run_id, map_index, try_number
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND outcome IN (2, 3) AND allocated_memory BETWEEN $4 AND $5` + notReproduced + `
		AND NOT EXISTS (
			SELECT FROM observation AS later
			WHERE later.task = task.id AND later.run_id = observation.run_id AND later.map_index = observation.map_index
				AND later.try_number > observation.try_number AND later.allocated_memory > observation.allocated_memory)
		AND coalesce((at, seq) > (
			SELECT success.at, success.seq FROM observation AS success
			WHERE success.task = task.id AND success.outcome = 1` + notReproduced + `
			ORDER BY success.at DESC, success.seq DESC LIMIT 1), true)
	ORDER BY at DESC, seq DESC LIMIT $6`

const maxKillsAtCap = 1000

// KillsAtCap lists the OOM kills with an allocation from `least` to `most` since the last success of the task, newest first;
// killsAtCapSQL says which kills it omits.
func (s *Store) KillsAtCap(ctx context.Context, task sizing.TaskKey, least, most sizing.Bytes) ([]sizing.TryKey, error) {
	rows, err := s.pool.Query(ctx, killsAtCapSQL, task.Namespace, task.DAG, task.Task, least, most, maxKillsAtCap)
	if err != nil {
		return nil, wrapError("list kills at the cap", err)
	}
	kills, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sizing.TryKey, error) {
		try := sizing.TryKey{TaskKey: task}
		return try, row.Scan(&try.RunID, &try.MapIndex, &try.Number)
	})
	return kills, wrapError("list kills at the cap", err)
}

// schedulingFailuresSQL reads the unschedulable tries (outcome 7) of a task.
const schedulingFailuresSQL = `
	SELECT allocated_memory, at
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND at >= $4 AND outcome = 7 AND allocated_memory IS NOT NULL
	ORDER BY at DESC, seq DESC LIMIT $5`

// SchedulingFailures lists the known allocations of the newest unschedulable tries, oldest first.
func (s *Store) SchedulingFailures(ctx context.Context, task sizing.TaskKey, since time.Time, limit int) ([]store.SchedulingFailure, error) {
	rows, err := s.pool.Query(ctx, schedulingFailuresSQL, task.Namespace, task.DAG, task.Task, since, max(limit, 0))
	if err != nil {
		return nil, wrapError("list scheduling failures", err)
	}
	failures, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f store.SchedulingFailure, err error) {
		err = row.Scan(&f.Memory, &f.At)
		f.At = f.At.UTC()
		return f, err
	})
	slices.Reverse(failures)
	return failures, wrapError("list scheduling failures", err)
}
