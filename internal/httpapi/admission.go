package httpapi

import (
	"cmp"
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Limits bound what is worked on at once. A request beyond them waits for a moment
// and is then told to come again. What is let in is answered at full speed: without
// a bound, every request of an overload would be answered, and all of them too late.
type Limits struct {
	Predict int // questions at once; 64 for each CPU if zero: they need nothing else
	Observe int // reports at once, while nobody asks; 128 if zero: more than a commit takes along
	Batch   int // batches at once, each up to 32 MiB; 8 if zero
}

func (l Limits) withDefaults() Limits {
	l.Predict = cmp.Or(l.Predict, 64*runtime.GOMAXPROCS(0))
	l.Observe, l.Batch = cmp.Or(l.Observe, 128), cmp.Or(l.Batch, 8)
	return l
}

// patience is how long a request waits for a place. A caller should hear within
// 50 ms that it must come again, the way there and back included.
const patience = 10 * time.Millisecond

// gate counts who is inside, and lets no more in than it has places.
//
// A gate that yields gives way to another one: its places shrink in proportion to
// those that are taken there. A report can be told later, a task that is to be
// launched waits for its prediction.
type gate struct {
	places   int64
	inside   atomic.Int64
	queued   atomic.Int64
	left     chan struct{} // a hint to one who waits that a place became free
	yieldsTo *gate
}

var errCrowded = &failure{class: unavailable, detail: "too many requests of this kind are being answered: send it again"}

func newGate(places int, yieldsTo *gate) *gate {
	return &gate{places: int64(places), left: make(chan struct{}, 1), yieldsTo: yieldsTo}
}

// open is the number of places now. One always remains, so that nobody starves.
func (g *gate) open() int64 {
	if g.yieldsTo == nil {
		return g.places
	}
	free := max(0, g.yieldsTo.places-g.yieldsTo.inside.Load())
	return max(1, g.places*free/g.yieldsTo.places)
}

func (g *gate) try() bool {
	if g.inside.Add(1) <= g.open() {
		return true
	}
	g.inside.Add(-1)
	return false
}

// enter takes a place, or fails with unavailable. As many may wait as there are
// places: more could not be let in before their patience ends. In a crowd nobody waits.
func (g *gate) enter(ctx context.Context, crowded bool) error {
	if g == nil || g.queued.Load() == 0 && g.try() {
		return nil
	}
	if crowded {
		return errCrowded
	}
	defer g.queued.Add(-1)
	if g.queued.Add(1) > g.places {
		return errCrowded
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if g.try() {
			g.hint() // one hint may have stood for two places
			return nil
		}
		select {
		case <-g.left:
		case <-timer.C:
			return errCrowded
		case <-ctx.Done():
			return errCrowded
		}
	}
}

func (g *gate) leave() {
	if g != nil {
		g.inside.Add(-1)
		g.hint()
	}
}

func (g *gate) hint() {
	select {
	case g.left <- struct{}{}:
	default: // there is one already
	}
}
