package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// historyColumns are the columns that scanHistory reads, except the last one. In statements with these columns $1 is
// the id of the task, and $2 to $4 are its namespace, DAG and task id.
const historyColumns = `seq, at, ` + startColumn + `, run_id, map_index, try_number, outcome,
		` + measuredColumns + `, coalesce(cpu_max, 0), coalesce(duration_us, 0),
		coalesce(allocated_memory, 0), coalesce(allocated_cpu, 0),
		coalesce(requested_memory, 0), coalesce(requested_cpu, 0), features, coalesce(run_score, 0), coalesce(measured_after, 0),
		` + promisedAtLaunch + `,
		` + grantedToKilled

// startColumn is the start of a try as in sizing.HistoryRow; NULL if unknown. The lower bound is that of plausibleTime.
const startColumn = `CASE WHEN coalesce(started_at, ended_at - duration_us * interval '1 microsecond')
			BETWEEN timestamptz '2000-01-01 00:00:00+00' AND at
		THEN coalesce(started_at, ended_at - duration_us * interval '1 microsecond') END`

// promisedAtLaunch is the promised risk of the receipt in force at the launch of the try. It looks for the
// receipt in this order:
//  1. the receipt that the report names;
//  2. the newest receipt of the try before its end, first in the eight days before the end and then in
//     all partitions;
//  3. the oldest receipt of the try in the day after its end, because the reporter's clock may be slow.
//
// If the try ended more than a day before the task's first receipt, only step 1 and the eight days are
// searched. Receipts are written asynchronously and may arrive after the report, so every read of the history searches
// again. NaN marks a receipt whose promise is missing or not comparable (comparedPromise). A NaN ends the search.
const promisedAtLaunch = `nullif(coalesce(
			(SELECT ` + comparedPromise + ` FROM receipt WHERE receipt.prediction_id = observation.prediction_id AND ` + ofTry + `),
			(SELECT coalesce(promised, 'NaN') FROM receipt_compact AS receipt WHERE receipt.prediction_id = ` + observedID + ` AND ` + ofCompactTry + `),
			(SELECT coalesce(promised, 'NaN') FROM (
				(SELECT ` + comparedPromise + ` AS promised, run_id, at FROM receipt WHERE ` + ofTry + beforeEnd + aroundEnd + newestOfTry + `)
				UNION ALL
				(SELECT promised, run_id, at FROM receipt_compact AS receipt WHERE ` + ofCompactTry + beforeEnd + compactAroundEnd + newestOfCompactTry + `)) AS receipt` + newestOfTry + `),
			CASE WHEN observation.at >= least(
					(SELECT min(receipt.at) FROM receipt WHERE ` + ofTask + `),
					(SELECT min(receipt.at) FROM receipt_compact AS receipt WHERE receipt.name = ` + nameOfHistory + `)) - interval '24 hours' THEN coalesce(
				(SELECT coalesce(promised, 'NaN') FROM (
					(SELECT ` + comparedPromise + ` AS promised, run_id, at FROM receipt WHERE ` + ofTry + beforeEnd + newestOfTry + `)
					UNION ALL
					(SELECT promised, run_id, at FROM receipt_compact AS receipt WHERE ` + ofCompactTry + beforeEnd + newestOfCompactTry + `)) AS receipt` + newestOfTry + `),
				(SELECT coalesce(promised, 'NaN') FROM (
					(SELECT ` + comparedPromise + ` AS promised, run_id, at FROM receipt WHERE ` + ofTry + aroundEnd + oldestOfTry + `)
					UNION ALL
					(SELECT promised, run_id, at FROM receipt_compact AS receipt WHERE ` + ofCompactTry + compactAroundEnd + oldestOfCompactTry + `)) AS receipt` + oldestOfTry + `)) END), 'NaN')`

