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

// removedAtOnce bounds the rows of one transaction: reports of the same task wait for
// it, some milliseconds.
const removedAtOnce = 1000

const crowdedSQL = `
	SELECT namespace, dag_id, task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE tally.observations > $1 AND (namespace, dag_id, task_id) > ($2, $3, $4)
	ORDER BY namespace, dag_id, task_id LIMIT $5`

// Crowded lists tasks of which more was told than is kept whole.
func (s *Store) Crowded(ctx context.Context, keep store.Keep, after sizing.TaskKey, limit int) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, crowdedSQL, withDefaults(keep).Total, after.Namespace, after.DAG, after.Task, max(limit, 0))
	if err != nil {
		return nil, explain("list tasks of many observations", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k sizing.TaskKey, err error) {
		return k, row.Scan(&k.Namespace, &k.DAG, &k.Task)
	})
	return keys, explain("list tasks of many observations", err)
}

// surplus is what History reads no more: rows older than the newest, lower than the
// highest, and of a higher lot than the sample. A profile reads the lowest peak, too.
type surplus struct {
	task          int64
	newestAt      time.Time
	newestSeq     int64
	peak, peakSeq int64
	lot           int32
	lowest        int64 // seq of the lowest peak of a success; 0: there is none
	learned       int64 // seq of the newest row that the active model learned
}

const learnedSQL = `
	SELECT model.last_seq
	FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.id = $1`

// lotSQL finds the highest lot of the thinned sample; see thinnedSQL.
const lotSQL = `
	SELECT lot FROM observation
	WHERE task = $1 AND (at, seq) < ($2, $3) AND (peak IS NULL OR (peak, seq) < ($4, $5))
	ORDER BY lot OFFSET $6 - 1 LIMIT 1`

const lowestSQL = `
	SELECT coalesce((
		SELECT seq FROM observation
		WHERE task = $1 AND peak IS NOT NULL AND outcome = 1
		ORDER BY peak, seq LIMIT 1), 0)`

// readSurplus reports false where nothing can be spared.
func readSurplus(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, keep store.Keep) (e surplus, ok bool, err error) {
	var h sizing.History
	if e.task, err = openHistory(ctx, tx, task, &h); err != nil || h.Total <= keep.Total {
		return e, false, err
	}
	err = tx.QueryRow(ctx, learnedSQL, e.task).Scan(&e.learned)
	if err == nil {
		err = tx.QueryRow(ctx, edgesSQL, e.task, keep.Recent, keep.High).Scan(&e.newestAt, &e.newestSeq, &e.peak, &e.peakSeq)
	}
	if err == nil {
		err = tx.QueryRow(ctx, lotSQL, e.task, e.newestAt, e.newestSeq, e.peak, e.peakSeq, keep.Total-keep.Recent-keep.High).Scan(&e.lot)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	if err == nil {
		err = tx.QueryRow(ctx, lowestSQL, e.task).Scan(&e.lowest)
	}
	return e, err == nil, err
}

// removeObservationsSQL goes along the index of time from where the last batch ended,
// so that rows that stay are read once.
const removeObservationsSQL = `
	WITH gone AS (
		SELECT at, seq FROM observation
		WHERE task = $1 AND at < $2 AND (at, seq) > ($3, $4) AND (at, seq) < ($5, $6)
			AND (peak IS NULL OR (peak, seq) < ($7, $8)) AND lot > $9 AND seq <> $10 AND seq <= $11
		ORDER BY at, seq LIMIT $12),
	removed AS (
		DELETE FROM observation USING gone WHERE observation.task = $1 AND observation.seq = gone.seq
		RETURNING observation.at, observation.seq)
	SELECT count(*) OVER (), at, seq FROM removed ORDER BY at DESC, seq DESC LIMIT 1`

// RemoveObservations removes what History does not read, and never will. The tally
// goes on counting it, by which the rows that stay weigh what they weighed.
func (s *Store) RemoveObservations(ctx context.Context, task sizing.TaskKey, keep store.Keep, before time.Time, removed func(rows int) error) error {
	keep = withDefaults(keep)
	var e surplus
	var spare bool
	err := s.inTx(ctx, "look for old observations", snapshot, func(tx pgx.Tx) (err error) {
		e, spare, err = readSurplus(ctx, tx, task, keep)
		return err
	})
	if err != nil || !spare {
		return err
	}
	var at time.Time
	seq := int64(math.MinInt64)
	return inBatches(removed, func() (rows int, err error) {
		err = s.inTx(ctx, "remove old observations", readWrite, func(tx pgx.Tx) error {
			rows = 0
			if id, err := lockTally(ctx, tx, task); err != nil || id != e.task {
				return err // another task has the name by now
			}
			if _, err := tx.Exec(ctx, alongIndexesSQL); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, removeObservationsSQL, e.task, before, at, seq, e.newestAt, e.newestSeq,
				e.peak, e.peakSeq, e.lot, e.lowest, e.learned, removedAtOnce).Scan(&rows, &at, &seq)
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			return err
		})
		return rows, err
	})
}

// inBatches removes until less than a whole batch was there.
func inBatches(removed func(rows int) error, remove func() (rows int, err error)) error {
	for {
		rows, err := remove()
		if err != nil || rows == 0 {
			return err
		}
		if err := removed(rows); err != nil || rows < removedAtOnce {
			return err
		}
	}
}

const removeRunsSQL = `
	DELETE FROM experiment
	WHERE id = ANY (ARRAY(
		SELECT id FROM experiment WHERE name IS NULL AND created_at < $1 ORDER BY id LIMIT $2))`

// RemoveRuns removes experiments that nobody named, with their models.
func (s *Store) RemoveRuns(ctx context.Context, before time.Time, removed func(rows int) error) error {
	return s.removeAll(ctx, "remove old experiments", removed, removeRunsSQL, before)
}

func (s *Store) removeAll(ctx context.Context, doing string, removed func(rows int) error, sql string, before any) error {
	return inBatches(removed, func() (int, error) {
		tag, err := s.pool.Exec(ctx, sql, before, removedAtOnce)
		return int(tag.RowsAffected()), explain(doing, err)
	})
}
