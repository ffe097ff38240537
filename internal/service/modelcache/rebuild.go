package modelcache

import (
	"context"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Rebuild returns the model of a version in the state after it had learned a number of tries: the stored version with the
// rows that arrived later; version 0 is the model of a task that has no stored version yet. It returns nil if the version is not
// stored any more or cannot be decoded, or if the stored rows do not give that number of tries. It also returns nil if the
// version lacks maxTail or more of these tries: of so many, the model in use may have learned only the newest ones. It does
// not change the cache.
func (c *Cache) Rebuild(ctx context.Context, key sizing.TaskKey, version int, tries int64) (*taskmodel.Model, error) {
	model, lastSeq := taskmodel.New(), int64(0)
	if version > 0 {
		stored, err := c.store.Model(ctx, key, version)
		if sizing.KindOf(err) == sizing.NotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if model = c.openVersion(key, &stored); model == nil {
			return nil, nil
		}
		lastSeq = stored.LastSeq
	}
	missing := tries - int64(model.Tries)
	if missing < 0 || missing >= maxTail {
		return nil, nil
	}
	c.setPoolOf(key, model)
	if missing == 0 {
		return model, nil
	}
	tail, err := c.store.Since(ctx, key, lastSeq, int(missing))
	if err != nil && sizing.KindOf(err) != sizing.NotFound {
		return nil, err
	}
	for i := range tail.Rows {
		model.Learn(taskmodel.NewTrainingRow(&tail.Schema, &tail.Rows[i]))
	}
	c.setPoolOf(key, model)
	if int64(model.Tries) != tries {
		return nil, nil
	}
	return model, nil
}

// openVersion decodes a stored version. It returns nil if this release cannot read it.
func (c *Cache) openVersion(key sizing.TaskKey, stored *store.Model) *taskmodel.Model {
	model, err := taskmodel.Open(stored.Blob)
	if err != nil {
		c.log.Warn("failed to decode a stored model; explanations of its answers use only the receipts", "task", key.String(), "version", stored.Version, "err", err)
		return nil
	}
	return model
}

// setPoolOf sets the pool of a model to the shares of its DAG that are loaded.
func (c *Cache) setPoolOf(key sizing.TaskKey, model *taskmodel.Model) {
	if t := c.Find(key); t != nil {
		sum, others, _ := t.pool.sumWith(t.key.Task, model.Pool())
		model.SetPool(&sum, others)
	}
}
