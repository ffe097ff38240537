package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// pool is what the tasks of one DAG learned together: the sum of the shares that their
// published models carry. They run side by side on the same inputs, and cost alike; what
// another team's giants cost must not set the price of a kill here. It depends on
// nothing but stored models, so that every replica has the same pool at any time.
type pool struct {
	version atomic.Uint64 // moves with every change
	reading sync.Mutex    // held while shares are read and put in place; locked before a task's mu

	mu     sync.Mutex
	read   bool                    // the shares of all tasks of the DAG were read
	stale  bool                    // a model was published that nobody announced here
	shares map[string]fitting.Pool // by task id
	sum    fitting.Pool
}

// set replaces the share of a task; nil: it has none any more.
func (p *pool) set(name string, share *fitting.Pool) {
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
			p.shares = map[string]fitting.Pool{}
		}
		p.shares[name] = *share
	}
	p.total()
}

// setAll replaces all shares.
func (p *pool) setAll(shares map[string]fitting.Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read, p.stale = true, false
	if !maps.Equal(p.shares, shares) {
		p.shares = shares
		p.total()
	}
}

// total sums in order of names, so that the last digit is everywhere the same. p.mu is
// held.
func (p *pool) total() {
	p.sum = fitting.Pool{}
	for _, name := range slices.Sorted(maps.Keys(p.shares)) {
		share := p.shares[name]
		p.sum.Add(&share)
	}
	p.version.Add(1)
}

// with is the pool with another share in place of the one that a task published.
func (p *pool) with(name string, share fitting.Pool) (together fitting.Pool, version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	together = p.sum
	if published, ok := p.shares[name]; ok {
		together.Remove(&published)
	}
	together.Add(&share)
	return together, p.version.Load()
}

// needsReading reports whether shares are missing, or may have changed.
func (p *pool) needsReading() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.read || p.stale
}

// expire notes that a share may have changed unheard.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = true
}

// expired reports whether a share that was read may have changed since.
func (p *pool) expired() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read && p.stale
}

// readPool reads the shares of a task's DAG where they are not known. A share that
// cannot be decoded does not count: its model cannot be opened either.
func (s *Service) readPool(ctx context.Context, key sizing.TaskKey, p *pool) error {
	p.reading.Lock()
	defer p.reading.Unlock()
	if !p.needsReading() {
		return nil
	}
	shares := map[string]fitting.Pool{}
	err := s.store.Shares(ctx, key, func(m store.Model) error {
		share, err := fitting.ReadShare(m.Share, m.Blob)
		if err != nil {
			s.log.Warn("a model does not count in what its DAG learned together", "task", m.Task.String(), "version", m.Version, "err", err)
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

// lockToAsk locks t for reading, once its model follows what the tasks of the DAG
// published last.
func (t *task) lockToAsk() {
	t.mu.RLock()
	if t.follows == t.pool.version.Load() || t.model == untaught {
		return
	}
	t.mu.RUnlock()
	t.mu.Lock()
	t.followPool()
	t.mu.Unlock()
	t.mu.RLock()
}

// followPool lets the answers of the model follow the pool. t.mu is held.
func (t *task) followPool() {
	if t.model == untaught {
		return
	}
	together, version := t.pool.with(t.name, t.model.Pool())
	t.model.SetPool(&together)
	t.follows = version
}
