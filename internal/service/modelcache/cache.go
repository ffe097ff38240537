// Package modelcache holds the decoded model and the policy of each task in memory, and keeps
// them equal to the store. A start with many tasks is fast: before a replica is ready, it reads the version of
// each model and not the model itself. It decodes a model on the first request for its task, or earlier in the
// background (Preload). If the decoded models exceed a limit in bytes, the cache evicts the least recently used ones.
package modelcache

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Config configures a Cache. All fields but Memory are required.
type Config struct {
	DecodeWait       time.Duration // the time that Get waits until a model is decoded
	PollInterval     time.Duration // the time between polls for missed notifications
	PingTimeout      time.Duration // the time that the store may take to answer a health check
	UnschedulableFor time.Duration // the time for which an unschedulable report lowers the ceiling
	Memory           int64         // the limit of decoded models in bytes; zero: no limit
	// Flush stores the queued receipts. The cache calls it before it reads new rows of a model in use, because the promises
	// of these rows may be in queued receipts. Flush returns false if the store is unavailable.
	Flush func(context.Context) bool
	Now   func() time.Time
	// RunErrors gets the error of the prediction for each row that a model learns from a report to this replica.
	RunErrors *taskmodel.RunErrors
}

// Cache holds the tasks that this replica knows. It is safe for concurrent use.
type Cache struct {
	cfg   Config
	store store.Store
	tries *inflight.Tries
	log   *slog.Logger

	unknown     *Task         // for a namespace whose shapes the cache does not have; see unknownTask
	policyMu    sync.Mutex    // held from reading a policy until it is set
	decodeSlots chan struct{} // bounds concurrent decoding
	isLoaded    atomic.Bool   // whether the first resync is complete
	isStoreUp   atomic.Bool   // whether the last health check succeeded
	freshness   freshness
	watermark   atomic.Int64 // the cache has all changes up to this store.ChangedTasks.Watermark; 0 before the first resync
	memory      memory

	mu     sync.RWMutex
	tasks  map[sizing.TaskKey]*Task
	pools  map[sizing.TaskKey]*pool // key: a DAG, with an empty task id
	shapes map[string]*shapes       // key: a namespace

	namespaces map[string]*namespace // those with a task that was refreshed
}

// New returns an empty Cache. Its loops Subscribe, Poll and Preload fill it, and CheckHealth pings the store.
func New(st store.Store, tries *inflight.Tries, cfg Config, log *slog.Logger) *Cache {
	c := &Cache{
		cfg: cfg, store: st, tries: tries, log: log,
		unknown:     newShapes().unknown,
		decodeSlots: make(chan struct{}, maxDecoding),
		tasks:       map[sizing.TaskKey]*Task{},
		pools:       map[sizing.TaskKey]*pool{},
		shapes:      map[string]*shapes{},
		namespaces:  map[string]*namespace{},
		memory:      memory{limit: cfg.Memory, sizes: map[*Task]int64{}},
	}
	c.isStoreUp.Store(true)
	return c
}

// Find returns a task, decoded or not, or nil if the cache does not know it.
func (c *Cache) Find(key sizing.TaskKey) *Task {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tasks[key]
}

// GetOrCreate returns a task, and creates one without a model if the cache does not know it.
func (c *Cache) GetOrCreate(key sizing.TaskKey) *Task {
	if t := c.Find(key); t != nil {
		return t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tasks[key]; t != nil {
		return t
	}
	return c.add(key)
}

// add creates a task. The caller holds c.mu.
func (c *Cache) add(key sizing.TaskKey) *Task {
	t := &Task{key: key, pool: c.poolOf(key), shapes: c.shapesOf(key.Namespace)}
	c.tasks[key] = t
	return t
}

// setVersion returns a task, and records its active version if its model is not decoded. If the cache does not know the
// task, setVersion creates it, with a model that is not decoded.
func (c *Cache) setVersion(key sizing.TaskKey, version int) *Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tasks[key]
	if t == nil {
		t = c.add(key)
		t.encoded.Store(&encodedModel{})
	}
	if e := t.encoded.Load(); e != nil && e.version.Swap(int64(version)) != int64(version) {
		t.pool.markStale()
	}
	return t
}

// poolOf returns the pool of a task's DAG. The caller holds c.mu.
func (c *Cache) poolOf(key sizing.TaskKey) *pool {
	key.Task = ""
	p := c.pools[key]
	if p == nil {
		p = &pool{}
		if n := c.namespaces[key.Namespace]; n != nil {
			p.others = n.others(key.DAG)
		}
		c.pools[key] = p
	}
	return p
}

// remove removes a task. It releases c.mu before it locks the task, so that a task that learns does not delay the predictions
// for other tasks.
func (c *Cache) remove(key sizing.TaskKey) {
	c.mu.Lock()
	t := c.tasks[key]
	delete(c.tasks, key)
	c.mu.Unlock()
	if t == nil {
		return
	}
	t.pool.loadMu.Lock()
	t.mu.Lock()
	t.isDeleted = true
	t.pool.set(t.key.Task, nil)
	t.mu.Unlock()
	t.pool.loadMu.Unlock()
	c.account(t)
}

// Delete removes a task that was deleted from the store, and its in-flight tries.
func (c *Cache) Delete(key sizing.TaskKey) {
	c.policyMu.Lock()
	defer c.policyMu.Unlock()
	c.remove(key)
	c.tries.RemoveTask(key)
}

// SetPolicy replaces the policy of a task.
func (c *Cache) SetPolicy(key sizing.TaskKey, p sizing.Policy) {
	c.policyMu.Lock()
	defer c.policyMu.Unlock()
	c.GetOrCreate(key).setPolicy(p)
}

func (c *Cache) keys() []sizing.TaskKey {
	c.mu.RLock()
	defer c.mu.RUnlock()
	keys := make([]sizing.TaskKey, 0, len(c.tasks))
	for key := range c.tasks {
		keys = append(keys, key)
	}
	return keys
}

// Models counts the tasks that have an active model.
func (c *Cache) Models() int {
	n, _, _ := c.Stats()
	return n
}

// Stats counts the active models. It also returns the training times of the oldest and the newest
// decoded model, which are zero if none is decoded.
func (c *Cache) Stats() (models int, oldest, newest time.Time) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, t := range c.tasks {
		if t.version() > 0 {
			models++
		}
		ref := t.ref.Load()
		if ref == nil {
			continue
		}
		if oldest.IsZero() || ref.TrainedAt.Before(oldest) {
			oldest = ref.TrainedAt
		}
		if ref.TrainedAt.After(newest) {
			newest = ref.TrainedAt
		}
	}
	return models, oldest, newest
}

// IsLoaded reports whether the cache has read all active versions and policies once.
func (c *Cache) IsLoaded() bool { return c.isLoaded.Load() }

// IsStoreUp reports whether the last health check succeeded.
func (c *Cache) IsStoreUp() bool { return c.isStoreUp.Load() }

// Staleness returns the time since the cache was last known to equal the store, or zero before the first resync.
func (c *Cache) Staleness() time.Duration { return c.freshness.staleness() }

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
