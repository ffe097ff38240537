package service

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Counts are what this replica has counted since it was made, and what it knows of the
// moment.
type Counts struct {
	Kills map[sizing.Outcome]int // tries that died of want of memory, each once
	Held  PromiseCheck
	Spent ByteSeconds

	Queued, Dropped int       // receipts that wait to be stored; that were given up
	Models          int       // tasks with a published model
	OldestModel     time.Time // when it was trained, of those that are open; zero without any
	NewestModel     time.Time
	StoreOK         bool             // the last call to the store was answered
	Backlog         *store.Backlog   // of all replicas together; nil: not looked yet
	Unheard         *UnreportedTries // nil: not looked yet, or nobody asked so long ago
}

// PromiseCheck holds promises against what happened: of first tries that were answered and
// reported at the same replica. Where callers come to any replica, that is a fair
// sample of all tries.
type PromiseCheck struct {
	Tries, Killed int
	Promised      float64 // the sum of their promised risks
}

// ByteSeconds are amounts of memory times how long they were held. A success counts
// where all that it needs is known: what the DAG requested, what was allocated and
// what was used, of the try. A kill counts as allocated only: the static request is
// taken to have held, so that what was requested less what was allocated is what was
// saved after all repetitions.
type ByteSeconds struct{ Requested, Allocated, Used float64 }

// UnreportedTries is how many first tries that were asked for long ago were never reported.
type UnreportedTries struct{ Tries, Unreported int }

// counts is what is added up as it happens. The zero value is ready.
type counts struct {
	mu    sync.Mutex
	kills map[sizing.Outcome]int
	held  PromiseCheck
	spent ByteSeconds

	backlog atomic.Pointer[store.Backlog]
	unheard atomic.Pointer[UnreportedTries]
}

// ended counts a try that was reported for the first time. before is what it was
// answered here; the zero Answer if nothing.
func (c *counts) ended(o *sizing.Observation, before inflight.Answer) {
	killed := o.Outcome.OOM()
	if !killed && o.Outcome != sizing.Success {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if killed {
		if c.kills == nil {
			c.kills = map[sizing.Outcome]int{}
		}
		c.kills[o.Outcome]++
	}
	if before.Promised != nil && o.Try.Number == 1 {
		c.held.Tries++
		c.held.Promised += *before.Promised
		if killed {
			c.held.Killed++
		}
	}
	c.spent.add(o, before)
}

func (b *ByteSeconds) add(o *sizing.Observation, before inflight.Answer) {
	took, allocated := o.Duration, o.Allocated.Memory
	if took == 0 && !o.StartedAt.IsZero() && !o.EndedAt.IsZero() {
		took = o.EndedAt.Sub(o.StartedAt)
	}
	if allocated == 0 {
		allocated = before.Limit
	}
	whole := o.Requested.Memory > 0 && o.MemoryMax > 0
	if took <= 0 || allocated == 0 || o.Outcome == sizing.Success && !whole {
		return
	}
	b.Allocated += float64(allocated) * took.Seconds()
	if o.Outcome == sizing.Success {
		b.Requested += float64(o.Requested.Memory) * took.Seconds()
		b.Used += float64(o.MemoryMax) * took.Seconds()
	}
}

// Counts never blocks for long, and never asks the store.
func (s *Service) Counts() Counts {
	c := Counts{StoreOK: s.storeOK.Load(), Backlog: s.counts.backlog.Load(), Unheard: s.counts.unheard.Load()}
	s.counts.mu.Lock()
	c.Held, c.Spent, c.Kills = s.counts.held, s.counts.spent, map[sizing.Outcome]int{}
	for _, outcome := range []sizing.Outcome{sizing.OOMKilled, sizing.AppOOM} {
		c.Kills[outcome] = s.counts.kills[outcome]
	}
	s.counts.mu.Unlock()
	c.Queued, c.Dropped = s.outbox.Stats()
	c.Models, c.OldestModel, c.NewestModel = s.tasks.ages()
	return c
}

// How often the store is asked for what only it knows, and how it is asked.
const (
	lookEvery   = 15 * time.Second
	unheardAt   = 20              // looks from one count of what was never reported to the next
	unheardFrom = 24 * time.Hour  // what was asked later may still run
	unheardOf   = 10_000          // first tries
	lookAtMost  = 5 * time.Second // what is not known by then stays as it was
)

// look keeps what only the store knows until ctx ends.
func (s *Service) look(ctx context.Context) {
	for n := 0; ; n++ {
		s.lookOnce(ctx, n%unheardAt == 0)
		if !sleep(ctx, lookEvery) {
			return
		}
	}
}

func (s *Service) lookOnce(ctx context.Context, unheardToo bool) {
	ctx, cancel := context.WithTimeout(ctx, lookAtMost)
	defer cancel()
	backlog, err := s.store.Backlog(ctx)
	if err != nil {
		s.log.DebugContext(ctx, "the backlog could not be counted", "err", err)
		return
	}
	s.counts.backlog.Store(&backlog)
	if !unheardToo {
		return
	}
	tries, unreported, err := s.store.CountUnreported(ctx, store.FirstID(s.cfg.Now().Add(-unheardFrom)), unheardOf)
	switch {
	case err != nil:
		s.log.DebugContext(ctx, "what was never reported could not be counted", "err", err)
	case tries > 0:
		s.counts.unheard.Store(&UnreportedTries{Tries: tries, Unreported: unreported})
	}
}

// ages counts the published models, and finds the oldest and the newest that are open.
func (ts *tasks) ages() (n int, oldest, newest time.Time) {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	for _, t := range ts.byName {
		if t.version() > 0 {
			n++
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
	return n, oldest, newest
}
