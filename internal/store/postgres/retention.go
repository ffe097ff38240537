package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// removeBatch bounds the rows of one transaction, because reports of the same task wait for it,
// some milliseconds.
const removeBatch = 1000

const oversizedSQL = `
	SELECT namespace, dag_id, task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE tally.observations > $1 AND (namespace, dag_id, task_id) > ($2, $3, $4)
	ORDER BY namespace, dag_id, task_id LIMIT $5`

// OversizedTasks lists the tasks with more observations than History reads.
func (s *Store) OversizedTasks(ctx context.Context, limits store.HistoryLimits, after sizing.TaskKey, limit int) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, oversizedSQL, withDefaults(limits).Total, after.Namespace, after.DAG, after.Task, max(limit, 0))
	if err != nil {
		return nil, wrapError("list oversized tasks", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k sizing.TaskKey, err error) {
		return k, row.Scan(&k.Namespace, &k.DAG, &k.Task)
	})
	return keys, wrapError("list oversized tasks", err)
}

// surplus bounds the rows that History no longer reads: older than the newest rows, with peaks
// below the highest, and with lots above the sample. lowest stays, because a profile reads it.
type surplus struct {
	task          int64
	newestAt      time.Time
	newestSeq     int64
	peak, peakSeq int64
	lot           int32
	lowest        int64 // seq of the lowest peak of a success; 0 if there is none
	learned       int64 // LastSeq of the active model
}

const learnedSQL = `
	SELECT model.last_seq
	FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.id = $1`

// lotSQL returns the highest lot of the sample; see thinnedSQL.
const lotSQL = `
	SELECT lot FROM observation
	WHERE task = $1 AND (at, seq) < ($2, $3) AND (peak IS NULL OR (peak, seq) < ($4, $5))
	ORDER BY lot OFFSET $6 - 1 LIMIT 1`

const lowestSQL = `
	SELECT coalesce((
		SELECT seq FROM observation
		WHERE task = $1 AND peak IS NOT NULL AND outcome = 1
		ORDER BY peak, seq LIMIT 1), 0)`

// readSurplus returns false if no row can be removed.
func readSurplus(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, limits store.HistoryLimits) (e surplus, ok bool, err error) {
	var h sizing.History
	if e.task, err = openHistory(ctx, tx, task, &h); err != nil || h.Total <= limits.Total {
		return e, false, err
	}
	err = tx.QueryRow(ctx, learnedSQL, e.task).Scan(&e.learned)
	if err == nil {
		err = tx.QueryRow(ctx, boundsSQL, e.task, limits.Recent, limits.High).Scan(&e.newestAt, &e.newestSeq, &e.peak, &e.peakSeq)
	}
	if err == nil {
		err = tx.QueryRow(ctx, lotSQL, e.task, e.newestAt, e.newestSeq, e.peak, e.peakSeq, limits.Total-limits.Recent-limits.High).Scan(&e.lot)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	if err == nil {
		err = tx.QueryRow(ctx, lowestSQL, e.task).Scan(&e.lowest)
	}
	return e, err == nil, err
}

// removeObservationsSQL scans the time index from the end of the last batch, so that it reads
// each remaining row once.
const removeObservationsSQL = `
	WITH surplus AS (
		SELECT at, seq FROM observation
		WHERE task = $1 AND at < $2 AND (at, seq) > ($3, $4) AND (at, seq) < ($5, $6)
			AND (peak IS NULL OR (peak, seq) < ($7, $8)) AND lot > $9 AND seq <> $10 AND seq <= $11
		ORDER BY at, seq LIMIT $12),
	removed AS (
		DELETE FROM observation USING surplus WHERE observation.task = $1 AND observation.seq = surplus.seq
		RETURNING observation.at, observation.seq)
	SELECT count(*) OVER (), at, seq FROM removed ORDER BY at DESC, seq DESC LIMIT 1`

// RemoveObservations removes rows that History no longer reads. The tally still counts them, so
// that the weights of the remaining rows do not change.
func (s *Store) RemoveObservations(ctx context.Context, task sizing.TaskKey, limits store.HistoryLimits, before time.Time, removed func(rows int) error) error {
	limits = withDefaults(limits)
	var e surplus
	var found bool
	err := s.inTx(ctx, "find old observations", snapshot, func(tx pgx.Tx) (err error) {
		e, found, err = readSurplus(ctx, tx, task, limits)
		return err
	})
	if err != nil || !found {
		return err
	}
	var at time.Time
	seq := int64(math.MinInt64)
	return inBatches(removed, func() (rows int, err error) {
		err = s.inTx(ctx, "remove old observations", readWrite, func(tx pgx.Tx) error {
			rows = 0
			if id, err := lockTally(ctx, tx, task); err != nil || id != e.task {
				return err // the name now belongs to another task
			}
			if _, err := tx.Exec(ctx, preferIndexesSQL); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, removeObservationsSQL, e.task, before, at, seq, e.newestAt, e.newestSeq,
				e.peak, e.peakSeq, e.lot, e.lowest, e.learned, removeBatch).Scan(&rows, &at, &seq)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		return rows, err
	})
}

// inBatches calls remove until it removes less than a full batch.
func inBatches(removed func(rows int) error, remove func() (rows int, err error)) error {
	for {
		rows, err := remove()
		if err != nil || rows == 0 {
			return err
		}
		if err := removed(rows); err != nil || rows < removeBatch {
			return err
		}
	}
}

const removeRunsSQL = `
	DELETE FROM experiment
	WHERE id = ANY (ARRAY(
		SELECT id FROM experiment WHERE name IS NULL AND created_at < $1 ORDER BY id LIMIT $2))`

// RemoveRuns removes unnamed experiments with their models.
func (s *Store) RemoveRuns(ctx context.Context, before time.Time, removed func(rows int) error) error {
	return s.removeAll(ctx, "remove old experiments", removed, removeRunsSQL, before)
}

func (s *Store) removeAll(ctx context.Context, operation string, removed func(rows int) error, sql string, before any) error {
	return inBatches(removed, func() (int, error) {
		tag, err := s.pool.Exec(ctx, sql, before, removeBatch)
		return int(tag.RowsAffected()), wrapError(operation, err)
	})
}
