package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const lockActiveSQL = `
	SELECT id, coalesce(active_version, 0),
		CASE WHEN pinned_version = active_version THEN coalesce(pinned_by, '') ELSE '' END
	FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR NO KEY UPDATE`

type champion struct {
	task     int64  // id
	version  int    // 0 if there is none
	pinnedBy string // the person who pinned it, or the watchdog; empty if it is not pinned
}

// lockActive locks the row of the task until the transaction ends.
func lockActive(ctx context.Context, tx pgx.Tx, task sizing.TaskKey) (c champion, err error) {
	err = tx.QueryRow(ctx, lockActiveSQL, task.Namespace, task.DAG, task.Task).Scan(&c.task, &c.version, &c.pinnedBy)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownTask(task)
	}
	return c, err
}

// publishSQL stores a model as the next version. The newest version is never deleted, so no number is used
// twice. $7 is the evaluation.
const publishSQL = `
	INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob, share)
	SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9
	FROM model WHERE task = $1
	RETURNING version`

const promoteSQL = `
	UPDATE task SET active_version = $2, pinned_version = NULL, pinned_by = NULL WHERE id = $1`

// pruneSQL deletes the versions up to $2, except multiples of $3 above $4.
const pruneSQL = `
	DELETE FROM model
	WHERE task = $1 AND version <= $2 AND (version % $3 <> 0 OR version <= $4)`

// Publish stores m and activates it, or returns Conflict if the active version differs from `expected` or is
// pinned by a person.
func (s *Store) Publish(ctx context.Context, m store.Model, expected int) (version int, err error) {
	err = s.inTx(ctx, "publish a model", readWrite, func(tx pgx.Tx) error {
		old, err := lockActive(ctx, tx, m.Task)
		if err != nil {
			return err
		}
		if old.version != expected {
			return sizing.Errorf(sizing.Conflict, "publish a model: the active version of %s is %d, but the training started from version %d (0: none); train again", m.Task, old.version, expected)
		}
		if old.pinnedBy != "" && old.pinnedBy != store.Watchdog {
			return sizing.Errorf(sizing.Conflict, "publish a model: version %d of %s is pinned by %s; unpin it first", old.version, m.Task, old.pinnedBy)
		}
		err = tx.QueryRow(ctx, publishSQL, old.task, m.Family, m.Format, m.Observations, m.LastSeq, m.TrainedAt, m.Evaluation, m.Blob, m.Share).Scan(&version)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, promoteSQL, old.task, version); err != nil {
			return err
		}
		err = audit(ctx, tx, change{
			task: m.Task, action: store.ModelActivated, before: old.state(), after: champion{version: version}.state(), routine: true,
		})
		if err != nil {
			return err
		}
		if err := notify(ctx, tx, m.Task); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, pruneSQL, old.task, version-store.KeepVersions,
			store.MilestoneEvery, version-store.KeepMilestones*store.MilestoneEvery)
		return err
	})
	return version, err
}

// modelColumns are the columns that scanModel reads, except the blob.
const modelColumns = `model.version, model.family, model.format, model.observations, model.last_seq, model.trained_at,
		model.exam, model.version IS NOT DISTINCT FROM task.active_version,
		CASE WHEN model.version = task.active_version AND model.version = task.pinned_version THEN coalesce(task.pinned_by, '') ELSE '' END,
		coalesce(model.version = ANY (task.withdrawn), false)`

const activeModelSQL = `
	SELECT ` + modelColumns + `, model.blob
	FROM task
	JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

// ActiveModel returns the active model with its blob.
func (s *Store) ActiveModel(ctx context.Context, task sizing.TaskKey) (store.Model, error) {
	m := store.Model{Task: task}
	err := scanModel(s.pool.QueryRow(ctx, activeModelSQL, task.Namespace, task.DAG, task.Task), &m)
	return m, orNotFound("read a model", err, "%s has no active model", task)
}

const modelSQL = `
	SELECT ` + modelColumns + `, model.blob
	FROM task
	JOIN model ON model.task = task.id AND model.version = $4
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

// Model returns a stored version with its blob.
func (s *Store) Model(ctx context.Context, task sizing.TaskKey, version int) (store.Model, error) {
	m := store.Model{Task: task}
	err := scanModel(s.pool.QueryRow(ctx, modelSQL, task.Namespace, task.DAG, task.Task, version), &m)
	return m, orNotFound("read a model", err, "version %d of %s is not stored: the store keeps the %d newest versions, up to %d milestones (every %dth version) before them, and the active one",
		version, task, store.KeepVersions, store.KeepMilestones, store.MilestoneEvery)
}

