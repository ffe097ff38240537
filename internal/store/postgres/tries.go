package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// tryColumns are the columns that scanHistory reads, with constants in place of the values from receipts, which need one
// search per row.
const tryColumns = `seq, at, ` + startColumn + `, run_id, map_index, try_number, outcome,
		` + measuredColumns + `, coalesce(cpu_max, 0), coalesce(duration_us, 0),
		coalesce(allocated_memory, 0), coalesce(allocated_cpu, 0),
		coalesce(requested_memory, 0), coalesce(requested_cpu, 0), features, coalesce(run_score, 0), coalesce(measured_after, 0),
		NULL::double precision, 0::bigint, false`

const recentTriesSQL = `
	SELECT ` + tryColumns + `
	FROM observation
	WHERE task = $1 AND at <= coalesce($3::timestamptz, 'infinity')
	ORDER BY at DESC, seq DESC LIMIT $2`

const triesOfRunSQL = `
	SELECT ` + tryColumns + `
	FROM observation
	WHERE task = $1 AND run_id = $2 AND map_index = $3
	ORDER BY at DESC, seq DESC LIMIT $4`

// RecentTries reads the newest tries of a task, oldest first.
func (s *Store) RecentTries(ctx context.Context, task sizing.TaskKey, limit int) (sizing.History, error) {
	return s.TriesBefore(ctx, task, time.Time{}, limit)
}

// TriesBefore reads like RecentTries, but only tries that ended at the time `end` or earlier; all tries if `end` is zero.
func (s *Store) TriesBefore(ctx context.Context, task sizing.TaskKey, end time.Time, limit int) (sizing.History, error) {
	until := &end
	if end.IsZero() {
		until = nil
	}
	return s.readTries(ctx, "read recent tries", task, recentTriesSQL, max(limit, 0), until)
}

// recentTriesOfSQL reads the newest tries of each task with one index scan per task.
const recentTriesOfSQL = `
	SELECT wanted.id, newest.*
	FROM unnest($1::bigint[]) AS wanted (id)
	CROSS JOIN LATERAL (
		SELECT ` + tryColumns + `
		FROM observation
		WHERE task = wanted.id
		ORDER BY at DESC, seq DESC LIMIT $2) AS newest`

const tasksOfDAGSQL = `
	SELECT id, task_id, schema FROM task WHERE namespace = $1 AND dag_id = $2 AND task_id = ANY ($3)`

// RecentTriesOf reads the newest tries of several tasks of a DAG, oldest first.
func (s *Store) RecentTriesOf(ctx context.Context, namespace, dag string, tasks []string, limit int) (map[string]sizing.History, error) {
	var all map[string]sizing.History
	err := s.inTx(ctx, "read recent tries of a DAG", snapshot, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, preferIndexesSQL); err != nil {
			return err
		}
		histories, ids, err := openHistories(ctx, tx, namespace, dag, tasks)
		if err != nil {
			return err
		}
		if err := readTries(ctx, tx, histories, recentTriesOfSQL, ids, max(limit, 0)); err != nil {
			return err
		}
		all = make(map[string]sizing.History, len(histories))
		for _, h := range histories {
			all[h.Task.Task] = *h
		}
		return nil
	})
	return all, err
}

// openHistories returns histories without rows by the ids of the tasks. It omits unknown tasks.
func openHistories(ctx context.Context, tx pgx.Tx, namespace, dag string, tasks []string) (histories map[int64]*sizing.History, ids []int64, err error) {
	rows, err := tx.Query(ctx, tasksOfDAGSQL, namespace, dag, tasks)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	histories = map[int64]*sizing.History{}
	for rows.Next() {
		var id int64
		h := &sizing.History{Task: sizing.TaskKey{Namespace: namespace, DAG: dag}}
		if err := rows.Scan(&id, &h.Task.Task, &h.Schema); err != nil {
			return nil, nil, err
		}
		histories[id], ids = h, append(ids, id)
	}
	return histories, ids, rows.Err()
}

// withID is a row with an id column before the columns of scanHistory.
type withID struct {
	pgx.CollectableRow
	id *int64
}

// Scan reads the id and then dest.
func (r withID) Scan(dest ...any) error {
	return r.CollectableRow.Scan(append([]any{r.id}, dest...)...)
}

func sortTries(rows []sizing.HistoryRow) {
	slices.SortFunc(rows, func(a, b sizing.HistoryRow) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq))
	})
}

// TriesOfRun reads the newest tries of one (run, map index), at most store.MaxTriesOfRun, oldest first.
func (s *Store) TriesOfRun(ctx context.Context, task sizing.TaskKey, runID string, mapIndex int) (sizing.History, error) {
	return s.readTries(ctx, "read the tries of a run", task, triesOfRunSQL, runID, mapIndex, store.MaxTriesOfRun)
}

func (s *Store) readTries(ctx context.Context, operation string, task sizing.TaskKey, sql string, args ...any) (sizing.History, error) {
	var h sizing.History
	err := s.inTx(ctx, operation, snapshot, func(tx pgx.Tx) error {
		id, err := openHistory(ctx, tx, task, &h)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, append([]any{id}, args...)...)
		if err != nil {
			return err
		}
		h.Rows, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (sizing.HistoryRow, error) {
			r, _, err := scanHistory(row)
			return r, err
		})
		return err
	})
	sortTries(h.Rows)
	return h, err
}
