package httpapi

import (
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// pressure lets in a share of the requests while there are more than the CPUs can
// answer soon. Gates cannot see that: a question needs nothing but a CPU, so those
// that wait for one wait in the scheduler's queue, in front of every gate.
//
// The share falls by an eighth whenever a quarter of what ran lately had waited for more
// than tooLong, and otherwise grows again by a sixteenth (additive increase,
// multiplicative decrease: Chiu and Jain 1989). Reports give way first.
type pressure struct {
	crowd  int                  // goroutines up to which nobody is refused: a machine that is merely slow refuses nobody
	there  func() int           // how many there are
	waited func() time.Duration // what a quarter of all waited for a CPU, or longer, since it was asked last
	now    func() time.Time

	share atomic.Int64 // of the requests that are let in, in thousandths
	mu    sync.Mutex
	next  time.Time // when to look again
}

const (
	lookEvery = 10 * time.Millisecond
	tooLong   = 5 * time.Millisecond
	whole     = 1000 // thousandths
)

func newPressure() *pressure {
	p := &pressure{crowd: 128 * runtime.GOMAXPROCS(0), there: runtime.NumGoroutine, waited: schedulerWait(), now: time.Now}
	p.share.Store(whole)
	return p
}

// crowded reports whether there are more than a machine that is merely slow would have.
func (p *pressure) crowded() bool { return p.there() > p.crowd }

// admits reports whether one more request is let in.
func (p *pressure) admits(report bool) bool {
	if !p.crowded() {
		return true
	}
	p.look()
	share := p.share.Load()
	if report {
		share = 2*share - whole
	}
	return rand.Int64N(whole) < max(share, whole/50) // a few always, so that nobody starves
}

// look adjusts the share, from time to time.
func (p *pressure) look() {
	if !p.mu.TryLock() {
		return // somebody looks already
	}
	defer p.mu.Unlock()
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(lookEvery)
	share := p.share.Load()
	if p.waited() > tooLong {
		share -= share / 8
	} else {
		share = min(whole, share+whole/16)
	}
	p.share.Store(max(share, whole/50))
}

// schedulerWait is the upper quartile of the time that goroutines were ready and had no
// CPU, of those since the call before; zero if there were none. The median misses a
// crowd: most that run are woken by their own process, and wait for little.
func schedulerWait() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var before []uint64
	return func() time.Duration {
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
			return 0 // a later Go may know it no more
		}
		h := sample[0].Value.Float64Histogram()
		if len(before) != len(h.Counts) {
			before = make([]uint64, len(h.Counts))
		}
		total := uint64(0)
		for i, n := range h.Counts {
			total += n - before[i]
		}
		seen, quartile := uint64(0), time.Duration(0)
		for i, n := range h.Counts {
			if seen += n - before[i]; total > 0 && 4*seen >= 3*total {
				quartile = time.Duration(max(0, h.Buckets[i]) * float64(time.Second))
				break
			}
		}
		copy(before, h.Counts)
		return quartile
	}
}
