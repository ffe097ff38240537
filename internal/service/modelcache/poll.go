package modelcache

import (
	"context"
	"reflect"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Poll reads changes at intervals until ctx ends, in case notifications were lost.
func (c *Cache) Poll(ctx context.Context) {
	for sleep(ctx, c.cfg.PollInterval) {
		c.poll(ctx)
	}
}

// poll applies the changes since the last resync or poll, and refreshes the decoded tasks without an active
// model. It resyncs instead if there was no resync yet, or if the database was replaced.
func (c *Cache) poll(ctx context.Context) {
	begun, since := time.Now(), c.watermark.Load()
	if since == 0 {
		c.resync(ctx)
		return
	}
	stale, watermark, err := c.applyChanges(ctx, since)
	switch {
	case err != nil:
		c.log.Warn("poll: failed to list changed tasks", "err", err)
		return
	case watermark < since:
		c.resync(ctx)
		return
	}
	c.reloadPools(ctx)
	c.reloadNamespaces(ctx)
	c.reloadShapes(ctx)
	for _, key := range append(stale, c.withoutActiveModel()...) {
		c.RefreshOrLog(ctx, key)
	}
	c.watermark.Store(watermark)
	c.freshness.markSynced(begun)
}

// applyChanges sets the versions of changed tasks, and reads the policies that differ. It returns
// the tasks to refresh: tasks with a decoded model of another version, and deleted or renamed
// tasks. If the watermark is lower than `since`, the database was replaced, and applyChanges does nothing.
func (c *Cache) applyChanges(ctx context.Context, since int64) (stale []sizing.TaskKey, watermark int64, err error) {
	changed, err := c.store.ChangedSince(ctx, since)
	if err != nil || changed.Watermark < since {
		return nil, changed.Watermark, err
	}
	for i := range changed.Tasks {
		task := &changed.Tasks[i]
		if task.IsGone {
			stale = append(stale, task.Task)
			continue
		}
		t := c.setVersion(task.Task, task.Version)
		if t.version() != task.Version {
			stale = append(stale, task.Task)
		}
		if t.hasPolicy(&task.Policy) {
			continue
		}
		if _, err := c.loadPolicy(ctx, task.Task); err != nil { // the listed policy may be older than the policy in memory
			return nil, 0, err
		}
	}
	return stale, changed.Watermark, nil
}

func (t *Task) hasPolicy(p *sizing.Policy) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return reflect.DeepEqual(t.policy, *p)
}

// withoutActiveModel lists the decoded tasks without an active model. Other replicas may have received more rows of them.
func (c *Cache) withoutActiveModel() (keys []sizing.TaskKey) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for key, t := range c.tasks {
		if t.IsDecoded() && t.version() == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// getOrAdd returns a task. If the cache does not know the task, getOrAdd creates it, with a model that is not decoded.
func (c *Cache) getOrAdd(key sizing.TaskKey) *Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[key]
	if t == nil {
		t = c.add(key)
		t.encoded.Store(&encodedModel{})
	}
	return t
}
