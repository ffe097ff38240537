package service

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Counts are totals of this replica since its start, and current gauges.
type Counts struct {
	Kills    map[sizing.Outcome]int // OOM kills by outcome. A provisional kill keeps its count and outcome if the report of the try replaces it (sizing.RecordResult.Replaced), because counters never decrease
	Promises PromiseCheck
	Usage    ByteSeconds

	Queued, Dropped int       // receipts that wait to be stored, and receipts that were dropped
	Thinned         int       // receipts that a full outbox left out: of answers without a run, and of earlier answers to the same try
	Models          int       // number of tasks with a stored model
	OldestModel     time.Time // training time of the oldest decoded model; zero if none
	NewestModel     time.Time // training time of the newest decoded model; zero if none
	ModelMemory     modelcache.MemoryStats
	StoreOK         bool             // whether the last health check of the store succeeded
	Backlog         *store.Backlog   // of all replicas; nil before the first poll
	Unreported      *UnreportedTries // of the newest poll that found tries to count; nil before such a poll
}

// PromiseCheck compares promised risks (probabilities of an OOM kill) with the outcomes of first tries that succeeded or were
// OOM-killed, and whose promise this replica knew when they were reported. It omits kills below the static grant of a plan. If
// a load balancer selects replicas at random, these tries are a random sample of all such first tries.
type PromiseCheck struct {
	Tries, Killed int
	Promised      float64 // sum of the promised risks
}

// ByteSeconds sums memory times duration, in bytes times seconds. A success counts if its request, allocation,
// measured peak and duration are known. A kill with a known allocation and duration counts in Allocated only: with its
// static request the run is assumed not to be killed. So Requested minus Allocated is the saving less the cost of kills.
type ByteSeconds struct{ Requested, Allocated, Used float64 }

// UnreportedTries counts first tries whose receipts are older than a day, from at most the newest maxUnreportedScan such
// receipts. Tries is their number, and Unreported the number of those without a report.
type UnreportedTries struct{ Tries, Unreported int }

type counts struct {
	mu       sync.Mutex
	kills    map[sizing.Outcome]int
	promises PromiseCheck
	usage    ByteSeconds

	backlog    atomic.Pointer[store.Backlog]
	unreported atomic.Pointer[UnreportedTries]
}

// add counts a success or a kill that was stored as a new row, and ignores other outcomes. The argument `answer` is
// the answer that this replica remembered, or the zero Answer if there is none. `replaced` is the provisional report that
// the row replaced, which this or another replica has counted; nil if there is none.
func (c *counts) add(o *sizing.Observation, answer *inflight.Answer, replaced *sizing.Observation) {
	isKill := o.Outcome.OOM()
	if !isKill && o.Outcome != sizing.Success {
		return
	}
	var counted ByteSeconds
	if replaced == nil {
		replaced = &sizing.Observation{}
	}
	counted.add(replaced, 0)
	if isKill && !replaced.Outcome.OOM() {
		c.addKill(o.Outcome)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer.Promised != nil && o.Try.Number == 1 {
		c.promises.Tries++
		c.promises.Promised += *answer.Promised
		if isKill {
			c.promises.Killed++
		}
	}
	if counted == (ByteSeconds{}) {
		c.usage.add(o, answer.Limit)
	}
}

func (c *counts) addKill(outcome sizing.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kills == nil {
		c.kills = map[sizing.Outcome]int{}
	}
	c.kills[outcome]++
}

func (b *ByteSeconds) add(o *sizing.Observation, limit sizing.Bytes) {
	duration, allocated := o.Duration, o.Allocated.Memory
	if allocated == 0 {
		allocated = limit
	}
	isComplete := o.Requested.Memory > 0 && o.MemoryMax > 0
	if duration <= 0 || allocated == 0 || o.Outcome == sizing.Success && !isComplete {
		return
	}
	b.Allocated += float64(allocated) * duration.Seconds()
	if o.Outcome == sizing.Success {
		b.Requested += float64(o.Requested.Memory) * duration.Seconds()
		b.Used += float64(o.MemoryMax) * duration.Seconds()
	}
}

// Counts returns the current counts. It never reads the store.
func (s *Service) Counts() Counts {
	c := Counts{StoreOK: s.models.IsStoreUp(), Backlog: s.counts.backlog.Load(), Unreported: s.counts.unreported.Load()}
	s.counts.mu.Lock()
	c.Promises, c.Usage, c.Kills = s.counts.promises, s.counts.usage, map[sizing.Outcome]int{}
	for _, outcome := range []sizing.Outcome{sizing.OOMKilled, sizing.AppOOM} {
		c.Kills[outcome] = s.counts.kills[outcome]
	}
	s.counts.mu.Unlock()
	c.Queued, c.Dropped, c.Thinned = s.outbox.Stats()
	c.Models, c.OldestModel, c.NewestModel = s.models.Stats()
	c.ModelMemory = s.models.MemoryStats()
	return c
}

const (
	backlogInterval   = 15 * time.Second
	backlogTimeout    = 5 * time.Second
	unreportedEvery   = 20             // the unreported tries are counted at every 20th poll of the backlog
	unreportedMinAge  = 24 * time.Hour // newer tries may still run
	maxUnreportedScan = 10_000         // largest number of receipts of first tries that are read
)

func (s *Service) pollBacklog(ctx context.Context) {
	for n := 0; ; n++ {
		s.readBacklog(ctx, n%unreportedEvery == 0)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backlogInterval):
		}
	}
}

func (s *Service) readBacklog(ctx context.Context, withUnreported bool) {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	backlog, err := s.store.Backlog(ctx)
	if err != nil {
		s.log.DebugContext(ctx, "failed to count the training backlog", "err", err)
		return
	}
	s.counts.backlog.Store(&backlog)
	if !withUnreported {
		return
	}
	tries, unreported, err := s.store.CountUnreported(ctx, store.FirstID(s.cfg.Now().Add(-unreportedMinAge)), maxUnreportedScan)
	switch {
	case err != nil:
		s.log.DebugContext(ctx, "failed to count the unreported tries", "err", err)
	case tries > 0:
		s.counts.unreported.Store(&UnreportedTries{Tries: tries, Unreported: unreported})
	}
}
