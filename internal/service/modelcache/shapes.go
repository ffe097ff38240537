package modelcache

import (
	"context"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// shapes holds the shapes of run times of a namespace, which its tasks share.
type shapes struct {
	version atomic.Int64
	set     atomic.Pointer[taskmodel.Shapes] // nil if none are learned yet
}

// shapesOf returns the shapes of a namespace. The caller holds c.mu.
func (c *Cache) shapesOf(namespace string) *shapes {
	s := c.shapes[namespace]
	if s == nil {
		s = &shapes{}
		c.shapes[namespace] = s
	}
	return s
}

// reloadShapes reads the shapes that changed. After an error the last shapes remain in use.
func (c *Cache) reloadShapes(ctx context.Context) {
	versions, err := c.store.ShapeVersions(ctx)
	if err != nil {
		c.log.Warn("failed to list the shapes of run times; the last shapes remain in use", "err", err)
		return
	}
	for namespace, version := range versions {
		c.mu.Lock()
		s := c.shapesOf(namespace)
		c.mu.Unlock()
		if s.version.Load() == int64(version) {
			continue
		}
		stored, err := c.store.Shapes(ctx, namespace)
		if err != nil {
			c.log.Warn("failed to read the shapes of run times; the last shapes remain in use", "namespace", namespace, "err", err)
			continue
		}
		set, err := taskmodel.ReadShapes(stored.Content)
		if err != nil {
			c.log.Warn("failed to decode the shapes of run times; the last shapes remain in use", "namespace", namespace, "err", err)
		} else {
			s.set.Store(set)
		}
		s.version.Store(int64(stored.Version))
	}
}
