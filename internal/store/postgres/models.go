package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const lockActiveSQL = `
	SELECT id, coalesce(active_version, 0)
	FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR NO KEY UPDATE`

// The newest version is always kept, so that no number is given twice.
const publishSQL = `
	INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, exam, blob)
	SELECT $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6, $7, $8
	FROM model WHERE task = $1
	RETURNING version`

const pruneSQL = `
	DELETE FROM model
	WHERE task = $1 AND version <= $2`

// Publish stores m and makes it active, if the active version is still expected.
func (s *Store) Publish(ctx context.Context, m store.Model, expected int) (version int, err error) {
	err = s.inTx(ctx, "publish a model", readWrite, func(tx pgx.Tx) error {
		id, active, err := lockActive(ctx, tx, m.Task)
		if err != nil {
			return err
		}
		if active != expected {
			return sizing.Errorf(sizing.Conflict, "version %d of %s is active, not %d as when training began", active, m.Task, expected)
		}
		err = tx.QueryRow(ctx, publishSQL, id, m.Family, m.Format, m.Observations, m.LastSeq, m.TrainedAt, m.Exam, m.Blob).Scan(&version)
		if err != nil {
			return err
		}
		if err := activate(ctx, tx, m.Task, id, version); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, pruneSQL, id, version-store.KeepVersions)
		return err
	})
	return version, err
}

func lockActive(ctx context.Context, tx pgx.Tx, task sizing.TaskKey) (id int64, active int, err error) {
	err = tx.QueryRow(ctx, lockActiveSQL, task.Namespace, task.DAG, task.Task).Scan(&id, &active)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownTask(task)
	}
	return id, active, err
}

const activateSQL = `
	UPDATE task SET active_version = $2 WHERE id = $1`

func activate(ctx context.Context, tx pgx.Tx, task sizing.TaskKey, id int64, version int) error {
	if _, err := tx.Exec(ctx, activateSQL, id, version); err != nil {
		return err
	}
	return notify(ctx, tx, task)
}

const storedSQL = `
	SELECT EXISTS (SELECT FROM model WHERE task = $1 AND version = $2)`

// Activate makes a stored version active again.
func (s *Store) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	return s.inTx(ctx, "activate a model", readWrite, func(tx pgx.Tx) error {
		id, _, err := lockActive(ctx, tx, task)
		if err != nil {
			return err
		}
		var stored bool
		if err := tx.QueryRow(ctx, storedSQL, id, version).Scan(&stored); err != nil {
			return err
		}
		if !stored {
			return sizing.Errorf(sizing.NotFound, "version %d of %s is not stored: the %d newest are, and the active one", version, task, store.KeepVersions)
		}
		return activate(ctx, tx, task, id, version)
	})
}

const activeModelSQL = `
	SELECT model.version, model.family, model.format, model.observations, model.last_seq, model.trained_at,
		model.exam, true, model.blob
	FROM task
	JOIN model ON model.task = task.id AND model.version = task.active_version
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3`

// ActiveModel reads the active model with its blob.
func (s *Store) ActiveModel(ctx context.Context, task sizing.TaskKey) (store.Model, error) {
	m := store.Model{Task: task}
	err := scanModel(s.pool.QueryRow(ctx, activeModelSQL, task.Namespace, task.DAG, task.Task), &m)
	return m, found("read a model", err, "%s has no active model", task)
}

const modelVersionsSQL = `
	SELECT model.version, model.family, model.format, model.observations, model.last_seq, model.trained_at,
		model.exam, model.version IS NOT DISTINCT FROM task.active_version, NULL::bytea
	FROM task
	JOIN model ON model.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	ORDER BY model.version DESC`

// ModelVersions lists the stored versions, newest first, without blobs.
func (s *Store) ModelVersions(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	rows, err := s.pool.Query(ctx, modelVersionsSQL, task.Namespace, task.DAG, task.Task)
	if err != nil {
		return nil, explain("list models", err)
	}
	models, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (store.Model, error) {
		m := store.Model{Task: task}
		return m, scanModel(row, &m)
	})
	return models, explain("list models", err)
}

func scanModel(row pgx.Row, m *store.Model) error {
	err := row.Scan(&m.Version, &m.Family, &m.Format, &m.Observations, &m.LastSeq, &m.TrainedAt, &m.Exam, &m.Active, &m.Blob)
	m.TrainedAt = m.TrainedAt.UTC()
	return err
}

const activeVersionsSQL = `
	SELECT namespace, dag_id, task_id, active_version
	FROM task WHERE active_version IS NOT NULL`

// ActiveVersions lists the active version of every task that has one.
func (s *Store) ActiveVersions(ctx context.Context) (map[sizing.TaskKey]int, error) {
	rows, err := s.pool.Query(ctx, activeVersionsSQL)
	if err != nil {
		return nil, explain("list active models", err)
	}
	versions := map[sizing.TaskKey]int{}
	var key sizing.TaskKey
	var version int
	_, err = pgx.ForEachRow(rows, []any{&key.Namespace, &key.DAG, &key.Task, &version}, func() error {
		versions[key] = version
		return nil
	})
	return versions, explain("list active models", err)
}