// grantedToKilled is the largest limit in bytes in those receipts of an OOM-killed try (outcomes 2 and 3) that
// aroundEnd selects; 0 for other outcomes and without such a receipt.
const grantedToKilled = `CASE WHEN outcome IN (2, 3) THEN coalesce(greatest(
			(SELECT max(task_limit) FROM receipt WHERE ` + ofTry + aroundEnd + `),
			(SELECT max(task_limit) FROM (SELECT task_limit FROM receipt_compact AS receipt WHERE ` + ofCompactTry + compactAroundEnd + orderOfCompactTry + ` OFFSET 0) AS granted)), 0) ELSE 0 END`

const (
	ofTask = `namespace = $2 AND dag_id = $3 AND task_id = $4`
	ofTry  = ofTask + ofRun
	ofRun  = `
				AND receipt.run_id <> '' AND receipt.run_id BETWEEN observation.run_id AND observation.run_id
				AND receipt.map_index = observation.map_index AND receipt.try_number = observation.try_number`

	nameOfHistory = `(SELECT id FROM receipt_name WHERE namespace = $2 AND dag_id = $3 AND task_id = $4)`
	ofCompactTry  = `receipt.name = ` + nameOfHistory + ` AND hashtext(receipt.run_id) # receipt.map_index
				BETWEEN hashtext(observation.run_id) # observation.map_index AND hashtext(observation.run_id) # observation.map_index` + ofRun

	// preferIndexesSQL makes sorts expensive for the planner. These orders begin with the hash (# is XOR), and only the
	// index receipt_compact_try orders the receipts of a task by the hash. So the planner uses this index; see newestOfTry.
	newestOfCompactTry = `
			ORDER BY hashtext(receipt.run_id) # receipt.map_index DESC, receipt.at DESC LIMIT 1`
	oldestOfCompactTry = `
			ORDER BY hashtext(receipt.run_id) # receipt.map_index, receipt.at LIMIT 1`
	orderOfCompactTry = `
			ORDER BY hashtext(receipt.run_id) # receipt.map_index`

	// observedID is the prediction id that a report names, or NULL if it is not a UUID.
	observedID = `CASE WHEN observation.prediction_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN observation.prediction_id::uuid END`

	beforeEnd = `
				AND receipt.at <= observation.at`

	// aroundEnd selects the ids from eight days before the end to one day after it. The bounds are the
	// first eight digits of an id: Unix milliseconds divided by 65,536; see store.FirstID.
	eightDaysBeforeEnd = `lpad(to_hex(((date_part('epoch', observation.at) - 691200) / 65.536)::bigint), 8, '0')`
	dayAfterEnd        = `lpad(to_hex(((date_part('epoch', observation.at) + 86400) / 65.536)::bigint), 8, '0')`
	aroundEnd          = `
				AND receipt.prediction_id >= ` + eightDaysBeforeEnd + ` COLLATE "C"
				AND receipt.prediction_id < ` + dayAfterEnd + ` COLLATE "C"`
	compactAroundEnd = `
				AND receipt.prediction_id >= (` + eightDaysBeforeEnd + ` || '` + zeroRest + `')::uuid
				AND receipt.prediction_id < (` + dayAfterEnd + ` || '` + zeroRest + `')::uuid`
	zeroRest = `-0000-0000-0000-000000000000`
)

