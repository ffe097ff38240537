package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// historyColumns are what scanHistory reads, given $1, the task's id, and $2 to $4,
// its names.
const historyColumns = `seq, at, run_id, map_index, try_number, outcome,
		` + measuredColumns + `, coalesce(cpu_max, 0), coalesce(duration_us, 0),
		coalesce(allocated_memory, 0), coalesce(allocated_cpu, 0),
		coalesce(requested_memory, 0), coalesce(requested_cpu, 0), features,
		` + promisedAtLaunch + `,
		` + grantedToKilled

// promisedAtLaunch is the promise of the receipt that the try was launched with: the one
// that its report names, else the newest from before the try's end. A question after the
// end changes nothing. Receipts are written behind, and may come after the report. They
// are looked for in the weeks around the end, and if none is there, in all of them, unless
// the try ended before the task's first receipt was given. Last comes the oldest from
// after the end, because the clock of the reporter may be slow. A receipt without a
// promise ends the search: NaN stands for it.
const promisedAtLaunch = `nullif(coalesce(
			(SELECT coalesce(promised, 'NaN') FROM receipt WHERE receipt.prediction_id = observation.prediction_id AND ` + ofTheTry + `),
			(SELECT coalesce(promised, 'NaN') FROM receipt WHERE ` + ofTheTry + beforeTheEnd + givenAround + newestOfTheTry + `),
			CASE WHEN observation.at >= (SELECT min(receipt.at) - interval '24 hours' FROM receipt WHERE ` + ofTheTask + `) THEN coalesce(
				(SELECT coalesce(promised, 'NaN') FROM receipt WHERE ` + ofTheTry + beforeTheEnd + newestOfTheTry + `),
				(SELECT coalesce(promised, 'NaN') FROM receipt WHERE ` + ofTheTry + givenAround + oldestOfTheTry + `)) END), 'NaN')`

// grantedToKilled is the largest amount that an OOM-killed try was answered: a kill at or
// below it is at an allocation that is known for certain.
const grantedToKilled = `CASE WHEN outcome IN (2, 3) THEN coalesce(
			(SELECT max(task_limit) FROM receipt WHERE ` + ofTheTry + givenAround + `), 0) ELSE 0 END`

const (
	ofTheTask = `namespace = $2 AND dag_id = $3 AND task_id = $4`
	ofTheTry  = ofTheTask + `
				AND receipt.run_id <> '' AND receipt.run_id BETWEEN observation.run_id AND observation.run_id
				AND receipt.map_index = observation.map_index AND receipt.try_number = observation.try_number`

	beforeTheEnd = `
				AND receipt.at <= observation.at`

	// From eight days before the end to one day after; see store.FirstID.
	givenAround = `
				AND receipt.prediction_id >= lpad(to_hex(((date_part('epoch', observation.at) - 691200) / 65.536)::bigint), 8, '0') COLLATE "C"
				AND receipt.prediction_id < lpad(to_hex(((date_part('epoch', observation.at) + 86400) / 65.536)::bigint), 8, '0') COLLATE "C"`
)

// History reads what is to be learned from, in one snapshot.
//
//	            ┌ the newest, and the highest peaks: whole, weight 1
//	all rows ───┤
//	            └ the rest: the lowest lots, which stand for all of it
func (s *Store) History(ctx context.Context, task sizing.TaskKey, keep store.Keep) (sizing.History, error) {
	keep = withDefaults(keep)
	var h sizing.History
	err := s.inTx(ctx, "read history", snapshot, func(tx pgx.Tx) error {
		id, err := openHistory(ctx, tx, task, &h)
		if err != nil {
			return err
		}
		if h.Total <= keep.Total {
			err = readHistory(ctx, tx, &h, allSQL, id)
		} else {
			err = readThinned(ctx, tx, &h, id, keep)
		}
		if err != nil {
			return err
		}
		return readPairs(ctx, tx, &h)
	})
	slices.SortFunc(h.Rows, func(a, b sizing.HistoryRow) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq))
	})
	return h, err
}

// withDefaults fills zero fields. Where Total leaves no room for a sample beside
// the others, they get the shares of DefaultKeep.
func withDefaults(keep store.Keep) store.Keep {
	keep.Total = cmp.Or(keep.Total, store.DefaultKeep.Total)
	keep.Recent = cmp.Or(keep.Recent, store.DefaultKeep.Recent)
	keep.High = cmp.Or(keep.High, store.DefaultKeep.High)
	if keep.Recent+keep.High >= keep.Total {
		keep.Recent, keep.High = max(keep.Total*2/5, 1), max(keep.Total/10, 1)
	}
	return keep
}

// alongIndexesSQL has a transaction read along indexes. The planner would rather
// sort the whole history as long as its statistics lag behind an import: 500,000
// rows took 3 s instead of 0.1 s.
const alongIndexesSQL = `
	SELECT set_config('enable_sort', 'off', true),
		set_config('enable_bitmapscan', 'off', true),
		set_config('enable_seqscan', 'off', true)`

