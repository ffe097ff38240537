package modelcache

import (
	"context"
	"sync"
	"time"
)

// freshness records when the cache was last known to equal the store. The cache equals the store
// while the subscription is up, a resync or a poll has completed since the subscription began, and the
// store answers pings.
type freshness struct {
	mu           sync.Mutex
	isSubscribed bool
	isSynced     bool      // a resync or a poll has completed since the subscription began
	knownAt      time.Time // when the cache was last known to equal the store
}

func (f *freshness) setSubscribed(isSubscribed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isSubscribed, f.isSynced = isSubscribed, false
}

// markSynced records that a resync or a poll that began at `begun` is complete.
func (f *freshness) markSynced(begun time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.isSynced = f.isSubscribed
	if begun.After(f.knownAt) {
		f.knownAt = begun
	}
}

func (f *freshness) markPinged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isSynced {
		f.knownAt = time.Now()
	}
}

// staleness returns the time since the cache was last known to equal the store; zero before the first resync.
func (f *freshness) staleness() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.knownAt.IsZero() {
		return 0
	}
	return time.Since(f.knownAt)
}

// CheckHealth pings the store every second until ctx ends, so that readiness is correct
// without traffic.
func (c *Cache) CheckHealth(ctx context.Context) {
	for sleep(ctx, time.Second) {
		pingCtx, cancel := context.WithTimeout(ctx, c.cfg.PingTimeout)
		isUp := c.store.Ping(pingCtx) == nil
		cancel()
		if ctx.Err() != nil { // the end of ctx says nothing about the store
			return
		}
		c.isStoreUp.Store(isUp)
		if isUp {
			c.freshness.markPinged()
		}
	}
}
