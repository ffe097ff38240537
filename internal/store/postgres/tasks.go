package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const ownersSQL = `
	SELECT DISTINCT ON (task.id) task.namespace, task.dag_id, task.task_id, entries->'owner'->>0
	FROM task JOIN metadata_set ON metadata_set.task = task.id
	WHERE ($1 = '' OR namespace = $1) AND entries->'owner'->>0 IS NOT NULL
	ORDER BY task.id, metadata_set.id DESC`

// Owners returns the owner of each task with an owner in its metadata.
func (s *Store) Owners(ctx context.Context, namespace string) (map[sizing.TaskKey]string, error) {
	rows, err := s.pool.Query(ctx, ownersSQL, namespace)
	if err != nil {
		return nil, wrapError("read the owners of tasks", err)
	}
	owners := map[sizing.TaskKey]string{}
	var key sizing.TaskKey
	var owner string
	_, err = pgx.ForEachRow(rows, []any{&key.Namespace, &key.DAG, &key.Task, &owner}, func() error {
		owners[key] = owner
		return nil
	})
	return owners, wrapError("read the owners of tasks", err)
}

const policiesSQL = `
	SELECT namespace, dag_id, task_id, policy
	FROM task WHERE policy IS NOT NULL`

// Policies returns all policies that are set.
func (s *Store) Policies(ctx context.Context) (map[sizing.TaskKey]sizing.Policy, error) {
	rows, err := s.pool.Query(ctx, policiesSQL)
	if err != nil {
		return nil, wrapError("read policies", err)
	}
	policies := map[sizing.TaskKey]sizing.Policy{}
	for rows.Next() {
		var key sizing.TaskKey
		var policy sizing.Policy // declared per row, so that an omitted field does not get the value of the previous row
		if err := rows.Scan(&key.Namespace, &key.DAG, &key.Task, &policy); err != nil {
			return nil, wrapError("read policies", err)
		}
		policies[key] = policy
	}
	return policies, wrapError("read policies", rows.Err())
}

const policySQL = `
	SELECT policy
	FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND policy IS NOT NULL`

// Policy returns one policy, or the zero Policy if none is set.
func (s *Store) Policy(ctx context.Context, task sizing.TaskKey) (policy sizing.Policy, err error) {
	err = s.pool.QueryRow(ctx, policySQL, task.Namespace, task.DAG, task.Task).Scan(&policy)
	if errors.Is(err, pgx.ErrNoRows) {
		return sizing.Policy{}, nil
	}
	return policy, wrapError("read a policy", err)
}

const setPolicySQL = `
	UPDATE task SET policy = $2 FROM task AS old
	WHERE task.id = $1 AND old.id = $1
	RETURNING old.policy`

// SetPolicy replaces a policy. It creates the task if it is unknown.
func (s *Store) SetPolicy(ctx context.Context, task sizing.TaskKey, policy sizing.Policy) error {
	return s.inTx(ctx, "set a policy", readWrite, func(tx pgx.Tx) error {
		id, _, err := lockOrCreateTask(ctx, tx, task)
		if err != nil {
			return err
		}
		var before []byte
		if err := tx.QueryRow(ctx, setPolicySQL, id, policy).Scan(&before); err != nil {
			return err
		}
		if err := audit(ctx, tx, change{task: task, action: store.PolicyChanged, before: rawJSON(before), after: policy}); err != nil {
			return err
		}
		return notify(ctx, tx, task)
	})
}

const deleteTaskSQL = `
	DELETE FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3` // ON DELETE CASCADE removes the rows that refer to the task

const deleteReceiptsSQL = `
	DELETE FROM receipt
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

const deleteLookupsSQL = `
	DELETE FROM inquiry
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

// DeleteTask deletes the task and its data, except its audit trail.
func (s *Store) DeleteTask(ctx context.Context, task sizing.TaskKey) error {
	err := s.inTx(ctx, "delete a task", readWrite, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, deleteTaskSQL, task.Namespace, task.DAG, task.Task)
		if err == nil && tag.RowsAffected() == 0 {
			return unknownTask(task)
		}
		if err == nil {
			_, err = tx.Exec(ctx, deleteReceiptsSQL, task.Namespace, task.DAG, task.Task)
		}
		if err == nil {
			_, err = tx.Exec(ctx, deleteLookupsSQL, task.Namespace, task.DAG, task.Task)
		}
		if err == nil {
			err = deleteCompact(ctx, tx, task)
		}
		if err == nil {
			err = audit(ctx, tx, change{task: task, action: store.TaskDeleted})
		}
		if err != nil {
			return err
		}
		return notify(ctx, tx, task)
	})
	s.schemas.remove(task)
	s.vocabularies.remove(task)
	return err
}

const renameTaskSQL = `
	UPDATE task SET namespace = $4, dag_id = $5, task_id = $6
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

func taskExists(name sizing.TaskKey) error {
	return sizing.Errorf(sizing.Conflict, "rename a task: %s already exists; delete it first, or choose another name", name)
}

const renameReceiptsSQL = `
	UPDATE receipt SET namespace = $4, dag_id = $5, task_id = $6
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

// renameLookupsSQL keeps the lookups that the new name already has: receipts, and thus lookups, may exist without a task.
const renameLookupsSQL = `
	WITH renamed AS (
		DELETE FROM inquiry
		WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
		RETURNING run_id, map_index, try_number, asked_at, again_at)
	INSERT INTO inquiry (namespace, dag_id, task_id, run_id, map_index, try_number, asked_at, again_at)
	SELECT $4, $5, $6, renamed.* FROM renamed
	ON CONFLICT (namespace, dag_id, task_id, run_id, map_index, try_number) DO NOTHING`

// Rename gives a task another name. Its audit trail keeps the old name.
func (s *Store) Rename(ctx context.Context, from, to sizing.TaskKey) error {
	names := []any{from.Namespace, from.DAG, from.Task, to.Namespace, to.DAG, to.Task}
	err := s.inTx(ctx, "rename a task", readWrite, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, renameTaskSQL, names...)
		if err == nil && tag.RowsAffected() == 0 {
			return unknownTask(from)
		}
		if err == nil && from == to {
			return taskExists(to) // the rollback restores the baseline, which the trigger baseline_follow has deleted
		}
		if err == nil {
			_, err = tx.Exec(ctx, renameReceiptsSQL, names...)
		}
		if err == nil {
			_, err = tx.Exec(ctx, renameLookupsSQL, names...)
		}
		if err == nil {
			err = renameCompact(ctx, tx, from, to)
		}
		if err == nil {
			err = audit(ctx, tx, change{task: from, action: store.TaskRenamed, before: taskJSON(from), after: taskJSON(to)})
		}
		if err == nil {
			err = notify(ctx, tx, from)
		}
		if err != nil {
			return err
		}
		return notify(ctx, tx, to)
	})
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "23505" { // unique_violation
		err = taskExists(to)
	}
	s.schemas.remove(from)
	s.vocabularies.remove(from)
	s.vocabularies.remove(to)
	return err
}
