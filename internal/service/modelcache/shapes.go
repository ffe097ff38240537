package modelcache

import (
	"context"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// shapes holds the shapes of run times of a namespace. A shape is a distribution of the ratio of run time to
// prediction that several tasks share.
type shapes struct {
	version atomic.Int64                 // of the stored shapes that were read last, even if they could not be decoded
	unknown *Task                        // returned for every task of the namespace that the cache does not know
	loaded  atomic.Pointer[loadedShapes] // nil if none are loaded yet
}

type loadedShapes struct {
	set        *taskmodel.Shapes
	classifier *cohort.Shapes // nil if none was stored
}

func (s *shapes) set() *taskmodel.Shapes {
	if l := s.loaded.Load(); l != nil {
		return l.set
	}
	return nil
}

func newShapes() *shapes {
	s := &shapes{}
	s.unknown = &Task{pool: &pool{}, shapes: s}
	return s
}

// unknownTask returns the Task that stands for all tasks of a namespace that the cache does not know. It has the
// shapes of the namespace.
func (c *Cache) unknownTask(namespace string) *Task {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.shapes[namespace]; s != nil {
		return s.unknown
	}
	return c.unknown
}

// shapesOf returns the shapes of a namespace. The caller holds c.mu.
func (c *Cache) shapesOf(namespace string) *shapes {
	s := c.shapes[namespace]
	if s == nil {
		s = newShapes()
		c.shapes[namespace] = s
	}
	return s
}

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
		loaded, err := openShapes(stored.Content)
		if err != nil {
			c.log.Warn("failed to decode the shapes of run times; the last shapes remain in use", "namespace", namespace, "err", err)
		} else {
			s.loaded.Store(loaded)
		}
		s.version.Store(int64(stored.Version))
	}
}

func openShapes(content []byte) (*loadedShapes, error) {
	set, encoded, err := taskmodel.ReadShapes(content)
	if err != nil {
		return nil, err
	}
	classifier, err := cohort.OpenShapes(encoded, len(set.Shapes))
	if err != nil {
		return nil, err
	}
	return &loadedShapes{set, classifier}, nil
}
