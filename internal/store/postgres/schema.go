package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// cachedTask is the row of a task as this process last read it. It is immutable: for an extended
// schema the cache gets a new cachedTask.
type cachedTask struct {
	id     int64
	key    sizing.TaskKey
	schema sizing.Schema
	fields map[string][]int // the indexes in schema.Fields by feature name
}

func newCachedTask(id int64, key sizing.TaskKey, schema sizing.Schema) *cachedTask {
	task := &cachedTask{id: id, key: key, schema: schema, fields: make(map[string][]int, len(schema.Fields))}
	for i := range schema.Fields {
		name := schema.Fields[i].Name
		task.fields[name] = append(task.fields[name], i)
	}
	return task
}

// encode returns the features as a row of the schema; ok is false if the schema must be extended first. For nil features the
// row is nil, which means unknown.
func (task *cachedTask) encode(f sizing.Features) (row []float64, ok bool) {
	if f == nil {
		return nil, true
	}
	row = task.schema.Row(f, make([]float64, 0, len(task.schema.Fields)))
	for name, v := range f {
		if v.Kind == sizing.Missing {
			continue
		}
		hasField := false
		for _, i := range task.fields[name] {
			hasField = hasField || task.schema.Fields[i].CanStore(v)
			if row[i] == sizing.Unseen && task.schema.Fields[i].CanAddCategory(v) {
				return nil, false
			}
		}
		if !hasField && len(task.schema.Fields) < sizing.MaxFields {
			return nil, false
		}
	}
	return row, true
}

// schemaCache caches tasks, so that Record usually reads no task. An entry may be stale without
// harm: a schema only grows, and every write checks that the id still has the name.
type schemaCache struct {
	mu    sync.RWMutex
	tasks map[sizing.TaskKey]*cachedTask
}

func (c *schemaCache) get(key sizing.TaskKey) *cachedTask {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tasks[key]
}

func (c *schemaCache) put(task *cachedTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tasks == nil {
		c.tasks = map[sizing.TaskKey]*cachedTask{}
	}
	if old := c.tasks[task.key]; old == nil || old.id != task.id || old.schema.Version < task.schema.Version {
		c.tasks[task.key] = task
	}
}

func (c *schemaCache) remove(key sizing.TaskKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, key)
}

const lockTaskSQL = `
	SELECT id, schema
	FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR NO KEY UPDATE` // compatible with the key-share locks of Record

const extendSchemaSQL = `
	UPDATE task SET schema = $2 WHERE id = $1`

// extendSchema adds the features to the schema of a task, and creates the task if it is unknown. Its transaction locks only
// this task, so that concurrent calls neither deadlock nor assign a category code twice.
func (s *Store) extendSchema(ctx context.Context, key sizing.TaskKey, features []sizing.Features) (*cachedTask, error) {
	var extended *cachedTask
	err := s.inTx(ctx, "extend a schema", readWrite, func(tx pgx.Tx) error {
		id, schema, err := lockOrCreateTask(ctx, tx, key)
		if err != nil {
			return err
		}
		if extendAll(&schema, features) {
			if _, err := tx.Exec(ctx, extendSchemaSQL, id, schema); err != nil {
				return err
			}
		}
		extended = newCachedTask(id, key, schema)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.schemas.put(extended)
	return extended, nil
}

// extendAll extends the schema by all rows. It repeats the pass over the rows while the schema changes: a later row may add a
// field of another kind to a name, and a new category field then needs the values of earlier rows. The loop ends, because a
// name has at most one field per kind.
func extendAll(schema *sizing.Schema, features []sizing.Features) (changed bool) {
	for repeat := true; repeat; {
		repeat = false
		for _, f := range features {
			repeat = schema.Extend(f) || repeat
		}
		changed = changed || repeat
	}
	return changed
}

const createTaskSQL = `
	WITH new AS (
		INSERT INTO task (namespace, dag_id, task_id) VALUES ($1, $2, $3)
		ON CONFLICT (namespace, dag_id, task_id) DO NOTHING
		RETURNING id),
	counted AS (INSERT INTO tally (task) SELECT id FROM new)
	INSERT INTO lease (task) SELECT id FROM new`

// lockOrCreateTask locks the row of a task until the transaction ends.
func lockOrCreateTask(ctx context.Context, tx pgx.Tx, key sizing.TaskKey) (id int64, schema sizing.Schema, err error) {
	lock := func() error {
		return tx.QueryRow(ctx, lockTaskSQL, key.Namespace, key.DAG, key.Task).Scan(&id, &schema)
	}
	if err = lock(); errors.Is(err, pgx.ErrNoRows) {
		if _, err = tx.Exec(ctx, createTaskSQL, key.Namespace, key.DAG, key.Task); err == nil {
			err = lock()
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = errStale // another transaction deleted the task
		}
	}
	return id, schema, err
}
