package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// newestTriesSQL is a FROM clause with the newest $3 tries of the task wanted.id since the time $2, read by the index
// observation_newest.
const (
	newestTriesSQL = `
		FROM (
			SELECT *
			FROM observation
			WHERE task = wanted.id AND at >= coalesce($2::timestamptz, '-infinity')` + notReproduced + `
			ORDER BY at DESC, seq DESC LIMIT $3) AS newest`

	// isInstance selects the tries that count as instances; see store.TaskRun.
	isInstance = `outcome = 1 AND duration_us > 0`
)

// newestRunsSQL summarises the newest $4 runs of each task. Of an instance that was cleared and succeeded again, it summarises the
// first success: the smallest array (end, seq, duration). The largest array (duration, seq) of a run identifies the longest
// instance without a sort. A run is partial if the store has more tries of it than newestTriesSQL selects; an index-only scan
// counts the stored tries.
const newestRunsSQL = `
	SELECT wanted.id, run.run_id, run.started, run.ended, run.instances, coalesce(run.longest[1], 0), longest.features, run.failed,
		run.last, run.tries, run.tries < (SELECT count(*) FROM observation WHERE task = wanted.id AND observation.run_id = run.run_id)
	FROM unnest($1::bigint[]) AS wanted (id)
	CROSS JOIN LATERAL (
		SELECT run_id, sum(tries)::bigint AS tries, max(last) AS last, bool_or(failed) AS failed, count(first) AS instances, min(started) AS started,
			max(ended) AS ended, max(ARRAY[first[3], first[2]]) FILTER (WHERE first IS NOT NULL) AS longest
		FROM (
			SELECT run_id, count(*) AS tries, max(at) AS last, bool_or(outcome <> 1) AS failed,
				min(CASE WHEN ` + isInstance + ` THEN at - duration_us * interval '1 microsecond' ELSE at END) AS started,
				min(at) FILTER (WHERE ` + isInstance + `) AS ended,
				min(ARRAY[(extract(epoch FROM at) * 1000000)::bigint, seq, duration_us]) FILTER (WHERE ` + isInstance + `) AS first` + newestTriesSQL + `
			GROUP BY run_id, map_index) AS instance
		GROUP BY run_id
		ORDER BY last DESC, run_id LIMIT $4) AS run
	LEFT JOIN LATERAL (
		SELECT features FROM observation WHERE task = wanted.id AND seq = run.longest[2]) AS longest ON true`

// sampledSuccessesSQL reads the $4 successes with the lowest sample ranks among the newest tries of each task.
const sampledSuccessesSQL = `
	SELECT wanted.id, sampled.*
	FROM unnest($1::bigint[]) AS wanted (id)
	CROSS JOIN LATERAL (
		SELECT ` + tryColumns + newestTriesSQL + `
		WHERE outcome = 1
		ORDER BY lot LIMIT $4) AS sampled`

// NewestRuns summarises the newest runs of several tasks of a DAG. It considers only the newest limits.Tries tries of each
// task, and reads at most limits.Runs + limits.Sample rows per task.
func (s *Store) NewestRuns(ctx context.Context, namespace, dag string, tasks []string, limits store.RunLimits) (map[string]store.TaskRuns, error) {
	var all map[string]store.TaskRuns
	err := s.inTx(ctx, "read the newest runs of a DAG", snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, preferIndexesSQL); err != nil {
			return err
		}
		histories, ids, err := openHistories(ctx, tx, namespace, dag, tasks)
		if err != nil {
			return err
		}
		var since *time.Time
		if !limits.Since.IsZero() {
			since = &limits.Since
		}
		if err := readTries(ctx, tx, histories, sampledSuccessesSQL, ids, since, max(limits.Tries, 0), max(limits.Sample, 0)); err != nil {
			return err
		}
		runs, err := readTaskRuns(ctx, tx, limits, ids, since, max(limits.Tries, 0), max(limits.Runs, 0))
		if err != nil {
			return err
		}
		all = make(map[string]store.TaskRuns, len(histories))
		for id, h := range histories {
			of := store.TaskRuns{Sample: *h, Runs: runs[id].Runs, Since: limits.Since}
			if runs[id].Since.After(of.Since) {
				of.Since = runs[id].Since
			}
			all[h.Task.Task] = of
		}
		return nil
	})
	return all, err
}

func readTries(ctx context.Context, tx pgx.Tx, histories map[int64]*sizing.History, sql string, args ...any) error {
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		row, _, err := scanHistory(withID{rows, &id})
		if err != nil {
			return err
		}
		histories[id].Rows = append(histories[id].Rows, row)
	}
	for _, h := range histories {
		sortTries(h.Rows)
	}
	return rows.Err()
}

// readTaskRuns returns runs by the id of the task. Since is zero unless limits.Runs or limits.Tries may have omitted
// runs; see store.TaskRuns.
func readTaskRuns(ctx context.Context, tx pgx.Tx, limits store.RunLimits, args ...any) (map[int64]store.TaskRuns, error) {
	rows, err := tx.Query(ctx, newestRunsSQL, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all, oldest, tries := map[int64]store.TaskRuns{}, map[int64]time.Time{}, map[int64]int{}
	for rows.Next() {
		r, id, last, n, err := scanTaskRun(rows)
		if err != nil {
			return nil, err
		}
		all[id] = store.TaskRuns{Runs: append(all[id].Runs, r)}
		if before, ok := oldest[id]; !ok || last.Before(before) {
			oldest[id] = last
		}
		tries[id] += n
	}
	for id, of := range all {
		if len(of.Runs) >= limits.Runs || tries[id] >= limits.Tries { // omitted runs ended before all of these
			all[id] = store.TaskRuns{Runs: of.Runs, Since: oldest[id]}
		}
	}
	return all, rows.Err()
}

// scanTaskRun returns a run with the id of its task, the end of its newest try, and the number of its tries.
func scanTaskRun(rows pgx.Rows) (r store.TaskRun, id int64, last time.Time, tries int, err error) {
	var micros int64
	var ended *time.Time
	err = rows.Scan(&id, &r.RunID, &r.Start, &ended, &r.Instances, &micros, &r.Features, &r.HasFailed, &last, &tries, &r.IsPartial)
	r.Start, r.Longest = r.Start.UTC(), time.Duration(micros)*time.Microsecond
	if ended != nil {
		r.End = ended.UTC()
	}
	return r, id, last.UTC(), tries, err
}
