package experts

import (
	"math"
	"time"
)

// Guard computes a factor on the allocations of first tries, which is above 1 while clearly more of the open runs were
// killed than promised. The promise of a grant is the stated probability that the try is killed. A kill
// is known at once, but a peak is known only at the end of a run. Without the guard, a task with
// overlapping runs would repeat a mistake until the first retry ends.
//
// A run is open while one of its tries is granted and not reported as ended. An open first
// try counts with its promise, and an open retry after a kill counts as one kill. A run that
// ended, or that is not retried, does not count. The state depends on receipts and reports
// only, so a restarted replica can restore it. A duplicate event has no effect, except a grant of a run that was
// removed. A Guard tracks at most GuardRuns runs, each for at most GuardFor. The zero value is ready to use.
type Guard struct {
	runs  map[uint64]trackedRun
	order []grantedRun // in the order of the first grants, oldest first; may contain runs that are no longer in the map `runs`
	kills int          // runs with an open retry
}

type trackedRun struct {
	at        time.Time // time of the first grant
	promised  float64   // P(killed) of the first grant
	state     runState
	lastEnded int // number of the newest ended try; 0: none
}

type runState uint8

const (
	firstOpen     runState = iota // the first try has not ended
	awaitingRetry                 // a try was killed, and now no try is open
	retryOpen                     // a retry after a kill has not ended
)

type grantedRun struct {
	run uint64
	at  time.Time
}

const (
	guardSlack = 1.0 // kills beyond the promise that may be chance
	guardRatio = 1.5 // ratio of kills to promises that may be chance
	guardStep  = 0.1 // logarithm of the factor, per kill beyond guardSlack and guardRatio
	maxGuard   = 1.5 // largest logarithm of the factor, which is then 4.5
)

// Limits of the runs that a Guard tracks.
const (
	GuardRuns = 1000           // largest number of runs
	GuardFor  = 24 * time.Hour // time since the first grant of a run after which the run is no longer tracked
)

// Grant records that the first try of a run was granted with a promise. It does not change a
// run that is already tracked.
func (g *Guard) Grant(run uint64, promised float64, at time.Time) {
	if _, known := g.runs[run]; known {
		return
	}
	if g.runs == nil {
		g.runs = map[uint64]trackedRun{}
	}
	g.runs[run] = trackedRun{at: at, promised: promised}
	g.order = append(g.order, grantedRun{run, at})
	g.expire(at)
}

// Kill records that a try of a run was OOM-killed. The run is open again when a retry is granted.
func (g *Guard) Kill(run uint64, try int) {
	if g.recordEnd(run, try) {
		g.setState(run, awaitingRetry)
	}
}

// Retry records that a try of a killed run was granted.
func (g *Guard) Retry(run uint64, try int) {
	if r, known := g.runs[run]; known && r.state == awaitingRetry && try > r.lastEnded {
		g.setState(run, retryOpen)
	}
}

// End records that a try of a run ended without success and without OOM. It removes a run whose first try was
// open. Another retry of a killed run may follow.
func (g *Guard) End(run uint64, try int) {
	switch {
	case !g.recordEnd(run, try):
	case g.runs[run].state == firstOpen:
		g.Forget(run)
	default:
		g.setState(run, awaitingRetry)
	}
}

// recordEnd stores the newest ended try of a tracked run. It returns false if the run is not
// tracked, or if this try or a later one is known to have ended.
func (g *Guard) recordEnd(run uint64, try int) bool {
	r, known := g.runs[run]
	if !known || try <= r.lastEnded {
		return false
	}
	r.lastEnded = try
	g.runs[run] = r
	return true
}

// Forget removes a run that succeeded, or that will not be retried.
func (g *Guard) Forget(run uint64) {
	g.setState(run, awaitingRetry)
	delete(g.runs, run)
}

func (g *Guard) setState(run uint64, to runState) {
	r, known := g.runs[run]
	if !known {
		return
	}
	if r.state == retryOpen {
		g.kills--
	}
	if to == retryOpen {
		g.kills++
	}
	r.state = to
	g.runs[run] = r
}

func (g *Guard) expire(now time.Time) {
	for len(g.order) > 0 {
		oldest := g.order[0]
		tracked := g.tracks(oldest)
		if tracked && len(g.runs) <= GuardRuns && now.Sub(oldest.at) <= GuardFor {
			break
		}
		if tracked {
			g.Forget(oldest.run)
		}
		g.order = g.order[1:]
	}
	if len(g.order) > 2*len(g.runs)+GuardRuns { // most entries are of removed runs
		g.compact()
	}
}

// tracks reports whether `o` is the current entry of its run: a run that was removed and granted again has a newer
// entry.
func (g *Guard) tracks(o grantedRun) bool {
	r, known := g.runs[o.run]
	return known && r.at.Equal(o.at)
}

func (g *Guard) compact() {
	tracked := make([]grantedRun, 0, len(g.runs))
	for _, o := range g.order {
		if g.tracks(o) {
			tracked = append(tracked, o)
		}
	}
	g.order = tracked
}

// Factor returns the current factor on the allocations of first tries, at least 1.
func (g *Guard) Factor(now time.Time) float64 {
	if g.kills == 0 {
		return 1
	}
	g.expire(now)
	excess := float64(g.kills) - guardRatio*g.promised() - guardSlack
	if excess <= 0 {
		return 1
	}
	return math.Exp(min(maxGuard, excess*guardStep))
}

// promised returns the sum of the promises of the open first tries. It sums in a fixed order, so that the same runs give the
// same sum bit for bit.
func (g *Guard) promised() float64 {
	sum := 0.0
	for _, o := range g.order {
		if r, known := g.runs[o.run]; known && r.state == firstOpen && r.at.Equal(o.at) {
			sum += r.promised
		}
	}
	return sum
}

// OpenKills holds the weighted numbers of the killed runs, with or without an open retry, and of all runs that a Guard tracks.
// The newest run counts 1, and older runs have exponentially smaller weights.
type OpenKills struct{ Killed, Runs float64 }

const (
	openKillsDecay = 0.95 // per newer run: about the last twenty runs count
	openKillsPrior = 2.0  // the prior promise counts as this many runs
)

// Rate returns the posterior mean of the kill rate. `promised` is the prior mean: the promise
// before any kill was known.
func (o OpenKills) Rate(promised float64) float64 {
	return (o.Killed + openKillsPrior*promised) / (o.Runs + openKillsPrior)
}

// OpenKills returns the counts of the tracked runs while Factor is above 1, and zero otherwise.
func (g *Guard) OpenKills(now time.Time) (o OpenKills) {
	if g.Factor(now) <= 1 {
		return o
	}
	for _, granted := range g.order {
		if r, known := g.runs[granted.run]; known && r.at.Equal(granted.at) {
			o.Killed, o.Runs = o.Killed*openKillsDecay, o.Runs*openKillsDecay+1
			if r.state != firstOpen {
				o.Killed++
			}
		}
	}
	return o
}