const openHistorySQL = `
	SELECT task.id, task.schema, tally.observations,
		coalesce((SELECT max(seq) FROM observation WHERE observation.task = task.id), 0)
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

func openHistory(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, h *sizing.History) (id int64, err error) {
	*h = sizing.History{Task: task}
	if _, err = tx.Exec(ctx, alongIndexesSQL); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, openHistorySQL, task.Namespace, task.DAG, task.Task).Scan(&id, &h.Schema, &h.Total, &h.LastSeq)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownTask(task)
	}
	return id, err
}

const allSQL = `
	SELECT ` + historyColumns + `, false
	FROM observation
	WHERE task = $1`

// edgesSQL finds the oldest of the newest $2 rows, and the lowest of the $3
// highest peaks; fewer peaks than that are all among the highest.
const edgesSQL = `
	SELECT newest.at, newest.seq, coalesce(highest.peak, 0), coalesce(highest.seq, 0)
	FROM (
		SELECT at, seq FROM observation
		WHERE task = $1
		ORDER BY at DESC, seq DESC OFFSET $2 - 1 LIMIT 1) AS newest
	LEFT JOIN (
		SELECT peak, seq FROM observation
		WHERE task = $1 AND peak IS NOT NULL
		ORDER BY peak DESC, seq DESC OFFSET $3 - 1 LIMIT 1) AS highest ON true`

// thinnedSQL reads each part along its own index, so that its price does not grow
// with the history.
const thinnedSQL = `
	(SELECT ` + historyColumns + `, false
		FROM observation
		WHERE task = $1 AND (at, seq) >= ($5, $6))
	UNION ALL
	(SELECT ` + historyColumns + `, false
		FROM observation
		WHERE task = $1 AND peak IS NOT NULL AND (peak, seq) >= ($7, $8) AND (at, seq) < ($5, $6))
	UNION ALL
	(SELECT ` + historyColumns + `, true
		FROM observation
		WHERE task = $1 AND (at, seq) < ($5, $6) AND (peak IS NULL OR (peak, seq) < ($7, $8))
		ORDER BY lot LIMIT $9)`

func readThinned(ctx context.Context, tx pgx.Tx, h *sizing.History, id int64, keep store.Keep) error {
	var newestAt time.Time
	var newestSeq, peak, peakSeq int64
	err := tx.QueryRow(ctx, edgesSQL, id, keep.Recent, keep.High).Scan(&newestAt, &newestSeq, &peak, &peakSeq)
	if err != nil {
		return err
	}
	return readHistory(ctx, tx, h, thinnedSQL, id, newestAt, newestSeq, peak, peakSeq, keep.Total-keep.Recent-keep.High)
}

// readHistory reads rows, and weighs the thinned ones so that all weights sum to
// the number of observations that exist.
func readHistory(ctx context.Context, tx pgx.Tx, h *sizing.History, sql string, id int64, args ...any) error {
	args = append([]any{id, h.Task.Namespace, h.Task.DAG, h.Task.Task}, args...)
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sampled []int
	for rows.Next() {
		row, thinned, err := scanHistory(rows)
		if err != nil {
			return err
		}
		if thinned {
			sampled = append(sampled, len(h.Rows))
		}
		h.Rows = append(h.Rows, row)
	}
	whole := len(h.Rows) - len(sampled)
	for _, i := range sampled {
		h.Rows[i].Weight = float64(h.Total-whole) / float64(len(sampled))
	}
	return rows.Err()
}

func scanHistory(rows pgx.Rows) (r sizing.HistoryRow, thinned bool, err error) {
	var micros int64
	err = rows.Scan(&r.Seq, &r.At, &r.RunID, &r.MapIndex, &r.Try, &r.Outcome,
		&r.MemoryMax, &r.MemorySampled, &r.CPUMax, &micros,
		&r.Allocated.Memory, &r.Allocated.CPU,
		&r.Requested.Memory, &r.Requested.CPU, &r.Features, &r.Promised, &r.Granted, &thinned)
	r.At, r.Duration, r.Weight = r.At.UTC(), time.Duration(micros)*time.Microsecond, 1
	return r, thinned, err
}

const sinceSQL = `
	SELECT ` + historyColumns + `, false
	FROM observation
	WHERE task = $1 AND seq > $5
	ORDER BY seq LIMIT $6`

// Since reads the rows that arrived after seq, in the order of arrival. LastSeq is
// where the next call goes on.
func (s *Store) Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error) {
	var h sizing.History
	err := s.inTx(ctx, "read news", snapshot, func(tx pgx.Tx) error {
		id, err := openHistory(ctx, tx, task, &h)
		if err != nil {
			return err
		}
		h.LastSeq = seq
		if err := readHistory(ctx, tx, &h, sinceSQL, id, seq, max(limit, 0)); err != nil {
			return err
		}
		if n := len(h.Rows); n > 0 {
			h.LastSeq = h.Rows[n-1].Seq
		}
		return nil
	})
	return h, err
}

const killsSQL = `
	SELECT try_number, coalesce(allocated_memory, memory_max, 0), at
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND run_id = $4 AND map_index = $5 AND outcome IN (2, 3)
	ORDER BY at, try_number`

// Kills lists the OOM-killed tries of one (run, map index), oldest first.
func (s *Store) Kills(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) ([]store.Kill, error) {
	rows, err := s.pool.Query(ctx, killsSQL, task.Namespace, task.DAG, task.Task, runID, mapIndex)
	if err != nil {
		return nil, explain("list kills", err)
	}
	kills, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k store.Kill, err error) {
		err = row.Scan(&k.Try, &k.Allocated, &k.At)
		k.At = k.At.UTC()
		return k, err
	})
	return kills, explain("list kills", err)
}

const killsAtCapSQL = `
	SELECT count(*)
	FROM observation
	JOIN task ON task.id = observation.task
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND outcome IN (2, 3) AND allocated_memory >= $4
		AND at > coalesce((
			SELECT success.at FROM observation AS success
			WHERE success.task = task.id AND success.outcome = 1
			ORDER BY success.at DESC LIMIT 1), '-infinity')`

// KillsAtCap counts the OOM kills at the ceiling since the last success.
func (s *Store) KillsAtCap(ctx context.Context, task sizing.TaskKey, ceiling sizing.Bytes) (int, error) {
	var n int
	err := s.pool.QueryRow(ctx, killsAtCapSQL, task.Namespace, task.DAG, task.Task, ceiling).Scan(&n)
	return n, explain("count kills", err)
}
