// Package admission decides which requests are processed now: gates bound the requests in
// flight, a load shedder rejects requests while the CPUs are overloaded, and body buffers
// bound the memory of large bodies.
//
// Without these bounds an overloaded server would answer every request too late.
package admission

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"
)

// ErrOverloaded rejects a request that the caller may send again later: its gate is full, no buffer is free for its
// body, or the load shedder rejects it.
var ErrOverloaded = errors.New("the server has no free capacity for this request; send it again later")

// Limits bound the requests in flight. A request beyond its limit waits at most maxWait for a free slot, or is rejected at
// once (Gate.Enter). Zero selects the default.
type Limits struct {
	Predict int // single predictions, lifts and calls of /phase; default 64 per CPU, because a prediction seldom waits for the database
	Observe int // single reports and removals of reports (/observe/void); fewer while predictions are in flight (see Gate); default 128
	Batch   int // batches of predictions or reports, each up to 32 MiB, and other expensive requests such as explanations; default 8
}

// WithDefaults replaces zero fields by their defaults.
func (l Limits) WithDefaults() Limits {
	l.Predict = cmp.Or(l.Predict, 64*runtime.GOMAXPROCS(0))
	l.Observe, l.Batch = cmp.Or(l.Observe, 128), cmp.Or(l.Batch, 8)
	return l
}

// maxWait is the longest time that a request waits at a gate. It is short, so that a caller learns of a
// rejection soon.
const maxWait = 10 * time.Millisecond

// Gate is a counting semaphore with a bounded queue and a short wait. A nil Gate admits
// every request.
//
// The capacity of a Gate with a priority gate shrinks in proportion to the requests in flight
// in that gate: a report can be sent later, but a task waits for its prediction before it starts.
// x/sync/semaphore has neither a bounded queue nor a variable capacity.
type Gate struct {
	capacity int64
	inFlight atomic.Int64
	waiting  atomic.Int64
	freed    chan struct{} // signals one waiting request that a slot may be free
	priority *Gate         // whose requests take precedence; nil if there is none
}

// NewGate creates a gate. `priority` is nil for a gate without a priority gate.
func NewGate(capacity int, priority *Gate) *Gate {
	return &Gate{capacity: int64(capacity), freed: make(chan struct{}, 1), priority: priority}
}

// InFlight returns the number of admitted requests that have not left.
func (g *Gate) InFlight() int64 { return g.inFlight.Load() }

// Waiting returns the number of requests that wait for a slot.
func (g *Gate) Waiting() int64 { return g.waiting.Load() }

// YieldsToPriority reports whether g has a priority gate.
func (g *Gate) YieldsToPriority() bool { return g.priority != nil }

// available returns the current capacity. It is at least one, to prevent starvation.
func (g *Gate) available() int64 {
	if g.priority == nil {
		return g.capacity
	}
	free := max(0, g.priority.capacity-g.priority.inFlight.Load())
	return max(1, g.capacity*free/g.priority.capacity)
}

func (g *Gate) tryEnter() bool {
	if g.inFlight.Add(1) <= g.available() {
		return true
	}
	g.inFlight.Add(-1)
	return false
}

// Enter takes a slot, or fails with ErrOverloaded. It waits for a slot until maxWait has
// passed or ctx ends. It does not wait if `overloaded` is true, or if as many requests as the full capacity wait already.
func (g *Gate) Enter(ctx context.Context, overloaded bool) error {
	if g == nil || g.waiting.Load() == 0 && g.tryEnter() {
		return nil
	}
	if overloaded {
		return ErrOverloaded
	}
	defer g.waiting.Add(-1)
	if g.waiting.Add(1) > g.capacity {
		return ErrOverloaded
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for {
		if g.tryEnter() {
			g.signal() // two slots may have become free with one signal
			return nil
		}
		select {
		case <-g.freed:
		case <-timer.C:
			return ErrOverloaded
		case <-ctx.Done():
			return ErrOverloaded
		}
	}
}

// Leave frees the slot of an admitted request.
func (g *Gate) Leave() {
	if g != nil {
		g.inFlight.Add(-1)
		g.signal()
	}
}

func (g *Gate) signal() {
	select {
	case g.freed <- struct{}{}:
	default: // a signal is pending
	}
}
