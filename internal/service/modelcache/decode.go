package modelcache

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	decodeTimeout  = 10 * time.Second // for one model, including the wait for a slot
	maxDecoding    = 4                // concurrent decodings; each one occupies a CPU
	decodeCooldown = 2 * time.Second  // from a failure to the next attempt, because a corrupt model must not delay every prediction
	maxPreloaded   = 500              // largest number of models that Preload decodes
	maxRecent      = 10_000           // number of newest receipts from which Preload takes the tasks that were predicted last
)

// encodedModel stands for the model of a task while the model is not decoded.
type encodedModel struct {
	version atomic.Int64 // active version; 0 if none is known

	mu       sync.Mutex
	done     chan struct{} // closed when the current decoding ends; nil if none runs
	failedAt time.Time     // the end of the newest decoding that failed
}

// start runs `decode` in the background, unless a decoding is already running. The returned channel
// closes at the end of the decoding. It is nil during the cooldown after a failure.
func (e *encodedModel) start(decode func() error) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done != nil {
		return e.done
	}
	if time.Since(e.failedAt) < decodeCooldown {
		return nil
	}
	done := make(chan struct{})
	e.done = done
	go func() {
		err := decode()
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.done = nil; err != nil {
			e.failedAt = time.Now()
		}
		close(done)
	}()
	return done
}

// Get returns a task, and waits up to Config.DecodeWait until its model is decoded. Decoding
// continues afterwards for later calls. While the store is down, Get does not decode. A task that the cache
// does not know has no model and no policy.
func (c *Cache) Get(ctx context.Context, key sizing.TaskKey) *Task {
	t := c.Find(key)
	if t == nil {
		return c.unknownTask(key.Namespace)
	}
	e := t.encoded.Load()
	if e == nil {
		if t.ref.Load() != nil {
			c.memory.hit(t)
		}
		return t
	}
	c.memory.misses.Add(1)
	if !c.isStoreUp.Load() {
		return t
	}
	timer := time.NewTimer(c.cfg.DecodeWait)
	defer timer.Stop()
	select {
	case <-c.decode(ctx, key, e):
	case <-timer.C:
	case <-ctx.Done():
	}
	if t = c.Find(key); t == nil { // deleted in the meantime
		return c.unknownTask(key.Namespace)
	}
	return t
}

// decode loads a model in the background. The returned channel closes at the end of the decoding; it is closed already during
// the cooldown after a failure. The end of ctx does not stop the decoding, because other callers may wait for the same model.
func (c *Cache) decode(ctx context.Context, key sizing.TaskKey, e *encodedModel) <-chan struct{} {
	done := e.start(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decodeTimeout)
		defer cancel()
		select {
		case c.decodeSlots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-c.decodeSlots }()
		err := c.Refresh(ctx, key)
		if err != nil {
			c.log.Warn("failed to load a model; until it is loaded, predictions return the static request or, after an eviction, an amount from the outline; without either they fail as unavailable", "task", key.String(), "err", err)
		}
		return err
	})
	if done == nil {
		return closed
	}
	return done
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Preload decodes up to maxPreloaded models after the start, until the memory limit is reached, so that a small
// installation answers for all tasks while its database is down. It begins with the tasks that were predicted last.
// After each model it pauses for as long as the decoding took.
func (c *Cache) Preload(ctx context.Context) {
	for !c.isLoaded.Load() {
		if !sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
	left := maxPreloaded
	for _, key := range c.preloadOrder(ctx) {
		t := c.Find(key)
		if t == nil {
			continue
		}
		e := t.encoded.Load()
		if e == nil {
			continue
		}
		if left--; left < 0 || c.memory.isFull() {
			return
		}
		start := time.Now()
		<-c.decode(ctx, key, e)
		if !sleep(ctx, time.Since(start)) {
			return
		}
	}
}

// preloadOrder returns the tasks that were predicted last, newest first, and then all other tasks in the order of their keys.
func (c *Cache) preloadOrder(ctx context.Context) []sizing.TaskKey {
	recent, err := c.store.RecentTasks(ctx, maxRecent)
	if err != nil && ctx.Err() == nil {
		c.log.Warn("failed to list the tasks that were predicted last; models are loaded in the order of the task keys", "err", err)
	}
	rank := make(map[sizing.TaskKey]int, len(recent))
	for i, key := range recent {
		rank[key] = i - len(recent)
	}
	keys := c.keys()
	slices.SortFunc(keys, func(a, b sizing.TaskKey) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), strings.Compare(a.String(), b.String()))
	})
	return keys
}
