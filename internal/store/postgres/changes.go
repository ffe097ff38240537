package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/store"
)

// watermarkSQL returns the id of the oldest transaction that may still commit after the current
// snapshot. Every change that the snapshot does not show has this id or a higher one.
const watermarkSQL = `
	SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint`

const changedSinceSQL = `
	SELECT namespace, dag_id, task_id, coalesce(active_version, 0), coalesce(policy, '{}'), false
	FROM task WHERE changed >= $1::text::xid8
	UNION ALL
	SELECT DISTINCT namespace, dag_id, task_id, 0, '{}'::jsonb, true
	FROM task_gone WHERE changed >= $1::text::xid8`

// ChangedSince lists the tasks that changed since a watermark, and returns the next watermark.
func (s *Store) ChangedSince(ctx context.Context, since int64) (changed store.ChangedTasks, err error) {
	err = s.inTx(ctx, "list changed tasks", snapshot, func(tx pgx.Tx) error {
		changed = store.ChangedTasks{}
		if err := tx.QueryRow(ctx, watermarkSQL).Scan(&changed.Watermark); err != nil || since == 0 {
			return err
		}
		rows, err := tx.Query(ctx, changedSinceSQL, strconv.FormatInt(since, 10))
		if err != nil {
			return err
		}
		changed.Tasks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c store.ChangedTask, err error) {
			err = row.Scan(&c.Task.Namespace, &c.Task.DAG, &c.Task.Task, &c.Version, &c.Policy, &c.IsGone)
			return c, err
		})
		return err
	})
	return changed, err
}