const modelVersionsSQL = `
	SELECT ` + modelColumns + `, NULL::bytea
	FROM task
	JOIN model ON model.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	ORDER BY model.version DESC`

// ModelVersions lists the stored versions, newest first, without blobs.
func (s *Store) ModelVersions(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	rows, err := s.pool.Query(ctx, modelVersionsSQL, task.Namespace, task.DAG, task.Task)
	if err != nil {
		return nil, wrapError("list models", err)
	}
	models, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Model, error) {
		m := store.Model{Task: task}
		err := scanModel(row, &m)
		return m, err
	})
	return models, wrapError("list models", err)
}

func scanModel(row pgx.Row, m *store.Model) error {
	err := row.Scan(&m.Version, &m.Family, &m.Format, &m.Observations, &m.LastSeq, &m.TrainedAt, &m.Evaluation, &m.Active, &m.PinnedBy, &m.Withdrawn, &m.Blob)
	m.TrainedAt = m.TrainedAt.UTC()
	return err
}

const activeVersionsSQL = `
	SELECT namespace, dag_id, task_id, active_version
	FROM task WHERE active_version IS NOT NULL`

// ActiveVersions returns the active version of every task that has one.
func (s *Store) ActiveVersions(ctx context.Context) (map[sizing.TaskKey]int, error) {
	rows, err := s.pool.Query(ctx, activeVersionsSQL)
	if err != nil {
		return nil, wrapError("list active models", err)
	}
	versions := map[sizing.TaskKey]int{}
	var key sizing.TaskKey
	var version int
	_, err = pgx.ForEachRow(rows, []any{&key.Namespace, &key.DAG, &key.Task, &version}, func() error {
		versions[key] = version
		return nil
	})
	return versions, wrapError("list active models", err)
}

const sharesSQL = `
	SELECT task.task_id, model.version, model.share, CASE WHEN model.share IS NULL THEN model.blob END
	FROM task
	JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.namespace = $1 AND task.dag_id = $2`

// Shares reads the shares of a DAG's active models. A model without a stored share has its blob instead. Because blobs
// are large, Shares reads one model at a time and passes it to the function `each`.
func (s *Store) Shares(ctx context.Context, task sizing.TaskKey, each func(store.Model) error) error {
	rows, err := s.pool.Query(ctx, sharesSQL, task.Namespace, task.DAG)
	if err != nil {
		return wrapError("read shares", err)
	}
	defer rows.Close()
	for rows.Next() {
		m := store.Model{Task: task, Active: true}
		if err := rows.Scan(&m.Task.Task, &m.Version, &m.Share, &m.Blob); err != nil {
			return wrapError("read shares", err)
		}
		if err := each(m); err != nil {
			return err
		}
	}
	return wrapError("read shares", rows.Err())
}

const namespaceSharesSQL = `
	SELECT task.dag_id, task.task_id, model.version, model.share
	FROM task
	JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.namespace = $1 AND model.share IS NOT NULL
	ORDER BY task.dag_id, task.task_id`

// NamespaceShares reads the shares of the active models in a namespace.
func (s *Store) NamespaceShares(ctx context.Context, namespace string, each func(store.Model) error) error {
	rows, err := s.pool.Query(ctx, namespaceSharesSQL, namespace)
	if err != nil {
		return wrapError("read the shares of a namespace", err)
	}
	m := store.Model{Task: sizing.TaskKey{Namespace: namespace}, Active: true}
	_, err = pgx.ForEachRow(rows, []any{&m.Task.DAG, &m.Task.Task, &m.Version, &m.Share}, func() error { return each(m) })
	return wrapError("read the shares of a namespace", err)
}

const unpublishedSQL = `
	SELECT namespace, dag_id, task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE active_version IS NULL AND tally.observations > 0`

// Unpublished lists the tasks with observations and without an active model.
func (s *Store) Unpublished(ctx context.Context) ([]sizing.TaskKey, error) {
	rows, err := s.pool.Query(ctx, unpublishedSQL)
	if err != nil {
		return nil, wrapError("list tasks without a model", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (key sizing.TaskKey, err error) {
		err = row.Scan(&key.Namespace, &key.DAG, &key.Task)
		return key, err
	})
	return keys, wrapError("list tasks without a model", err)
}
