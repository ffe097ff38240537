package dashboard

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/insight/savings"
)

// cache keeps query results, so that not every load of a page runs its queries. A result is fresh for freshFactor
// times the duration of its query, at most for maxFresh. After that time, a page waits
// until a fast query has run again. A slow query runs again in the background, and pages show the previous result while
// this result is not older than maxStale.
type cache struct {
	now     func() time.Time
	log     *slog.Logger
	mu      sync.Mutex
	entries map[string]*cacheEntry
	version int // clear increases it; the result of a read that began with a lower version is not cached
}

type cacheEntry struct {
	reading chan struct{} // contains a token while the query runs
	value   any
	at      time.Time     // end of the last query; zero without a value
	took    time.Duration // duration of the last query
	isEmpty bool          // the last query returned an empty list of tasks or of savings, which is not cached
}

const (
	freshFactor = 20                    // a value is fresh for this multiple of the duration of its query; a query of up to 3 s runs for at most 5 % of the time
	maxFresh    = time.Minute           // longest time for which a value is fresh
	maxStale    = 10 * time.Minute      // lookup returns no older value
	slowQuery   = 50 * time.Millisecond // a faster query runs again in the foreground
	maxEntries  = 256
	maxQuery    = 2 * time.Minute // timeout of a query in the background
)

func newCache(now func() time.Time, log *slog.Logger) *cache {
	return &cache{now: now, log: log, entries: map[string]*cacheEntry{}}
}

// clear removes all values, after a change that pages must show at once.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.version++
}

// cached returns a fresh value, or a usable one while it reads a new one in the background. Otherwise it reads the
// value. Errors are not cached.
func cached[T any](ctx context.Context, c *cache, key string, read func(context.Context) (T, error)) (T, error) {
	var none T
	e, version := c.entry(key)
	if value, state := c.lookup(e); state == fresh {
		return value.(T), nil
	} else if state == usable {
		c.refresh(ctx, e, version, func(ctx context.Context) (any, error) { return read(ctx) })
		return value.(T), nil
	}
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if value, state := c.lookup(e); state == fresh {
		return value.(T), nil // another page has read it meanwhile
	}
	begun := c.now()
	value, err := read(ctx)
	if err != nil {
		return none, err
	}
	c.store(e, version, value, begun)
	return value, nil
}

// cachedIfRead returns the value of a key like cached. If there is no value, or one older than maxStale,
// it does not wait: it starts the read in the background and returns false. After an empty list it waits,
// because the query of an empty list is fast.
func cachedIfRead[T any](ctx context.Context, c *cache, key string, read func(context.Context) (T, error)) (value T, isRead bool, err error) {
	e, version := c.entry(key)
	c.mu.Lock()
	isRead = e.isEmpty || !e.at.IsZero() && c.now().Sub(e.at) <= maxStale
	c.mu.Unlock()
	if !isRead {
		c.refresh(ctx, e, version, func(ctx context.Context) (any, error) { return read(ctx) })
		return value, false, nil
	}
	value, err = cached(ctx, c, key, read)
	return value, true, err
}

type valueInState[T any] struct {
	state string
	value T
}

// cachedInState returns the value of a key, however old it is, if it was read in the same state of the data, which the
// text `state` identifies. Otherwise it reads the value.
func cachedInState[T any](ctx context.Context, c *cache, key, state string, read func(context.Context) (T, error)) (value T, err error) {
	e, version := c.entry(key)
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return value, ctx.Err()
	}
	c.mu.Lock()
	known, isKnown := e.value.(valueInState[T])
	c.mu.Unlock()
	if isKnown && known.state == state {
		return known.value, nil
	}
	begun := c.now()
	if value, err = read(ctx); err == nil {
		c.store(e, version, valueInState[T]{state, value}, begun)
	}
	return value, err
}

// The states of a value.
const (
	missing = iota // no value, a value older than maxStale, or one that is not fresh and has a fast query: pages wait for the query
	usable         // a value that is not fresh and has a slow query: pages show the value until the query has run again
	fresh
)

func (c *cache) lookup(e *cacheEntry) (value any, state int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := c.now().Sub(e.at)
	switch {
	case e.at.IsZero() || elapsed > maxStale:
		return nil, missing
	case elapsed < min(freshFactor*e.took, maxFresh):
		return e.value, fresh
	case e.took < slowQuery:
		return nil, missing
	}
	return e.value, usable
}

func (c *cache) refresh(ctx context.Context, e *cacheEntry, version int, read func(context.Context) (any, error)) {
	select {
	case e.reading <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxQuery)
	go func() {
		defer cancel()
		defer func() { <-e.reading }()
		defer func() { // a defect of a page must not end the process that answers predictions
			if cause := recover(); cause != nil {
				c.log.ErrorContext(ctx, "background read of a page panicked; please report this", "cause", cause, "stack", string(debug.Stack()))
			}
		}()
		begun := c.now()
		if value, err := read(ctx); err == nil { // after an error, pages show the old value until maxStale
			c.store(e, version, value, begun)
		}
	}()
}

// ClearCache removes the cached results of queries, after a change that the pages must show at once.
func (d *Dashboard) ClearCache() { d.cache.clear() }

// isEmpty reports whether a list of tasks or of savings has no row. Such a list is not cached: its query is fast, and
// the first page after an import must not show an empty list.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case *taskList:
		return len(v.rows) == 0
	case *savings.Answer:
		return len(v.Rows) == 0
	case *monthSums:
		return len(v.rows) == 0
	}
	return false
}

func (c *cache) store(e *cacheEntry, version int, value any, begun time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version != c.version {
		return
	}
	e.value, e.at, e.isEmpty = value, c.now(), isEmpty(value)
	e.took = e.at.Sub(begun)
	if e.isEmpty {
		e.value, e.at = nil, time.Time{}
	}
}

// entry returns the entry of a key, and adds a missing one. If maxEntries exist, it first removes one without a value,
// or else the one with the oldest value.
func (c *cache) entry(key string) (e *cacheEntry, version int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e, c.version
	}
	if len(c.entries) >= maxEntries {
		oldest := ""
		for k, other := range c.entries {
			if oldest == "" || other.at.Before(c.entries[oldest].at) {
				oldest = k
			}
		}
		delete(c.entries, oldest)
	}
	e = &cacheEntry{reading: make(chan struct{}, 1)}
	c.entries[key] = e
	return e, c.version
}
