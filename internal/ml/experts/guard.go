package experts

import (
	"math"
	"time"
)

// Guard widens the grants of first tries while clearly more of the open runs were killed
// than was promised. Kills are known at once, peaks only at the end of a run: without the
// guard, a task whose runs overlap repeats a mistake until the first retry has ended.
//
// A run is open while a try of it was granted and its end was not reported. An open first
// try counts with its promise, an open retry after a kill counts as one kill. A run whose
// end was reported, or that is not retried, counts as nothing. The state follows from
// receipts and reports alone, so that a restarted replica can restore it; what is noted
// twice counts once. It is bounded in number and in time. The zero value is ready.
type Guard struct {
	runs  map[uint64]watchedRun
	order []watchedAt // by grant of the first try, oldest first; may hold runs that are gone
	kills int         // runs whose retry is open
}

// watchedRun is a run whose first try was granted with a promise.
type watchedRun struct {
	at       time.Time // of the grant of the first try
	promised float64
	state    runState
	ended    int // number of its newest try that ended; 0: none
}

type runState uint8

const (
	firstOpen runState = iota // the first try has not ended
	waiting                   // a try was killed, and no retry was granted yet
	retryOpen                 // a retry after a kill has not ended
)

type watchedAt struct {
	run uint64
	at  time.Time
}

const (
	guardSlack = 1.0 // kills beyond the promise that chance may bring
	guardRatio = 1.5 // of kills to promises that chance may bring
	guardStep  = 0.1 // log allocation per further kill
	guardMost  = 1.5 // log allocation
)

// Limits of what a Guard watches.
const (
	GuardRuns = 1000           // the newest runs
	GuardFor  = 24 * time.Hour // from the first grant of a run: one that is never reported expires
)

// Grant notes that the first try of a run was granted with a promise. A run that is
// watched already stays as it is.
func (g *Guard) Grant(run uint64, promised float64, at time.Time) {
	if _, known := g.runs[run]; known {
		return
	}
	if g.runs == nil {
		g.runs = map[uint64]watchedRun{}
	}
	g.runs[run] = watchedRun{at: at, promised: promised}
	g.order = append(g.order, watchedAt{run, at})
	g.expire(at)
}

// Kill notes that a try of a run was OOM-killed. Until a retry is granted, the run is not
// open.
func (g *Guard) Kill(run uint64, try int) {
	if g.ended(run, try) {
		g.move(run, waiting)
	}
}

// Retry notes that a try of a killed run was granted.
func (g *Guard) Retry(run uint64, try int) {
	if w, known := g.runs[run]; known && w.state == waiting && try > w.ended {
		g.move(run, retryOpen)
	}
}

// End notes that a try of a run ended by something else than success or OOM: of a killed
// run another retry may follow.
func (g *Guard) End(run uint64, try int) {
	switch {
	case !g.ended(run, try):
	case g.runs[run].state == firstOpen:
		g.Forget(run)
	default:
		g.move(run, waiting)
	}
}

// ended notes the newest try of a watched run that ended. It is false where a report says
// nothing new.
func (g *Guard) ended(run uint64, try int) bool {
	w, known := g.runs[run]
	if !known || try <= w.ended {
		return false
	}
	w.ended = try
	g.runs[run] = w
	return true
}

// Forget stops watching a run: it succeeded, or it is not retried.
func (g *Guard) Forget(run uint64) {
	g.move(run, waiting)
	delete(g.runs, run)
}

// move changes the state of a watched run.
func (g *Guard) move(run uint64, to runState) {
	w, known := g.runs[run]
	if !known {
		return
	}
	if w.state == retryOpen {
		g.kills--
	}
	if to == retryOpen {
		g.kills++
	}
	w.state = to
	g.runs[run] = w
}

// expire forgets the oldest runs: those beyond GuardRuns, and those that began too long
// ago.
func (g *Guard) expire(now time.Time) {
	for len(g.order) > 0 {
		oldest := g.order[0]
		w, known := g.runs[oldest.run]
		live := known && w.at.Equal(oldest.at)
		if live && len(g.runs) <= GuardRuns && now.Sub(oldest.at) <= GuardFor {
			break
		}
		if live {
			g.Forget(oldest.run)
		}
		g.order = g.order[1:]
	}
	if len(g.order) > 2*len(g.runs)+GuardRuns { // most of them are gone
		g.compact()
	}
}

func (g *Guard) compact() {
	kept := make([]watchedAt, 0, len(g.runs))
	for _, o := range g.order {
		if w, known := g.runs[o.run]; known && w.at.Equal(o.at) {
			kept = append(kept, o)
		}
	}
	g.order = kept
}

// Widen is the factor on allocations that is in force.
func (g *Guard) Widen(now time.Time) float64 {
	if g.kills == 0 {
		return 1
	}
	g.expire(now)
	over := float64(g.kills) - guardRatio*g.promised() - guardSlack
	if over <= 0 {
		return 1
	}
	return math.Exp(min(guardMost, over*guardStep))
}

// promised sums the promises of the open first tries, in a fixed order: the same runs
// give the same sum.
func (g *Guard) promised() float64 {
	sum := 0.0
	for _, o := range g.order {
		if w, known := g.runs[o.run]; known && w.state == firstOpen && w.at.Equal(o.at) {
			sum += w.promised
		}
	}
	return sum
}