// History reads the training rows of a task in one snapshot.
//
//	            ┌ the newest rows and the highest peaks: complete, weight 1
//	all rows ───┤
//	            └ the other rows: a sample by the lowest sample ranks, weighted to represent all of these rows
func (s *Store) History(ctx context.Context, task sizing.TaskKey, limits store.HistoryLimits) (sizing.History, error) {
	limits = withDefaults(limits)
	var h sizing.History
	err := s.inTx(ctx, "read history", snapshot, func(tx pgx.Tx) error {
		id, err := openHistory(ctx, tx, task, &h)
		if err != nil {
			return err
		}
		if h.Total <= limits.Total {
			err = readHistory(ctx, tx, &h, allSQL, id)
		} else {
			err = readLimited(ctx, tx, &h, id, limits)
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

// withDefaults sets Recent and High to the same fractions of Total as in DefaultHistoryLimits, but to at least 1, if they
// leave no rows for the sample.
func withDefaults(limits store.HistoryLimits) store.HistoryLimits {
	limits.Total = max(cmp.Or(limits.Total, store.DefaultHistoryLimits.Total), store.MinHistoryTotal)
	limits.Recent = cmp.Or(limits.Recent, store.DefaultHistoryLimits.Recent)
	limits.High = cmp.Or(limits.High, store.DefaultHistoryLimits.High)
	if limits.Recent+limits.High >= limits.Total {
		limits.Recent, limits.High = max(limits.Total*2/5, 1), max(limits.Total/10, 1)
	}
	return limits
}

// preferIndexesSQL makes a transaction use index scans. While statistics are older than an import
// the planner otherwise sorts the whole history: 500,000 rows take 3 s instead of 0.1 s.
const preferIndexesSQL = `
	SELECT set_config('enable_sort', 'off', true),
		set_config('enable_bitmapscan', 'off', true),
		set_config('enable_seqscan', 'off', true)`

const openHistorySQL = `
	SELECT task.id, task.schema, tally.observations,
		coalesce((SELECT max(seq) FROM observation WHERE observation.task = task.id), 0)
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

// openHistory applies preferIndexesSQL to the transaction, and sets Schema, Total and LastSeq of h.
func openHistory(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, h *sizing.History) (id int64, err error) {
	*h = sizing.History{Task: task}
	if _, err = tx.Exec(ctx, preferIndexesSQL); err != nil {
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

// boundsSQL returns the oldest of the newest $2 rows, and the lowest of the $3 highest peaks (0
// if there are fewer peaks).
const boundsSQL = `
	SELECT newest.at, newest.seq, coalesce(highest.peak, 0), coalesce(highest.seq, 0)
	FROM (
		SELECT at, seq FROM observation
		WHERE task = $1
		ORDER BY at DESC, seq DESC OFFSET $2 - 1 LIMIT 1) AS newest
	LEFT JOIN (
		SELECT peak, seq FROM observation
		WHERE task = $1 AND peak IS NOT NULL
		ORDER BY peak DESC, seq DESC OFFSET $3 - 1 LIMIT 1) AS highest ON true`

// limitedSQL reads the newest rows, the rows with the highest peaks and the sample, each by its own index, so that the cost
// of a read does not grow with the history.
const limitedSQL = `
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

func readLimited(ctx context.Context, tx pgx.Tx, h *sizing.History, id int64, limits store.HistoryLimits) error {
	var newestAt time.Time
	var newestSeq, peak, peakSeq int64
	err := tx.QueryRow(ctx, boundsSQL, id, limits.Recent, limits.High).Scan(&newestAt, &newestSeq, &peak, &peakSeq)
	if err != nil {
		return err
	}
	return readHistory(ctx, tx, h, limitedSQL, id, newestAt, newestSeq, peak, peakSeq, limits.Total-limits.Recent-limits.High)
}

// readHistory adds the rows of a statement to h. It weights sampled rows so that all weights sum to h.Total.
func readHistory(ctx context.Context, tx pgx.Tx, h *sizing.History, sql string, id int64, args ...any) error {
	args = append([]any{id, h.Task.Namespace, h.Task.DAG, h.Task.Task}, args...)
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var sampled []int
	for rows.Next() {
		row, isSampled, err := scanHistory(rows)
		if err != nil {
			return err
		}
		if isSampled {
			sampled = append(sampled, len(h.Rows))
		}
		h.Rows = append(h.Rows, row)
	}
	complete := len(h.Rows) - len(sampled)
	for _, i := range sampled {
		h.Rows[i].Weight = float64(h.Total-complete) / float64(len(sampled))
	}
	return rows.Err()
}

func scanHistory(rows pgx.CollectableRow) (r sizing.HistoryRow, isSampled bool, err error) {
	var micros int64
	var started *time.Time
	err = rows.Scan(&r.Seq, &r.At, &started, &r.RunID, &r.MapIndex, &r.Try, &r.Outcome,
		&r.MemoryMax, &r.MemorySampled, &r.CPUMax, &micros,
		&r.Allocated.Memory, &r.Allocated.CPU,
		&r.Requested.Memory, &r.Requested.CPU, &r.Features, &r.RunScore, &r.MeasuredAfter, &r.Promised, &r.Granted, &isSampled)
	r.At, r.Duration, r.Weight = r.At.UTC(), time.Duration(micros)*time.Microsecond, 1
	if at, ok := sizing.ReproducedAt(r.RunID); ok {
		r.At, r.Promised = at, nil // the time of the archived run; the row is no evidence for or against a promise
	} else if started != nil {
		r.StartedAt = started.UTC()
	}
	return r, isSampled, err
}

const sinceRowsSQL = `
	SELECT ` + historyColumns + `, false
	FROM observation
	WHERE task = $1 AND seq > $5 AND seq <= $6` + notReproduced + `
	ORDER BY seq `

const (
	sinceSQL       = sinceRowsSQL + `LIMIT $7`
	newestSinceSQL = sinceRowsSQL + `DESC LIMIT $7`
)

// Since reads the rows that arrived after row `seq`, in order of arrival, without reproduced runs.
func (s *Store) Since(ctx context.Context, task sizing.TaskKey, seq int64, limit int) (sizing.History, error) {
	return s.since(ctx, task, seq, math.MaxInt64, sinceSQL, limit)
}

// NewestSince reads the newest of the rows that arrived after row `seq` but not after row `last`, in order of arrival, without
// reproduced runs.
func (s *Store) NewestSince(ctx context.Context, task sizing.TaskKey, seq, last int64, limit int) (sizing.History, error) {
	h, err := s.since(ctx, task, seq, last, newestSinceSQL, limit)
	slices.Reverse(h.Rows)
	return h, err
}

// since reads the rows of sinceSQL or newestSinceSQL. It sets LastSeq to the seq of the newest row that it read, or to `seq` if
// it read none.
func (s *Store) since(ctx context.Context, task sizing.TaskKey, seq, last int64, sql string, limit int) (sizing.History, error) {
	var h sizing.History
	err := s.inTx(ctx, "read new observations", snapshot, func(tx pgx.Tx) error {
		id, err := openHistory(ctx, tx, task, &h)
		if err != nil {
			return err
		}
		h.LastSeq = seq
		if err := readHistory(ctx, tx, &h, sql, id, seq, last, max(limit, 0)); err != nil {
			return err
		}
		if n := len(h.Rows); n > 0 {
			h.LastSeq = max(h.Rows[0].Seq, h.Rows[n-1].Seq)
		}
		return nil
	})
	return h, err
}

// pairsSQL reads the newest $2 successes (outcome 1) of a namespace with a measured and a sampled peak.
const pairsSQL = `
	SELECT namespace, dag_id, task_id, memory_max, memory_sampled, coalesce(duration_us, 0)
	FROM observation JOIN task ON task.id = observation.task
	WHERE outcome = 1 AND memory_sampled IS NOT NULL AND NOT sampled_only AND namespace = $1
	ORDER BY at DESC, seq DESC LIMIT $2`

func readPairs(ctx context.Context, tx pgx.Tx, h *sizing.History) error {
	if !slices.ContainsFunc(h.Rows, onlySampled) {
		return nil
	}
	// openHistory disabled sorts; these few rows need one.
	if _, err := tx.Exec(ctx, `SELECT set_config('enable_sort', 'on', true)`); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, pairsSQL, h.Task.Namespace, sizing.MaxPairs)
	if err != nil {
		return err
	}
	h.Pairs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p sizing.PeakPair, err error) {
		var micros int64
		err = row.Scan(&p.Task.Namespace, &p.Task.DAG, &p.Task.Task, &p.Exact, &p.Sampled, &micros)
		p.Duration = time.Duration(micros) * time.Microsecond
		return p, err
	})
	return err
}

func onlySampled(r sizing.HistoryRow) bool {
	_, censoring := r.Peak()
	return censoring == sizing.Sampled
}
