package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// knownTask is a task's row as this process saw it last. It is never changed: a
// grown schema is a new knownTask.
type knownTask struct {
	id     int64
	key    sizing.TaskKey
	schema sizing.Schema
	fields map[string][]int // indexes in schema.Fields
}

func newKnownTask(id int64, key sizing.TaskKey, schema sizing.Schema) *knownTask {
	k := &knownTask{id: id, key: key, schema: schema, fields: make(map[string][]int, len(schema.Fields))}
	for i := range schema.Fields {
		name := schema.Fields[i].Name
		k.fields[name] = append(k.fields[name], i)
	}
	return k
}

// encode is f as a row of the task's schema; ok is false where the schema has to
// grow first. Features that are nil are a row that is nil: not known.
func (k *knownTask) encode(f sizing.Features) (row []float64, ok bool) {
	if f == nil {
		return nil, true
	}
	row = k.schema.Row(f, make([]float64, 0, len(k.schema.Fields)))
	for name, v := range f {
		if v.Kind == sizing.Missing {
			continue
		}
		held := false
		for _, i := range k.fields[name] {
			held = held || k.schema.Fields[i].Holds(v)
			if row[i] == sizing.Unseen && k.dictionaryGrows(i) {
				return nil, false
			}
		}
		if !held && len(k.schema.Fields) < sizing.MaxFields {
			return nil, false
		}
	}
	return row, true
}

func (k *knownTask) dictionaryGrows(i int) bool {
	field := &k.schema.Fields[i]
	return field.Kind == sizing.Category && len(field.Categories) < sizing.MaxCategories
}

// schemas remembers tasks, so that the common Record asks for none. What it holds
// may be old: a schema only grows, and every write checks that the id still bears
// the name.
type schemas struct {
	mu    sync.RWMutex
	known map[sizing.TaskKey]*knownTask
}

func (c *schemas) get(key sizing.TaskKey) *knownTask {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.known[key]
}

// put keeps the newer of two versions.
func (c *schemas) put(k *knownTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[sizing.TaskKey]*knownTask{}
	}
	if old := c.known[k.key]; old == nil || old.id != k.id || old.schema.Version < k.schema.Version {
		c.known[k.key] = k
	}
}

func (c *schemas) forget(key sizing.TaskKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}

const lockTaskSQL = `
	SELECT id, schema
	FROM task
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR NO KEY UPDATE` // does not wait for those who write observations

const growSchemaSQL = `
	UPDATE task SET schema = $2 WHERE id = $1`

// grow makes the task if it is new, and extends its schema by what the features
// hold and it lacks. It is a transaction of its own and locks one task, so that
// growing writers never deadlock, and two of them never give one code twice.
func (s *Store) grow(ctx context.Context, key sizing.TaskKey, features []sizing.Features) (*knownTask, error) {
	var grown *knownTask
	err := s.inTx(ctx, "grow a schema", readWrite, func(tx pgx.Tx) error {
		id, schema, err := lockOrCreateTask(ctx, tx, key)
		if err != nil {
			return err
		}
		if admitAll(&schema, features) {
			if _, err := tx.Exec(ctx, growSchemaSQL, id, schema); err != nil {
				return err
			}
		}
		grown = newKnownTask(id, key, schema)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.schemas.put(grown)
	return grown, nil
}

// admitAll extends schema until it holds all features, and reports whether it changed. A
// later row may add a field of another kind to a name, and a category field then needs
// the values of earlier rows too: hence the repetition. A name has at most one field of
// each kind, so that it ends.
func admitAll(schema *sizing.Schema, features []sizing.Features) (changed bool) {
	for again := true; again; {
		again = false
		for _, f := range features {
			again = schema.Admit(f) || again
		}
		changed = changed || again
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

func lockOrCreateTask(ctx context.Context, tx pgx.Tx, key sizing.TaskKey) (id int64, schema sizing.Schema, err error) {
	lock := func() error {
		return tx.QueryRow(ctx, lockTaskSQL, key.Namespace, key.DAG, key.Task).Scan(&id, &schema)
	}
	if err = lock(); errors.Is(err, pgx.ErrNoRows) {
		if _, err = tx.Exec(ctx, createTaskSQL, key.Namespace, key.DAG, key.Task); err == nil {
			err = lock()
		}
		if errors.Is(err, pgx.ErrNoRows) {
			err = errStale // it was there just now
		}
	}
	return id, schema, err
}
