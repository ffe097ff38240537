package modelcache

import (
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
	maxDecoding    = 4                // concurrently: decoding takes a CPU
	decodeCooldown = 2 * time.Second  // after a failure: a broken model must not delay every prediction
	maxPreloaded   = 500              // models that Preload decodes
)

// encodedModel stands for a stored model of which this replica knows only the version.
type encodedModel struct {
	version atomic.Int64

	mu       sync.Mutex
	done     chan struct{} // closed when the current decoding ends; nil: none runs
	failedAt time.Time
}

// start runs decode in the background, or joins the one that runs. The channel closes at its
// end. It is nil during the cooldown after a failure.
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
// continues afterwards for later calls. A task that the cache does not know has no model and
// no policy.
func (c *Cache) Get(ctx context.Context, key sizing.TaskKey) *Task {
	t := c.Find(key)
	if t == nil {
		return c.unknown
	}
	e := t.encoded.Load()
	if e == nil || !c.isStoreUp.Load() {
		return t
	}
	timer := time.NewTimer(c.cfg.DecodeWait)
	defer timer.Stop()
	select {
	case <-c.decode(ctx, key, e):
	case <-timer.C:
	case <-ctx.Done():
	}
	if t = c.Find(key); t == nil { // deleted meanwhile
		return c.unknown
	}
	return t
}

// decode loads a model in the background and returns a channel that closes at the end. The
// end of ctx does not stop it, because other callers may wait for the same model.
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
			c.log.Warn("a model cannot be loaded; predictions return the static request", "task", key.String(), "err", err)
		}
		return err
	})
	if done == nil {
		return closed
	}
	return done
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Preload decodes up to maxPreloaded models after the start, so that a smaller installation
// answers for all tasks while its database is down. It pauses as long as it works.
func (c *Cache) Preload(ctx context.Context) {
	for !c.isLoaded.Load() {
		if !sleep(ctx, 50*time.Millisecond) {
			return
		}
	}
	keys := c.keys()
	slices.SortFunc(keys, func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) })
	left := maxPreloaded
	for _, key := range keys {
		t := c.Find(key)
		if t == nil {
			continue
		}
		e := t.encoded.Load()
		if e == nil {
			continue
		}
		if left--; left < 0 {
			return
		}
		start := time.Now()
		<-c.decode(ctx, key, e)
		if !sleep(ctx, time.Since(start)) {
			return
		}
	}
}
