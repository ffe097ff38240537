package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const markDueSQL = `
	UPDATE tally SET due_at = least(due_at, $4)
	FROM task
	WHERE tally.task = task.id AND task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

// MarkDue makes a task due at a time, unless it is due earlier.
func (s *Store) MarkDue(ctx context.Context, task sizing.TaskKey, at time.Time) error {
	tag, err := s.pool.Exec(ctx, markDueSQL, task.Namespace, task.DAG, task.Task, at)
	if err == nil && tag.RowsAffected() == 0 {
		return unknownTask(task)
	}
	return wrapError("mark a task due", err)
}

// pickSQL returns the task that has been due longest, and whether it has an expired lease. It first selects the
// due tasks and the expired leases by index, and joins other tables afterwards, because only few tasks are due.
const pickSQL = `
	SELECT lease.task, lease.until IS NOT NULL, task.namespace, task.dag_id, task.task_id
	FROM lease
	JOIN tally ON tally.task = lease.task
	JOIN task ON task.id = lease.task
	WHERE lease.task IN (
			SELECT task FROM tally WHERE due_at <= now()
			UNION ALL
			SELECT task FROM lease WHERE until < now())
		AND ((lease.until IS NULL AND tally.due_at <= now()) OR lease.until < now())
	ORDER BY least(tally.due_at, lease.due_since), lease.task LIMIT 1
	FOR NO KEY UPDATE OF lease SKIP LOCKED`

// takeDueSQL resets due_at and returns its old value. It waits for writers of the task, so that the claimer
// reads every observation that made the task due. $2 says whether the lease of the task has expired. Such a task is
// claimed even if it is not due.
const takeDueSQL = `
	UPDATE tally SET due_at = NULL
	FROM (SELECT task, due_at FROM tally WHERE task = $1 FOR NO KEY UPDATE) AS old
	WHERE tally.task = old.task AND (old.due_at <= now() OR $2)
	RETURNING old.due_at`

const leaseSQL = `
	UPDATE lease
	SET token = token + 1, owner = $2, until = clock_timestamp() + $3, due_since = least(due_since, $4)
	WHERE task = $1
	RETURNING token`

// errClaimedByOther means that another claimer claimed and finished the task after pickSQL read its due time and before
// pickSQL locked its lease.
var errClaimedByOther = errors.New("claim a task: another replica claimed and finished it meanwhile")

// Claim leases the task that has been due longest.
func (s *Store) Claim(ctx context.Context, owner string, lease time.Duration) (store.Claim, error) {
	for {
		c := store.Claim{Owner: owner}
		err := s.inTx(ctx, "claim a task", readWrite, func(tx pgx.Tx) error {
			var id int64
			var expired bool
			err := tx.QueryRow(ctx, pickSQL).Scan(&id, &expired, &c.Task.Namespace, &c.Task.DAG, &c.Task.Task)
			if err != nil {
				return orNotFound("claim a task", err, "no task is due")
			}
			var since *time.Time
			if err := tx.QueryRow(ctx, takeDueSQL, id, expired).Scan(&since); errors.Is(err, pgx.ErrNoRows) {
				return errClaimedByOther
			} else if err != nil {
				return err
			}
			return tx.QueryRow(ctx, leaseSQL, id, owner, lease, since).Scan(&c.Token)
		})
		if !errors.Is(err, errClaimedByOther) {
			return c, err
		}
	}
}

const renewSQL = `
	UPDATE lease SET until = now() + $6
	FROM task
	WHERE lease.task = task.id AND task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND lease.owner = $4 AND lease.token = $5`

// Renew extends a lease. It also extends an expired lease that no other owner has claimed.
func (s *Store) Renew(ctx context.Context, c store.Claim, lease time.Duration) error {
	tag, err := s.pool.Exec(ctx, renewSQL, c.Task.Namespace, c.Task.DAG, c.Task.Task, c.Owner, c.Token, lease)
	if err == nil && tag.RowsAffected() == 0 {
		return lostLease(c)
	}
	return wrapError("renew a lease", err)
}

const releaseSQL = `
	UPDATE lease SET owner = NULL, until = NULL, due_since = NULL
	FROM task
	WHERE lease.task = task.id AND task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
		AND lease.owner = $4 AND lease.token = $5
	RETURNING task.id`

const dueAgainSQL = `
	UPDATE tally SET due_at = least(due_at, $2) WHERE task = $1`

// Finish releases a claim. Observations that were recorded since the claim have set due_at again.
func (s *Store) Finish(ctx context.Context, c store.Claim, retry time.Time) error {
	return s.inTx(ctx, "finish a claim", readWrite, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, releaseSQL, c.Task.Namespace, c.Task.DAG, c.Task.Task, c.Owner, c.Token).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return lostLease(c)
		}
		if err != nil || retry.IsZero() {
			return err
		}
		_, err = tx.Exec(ctx, dueAgainSQL, id, retry)
		return err
	})
}

const backlogSQL = `
	SELECT count(*), coalesce(now() - min(due_at), interval '0')
	FROM tally
	WHERE due_at <= now()`

// Backlog returns the number of due tasks, and for how long the first of them has been due.
func (s *Store) Backlog(ctx context.Context) (store.Backlog, error) {
	var b store.Backlog
	err := s.pool.QueryRow(ctx, backlogSQL).Scan(&b.Waiting, &b.Oldest)
	return b, wrapError("count due tasks", err)
}

func lostLease(c store.Claim) error {
	return sizing.Errorf(sizing.Conflict, "use a lease: %s lost its lease on %s, because another owner claimed the task, the claim is finished, or the task was renamed or deleted; claim again", c.Owner, c.Task)
}
