package modelcache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// pool is the sum of the statistics (shares) in the active models of one DAG, whose tasks mostly read the same inputs
// and have similar costs. It depends only on stored models and is therefore equal on all replicas.
type pool struct {
	version atomic.Uint64 // increases with every change
	loadMu  sync.Mutex    // held from reading shares until they are set; locked before Task.mu

	mu       sync.Mutex
	isLoaded bool                      // whether the shares of all tasks of the DAG were read
	isStale  bool                      // whether a share may have changed, because another version of a model became active
	shares   map[string]taskmodel.Pool // by task id
	sum      taskmodel.Pool            // of all shares
	others   *taskmodel.Namespace      // the other DAGs of the namespace; nil: unknown; setOthers replaces it and never changes its value
}

// set replaces the share of a task; a nil `share` removes it.
func (p *pool) set(name string, share *taskmodel.Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, known := p.shares[name]
	switch {
	case share == nil && !known, share != nil && known && old == *share:
		return
	case share == nil:
		delete(p.shares, name)
	default:
		if p.shares == nil {
			p.shares = map[string]taskmodel.Pool{}
		}
		p.shares[name] = *share
	}
	p.updateSum()
}

func (p *pool) setAll(shares map[string]taskmodel.Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isLoaded, p.isStale = true, false
	if !maps.Equal(p.shares, shares) {
		p.shares = shares
		p.updateSum()
	}
}

// updateSum adds shares in order of task ids, so that rounding is equal on all replicas. The
// caller holds p.mu.
func (p *pool) updateSum() {
	p.sum = taskmodel.Pool{}
	for _, name := range slices.Sorted(maps.Keys(p.shares)) {
		share := p.shares[name]
		p.sum.Add(&share)
	}
	p.version.Add(1)
}

func (p *pool) setOthers(others *taskmodel.Namespace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.others == nil || *p.others != *others {
		p.others = others
		p.version.Add(1)
	}
}

// sumWith returns the sum of the shares, with `share` in place of the share of the active model of the task `name`. It also
// returns the statistics of the other DAGs, and the version of the pool.
func (p *pool) sumWith(name string, share taskmodel.Pool) (sum taskmodel.Pool, others *taskmodel.Namespace, version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum = p.sum
	if published, ok := p.shares[name]; ok {
		sum.Remove(&published)
	}
	sum.Add(&share)
	return sum, p.others, p.version.Load()
}

func (p *pool) needsLoading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.isLoaded || p.isStale
}

func (p *pool) markStale() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isStale = true
}

func (p *pool) needsReloading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isLoaded && p.isStale
}

// loadPool reads the shares of the DAG of a task if they are needed. It skips a share that cannot be decoded, because its
// model cannot be decoded either.
func (c *Cache) loadPool(ctx context.Context, key sizing.TaskKey, p *pool) error {
	p.loadMu.Lock()
	defer p.loadMu.Unlock()
	if !p.needsLoading() {
		return nil
	}
	shares := map[string]taskmodel.Pool{}
	err := c.store.Shares(ctx, key, func(m store.Model) error {
		share, err := taskmodel.ReadShare(m.Share, m.Blob)
		if err != nil {
			c.log.Warn("the pool of a DAG omits a model that cannot be decoded", "task", m.Task.String(), "version", m.Version, "err", err)
			return nil
		}
		shares[m.Task.Task] = share
		return nil
	})
	if err != nil {
		return err
	}
	p.setAll(shares)
	return nil
}

func (c *Cache) reloadPools(ctx context.Context) {
	stale := map[sizing.TaskKey]*pool{}
	c.mu.RLock()
	for key, p := range c.pools {
		if p.needsReloading() {
			stale[key] = p
		}
	}
	c.mu.RUnlock()
	for key, p := range stale {
		if err := c.loadPool(ctx, key, p); err != nil {
			c.log.Warn("failed to read the pool of a DAG; the previous pool stays in use", "dag", key.DAG, "err", err)
		}
	}
}
