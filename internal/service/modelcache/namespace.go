package modelcache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// namespaceInterval is the time after which the shares of a namespace are read again. Statistics over many DAGs change slowly,
// and 10,000 shares are about 5 MB.
const namespaceInterval = time.Minute

// namespace holds statistics over the DAGs of a namespace. Like pool, it depends only on stored models. Two replicas may use
// states of different times, at most namespaceInterval and one poll apart.
type namespace struct {
	loadMu sync.Mutex // held from reading shares until they are set

	mu     sync.Mutex
	readAt time.Time                 // when the shares were read last; zero: never
	dags   map[string]taskmodel.Pool // by DAG id
	sum    taskmodel.Namespace       // of all DAGs
}

// set replaces the pools, by DAG id. It adds them in the order of their ids, so that rounding is equal on all replicas.
func (n *namespace) set(dags map[string]taskmodel.Pool, readAt time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dags, n.readAt, n.sum = dags, readAt, taskmodel.Namespace{}
	for _, dag := range slices.Sorted(maps.Keys(dags)) {
		pool := dags[dag]
		n.sum.Add(&pool)
	}
}

func (n *namespace) others(dag string) *taskmodel.Namespace {
	n.mu.Lock()
	defer n.mu.Unlock()
	others := n.sum
	if pool, ok := n.dags[dag]; ok {
		others.Remove(&pool)
	}
	return &others
}

func (n *namespace) lastRead() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.readAt
}

// namespaceOf returns the statistics of a namespace. The caller holds c.mu.
func (c *Cache) namespaceOf(name string) *namespace {
	n := c.namespaces[name]
	if n == nil {
		n = &namespace{}
		c.namespaces[name] = n
	}
	return n
}

// loadNamespace reads the shares of a namespace, unless they were last read at the time `before` or later.
func (c *Cache) loadNamespace(ctx context.Context, name string, before time.Time) error {
	c.mu.Lock()
	n := c.namespaceOf(name)
	c.mu.Unlock()
	n.loadMu.Lock()
	defer n.loadMu.Unlock()
	if last := n.lastRead(); !last.IsZero() && !last.Before(before) {
		return nil
	}
	now, dags := c.cfg.Now(), map[string]taskmodel.Pool{}
	err := c.store.NamespaceShares(ctx, name, func(m store.Model) error {
		if share, err := taskmodel.ReadShare(m.Share, nil); err == nil { // loadPool logs a share that cannot be decoded
			pool := dags[m.Task.DAG]
			pool.Add(&share)
			dags[m.Task.DAG] = pool
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.set(dags, now)
	for key, p := range c.poolsIn(name) {
		p.setOthers(n.others(key.DAG))
	}
	return nil
}

// ReloadNamespace reads the shares of a namespace again, so that answers do not depend on the time of the next poll.
func (c *Cache) ReloadNamespace(ctx context.Context, name string) {
	c.loadNamespaceOrLog(ctx, name, c.cfg.Now().Add(time.Nanosecond)) // later than any read that has begun
}

func (c *Cache) loadNamespaceOrLog(ctx context.Context, name string, before time.Time) {
	if err := c.loadNamespace(ctx, name, before); err != nil && ctx.Err() == nil {
		c.log.Warn("failed to read the shares of a namespace; the previous statistics stay in use", "namespace", name, "err", err)
	}
}

func (c *Cache) poolsIn(name string) map[sizing.TaskKey]*pool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	pools := map[sizing.TaskKey]*pool{}
	for key, p := range c.pools {
		if key.Namespace == name {
			pools[key] = p
		}
	}
	return pools
}

func (c *Cache) reloadNamespaces(ctx context.Context) {
	c.mu.RLock()
	names := slices.Sorted(maps.Keys(c.namespaces))
	c.mu.RUnlock()
	for _, name := range names {
		c.loadNamespaceOrLog(ctx, name, c.cfg.Now().Add(-namespaceInterval))
	}
}
