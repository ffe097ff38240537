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

// removeBatch bounds the rows of one transaction, because reports of the same task wait for the transaction. This number of
// rows takes a few milliseconds.
const removeBatch = 1000

const oversizedSQL = `
	SELECT namespace, dag_id, task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE tally.observations > $1 AND (namespace, dag_id, task_id) > ($2, $3, $4)
	ORDER BY namespace, dag_id, task_id LIMIT $5`

// OversizedTasks lists the tasks with more observations than History reads, after the key `after`.
func (s *Store) OversizedTasks(ctx context.Context, limits store.HistoryLimits, after sizing.TaskKey, limit int) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, oversizedSQL, withDefaults(limits).Total, after.Namespace, after.DAG, after.Task, max(limit, 0))
	if err != nil {
		return nil, wrapError("list oversized tasks", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k sizing.TaskKey, err error) {
		err = row.Scan(&k.Namespace, &k.DAG, &k.Task)
		return k, err
	})
	return keys, wrapError("list oversized tasks", err)
}

// surplus bounds the rows of a task that History no longer reads: they are older than the newest rows,
// their peaks are below the highest, and their sample ranks (column lot) are above those of the sample. The row
// whose seq is `lowest` stays, because a profile reads it. Rows whose seq is above `learned` stay, because the active model
// has not learned them.
type surplus struct {
	task          int64
	newestAt      time.Time // the oldest of the newest rows, with newestSeq
	newestSeq     int64
	peak, peakSeq int64 // the lowest of the highest peaks in bytes, and the seq of its row
	sampleRank    int32 // the highest rank of the sample
	lowest        int64 // seq of the lowest peak of a success; 0 if there is none
	learned       int64 // LastSeq of the active model
}

const learnedSQL = `
	SELECT model.last_seq
	FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.id = $1`

// sampleRankSQL returns the highest sample rank of the sample; see limitedSQL.
const sampleRankSQL = `
	SELECT lot FROM observation
	WHERE task = $1 AND (at, seq) < ($2, $3) AND (peak IS NULL OR (peak, seq) < ($4, $5))
	ORDER BY lot OFFSET $6 - 1 LIMIT 1`

// lowestSQL returns the seq of the success (outcome 1) with the lowest peak; 0 if there is none.
const lowestSQL = `
	SELECT coalesce((
		SELECT seq FROM observation
		WHERE task = $1 AND peak IS NOT NULL AND outcome = 1
		ORDER BY peak, seq LIMIT 1), 0)`

// readSurplus returns the bounds of the rows that can be removed; ok is false if there are no such rows.
func readSurplus(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, limits store.HistoryLimits) (bounds surplus, ok bool, err error) {
	var h sizing.History
	if bounds.task, err = openHistory(ctx, tx, task, &h); err != nil || h.Total <= limits.Total {
		return bounds, false, err
	}
	err = tx.QueryRow(ctx, learnedSQL, bounds.task).Scan(&bounds.learned)
	if err == nil {
		err = tx.QueryRow(ctx, boundsSQL, bounds.task, limits.Recent, limits.High).Scan(&bounds.newestAt, &bounds.newestSeq, &bounds.peak, &bounds.peakSeq)
	}
	if err == nil {
		err = tx.QueryRow(ctx, sampleRankSQL, bounds.task, bounds.newestAt, bounds.newestSeq, bounds.peak, bounds.peakSeq, limits.Total-limits.Recent-limits.High).Scan(&bounds.sampleRank)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return bounds, false, nil
	}
	if err == nil {
		err = tx.QueryRow(ctx, lowestSQL, bounds.task).Scan(&bounds.lowest)
	}
	return bounds, err == nil, err
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

// keepSavingsSQL makes the trigger of the savings ledger leave the deleted rows in the sums.
const keepSavingsSQL = `SET LOCAL loadaware.retention = 'on'`

// RemoveObservations removes the rows that are older than `before` and that History no longer reads; surplus says which
// of them stay. The tally still counts the removed rows, so that the weights of the remaining rows do not change.
func (s *Store) RemoveObservations(ctx context.Context, task sizing.TaskKey, limits store.HistoryLimits, before time.Time, removed func(rows int) error) error {
	limits = withDefaults(limits)
	var bounds surplus
	var found bool
	err := s.inTx(ctx, "find old observations", snapshot, func(tx pgx.Tx) (err error) {
		bounds, found, err = readSurplus(ctx, tx, task, limits)
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
			if id, err := lockTally(ctx, tx, task); err != nil || id != bounds.task {
				return err // the name now belongs to another task
			}
			if _, err := tx.Exec(ctx, preferIndexesSQL); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, keepSavingsSQL); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, removeObservationsSQL, bounds.task, before, at, seq, bounds.newestAt, bounds.newestSeq,
				bounds.peak, bounds.peakSeq, bounds.sampleRank, bounds.lowest, bounds.learned, removeBatch).Scan(&rows, &at, &seq)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		return rows, err
	})
}

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

const removeExperimentsSQL = `
	DELETE FROM experiment
	WHERE id = ANY (ARRAY(
		SELECT id FROM experiment WHERE name IS NULL AND created_at < $1 ORDER BY id LIMIT $2))`

// RemoveExperiments removes the unnamed experiments created before a time, with their models.
func (s *Store) RemoveExperiments(ctx context.Context, before time.Time, removed func(rows int) error) error {
	return s.removeAll(ctx, "remove old experiments", removed, removeExperimentsSQL, before)
}

func (s *Store) removeAll(ctx context.Context, operation string, removed func(rows int) error, sql string, before any) error {
	return inBatches(removed, func() (int, error) {
		tag, err := s.pool.Exec(ctx, sql, before, removeBatch)
		return int(tag.RowsAffected()), wrapError(operation, err)
	})
}
