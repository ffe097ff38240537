package inflight

import (
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// MaxUnschedulable bounds the unschedulable allocations of a task that OpenTries keeps. The newest stay.
const MaxUnschedulable = 16

// OpenTries tracks the granted tries of one task that have not ended, and the newest allocations that were unschedulable.
// Restore derives both from the store after a restart, and after a report was voided (deleted by POST /observe/void). The
// guard raises grants while clearly more open runs were killed than their predictions promised (see experts.Guard).
// OpenTries is safe for concurrent use. The zero value is empty.
type OpenTries struct {
	mu            sync.Mutex
	guard         taskmodel.Guard
	unschedulable []unschedulable // oldest first
}

type unschedulable struct {
	size sizing.Bytes
	at   time.Time
}

// GuardFactor returns the factor by which the guard raises grants, and the numbers of killed and of all tracked runs, in which
// newer runs weigh more. While the guard is inactive, the factor is 1 and both numbers are 0.
func (o *OpenTries) GuardFactor(now time.Time) (float64, taskmodel.OpenKills) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.guard.Factor(now), o.guard.OpenKills(now)
}

// AddGrant records that a first try was granted. The argument `promised` is the risk that the grant would have without
// the guard.
func (o *OpenTries) AddGrant(try *sizing.TryKey, promised float64, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Grant(try.Run(), promised, now)
}

// AddRetry records that a retry after a kill was granted.
func (o *OpenTries) AddRetry(try *sizing.TryKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Retry(try.Run(), try.Number)
}

// Forget removes a run from the guard, because the report of a try of this run was voided.
func (o *OpenTries) Forget(try *sizing.TryKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Forget(try.Run())
}

// End records the outcome of a try.
func (o *OpenTries) End(try *sizing.TryKey, outcome sizing.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(try.Run(), try.Number, outcome)
}

// EndPlanned records that a try was OOM-killed below the static grant of its plan, or that its program reached a limit of its
// own, such as -Xmx (sizing.OwnLimit). It uses the outcome sizing.Killed (a signal of unknown cause), which the guard does not
// count as an OOM kill: the guard compares OOM kills with the promises of static grants. Restore does not know limits of
// programs, and counts such tries as OOM kills.
func (o *OpenTries) EndPlanned(try *sizing.TryKey) {
	o.End(try, sizing.Killed)
}

// end is End for a caller that holds o.mu.
func (o *OpenTries) end(run uint64, try int, outcome sizing.Outcome) {
	switch {
	case outcome.OOM():
		o.guard.Kill(run, try)
	case outcome == sizing.Success:
		o.guard.Forget(run)
	default:
		o.guard.End(run, try)
	}
}

// AddUnschedulable records that an allocation fitted no node.
func (o *OpenTries) AddUnschedulable(size sizing.Bytes, at time.Time) {
	if size == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.unschedulable) == MaxUnschedulable {
		o.unschedulable = slices.Delete(o.unschedulable, 0, 1)
	}
	o.unschedulable = append(o.unschedulable, unschedulable{size, at})
}

// SmallestUnschedulable returns the smallest allocation above `scheduled` that was unschedulable at the time `since` or
// later, or zero if there is none. Allocations of at most `scheduled` are known to fit a node.
func (o *OpenTries) SmallestUnschedulable(scheduled sizing.Bytes, since time.Time) sizing.Bytes {
	o.mu.Lock()
	defer o.mu.Unlock()
	var smallest sizing.Bytes
	for _, u := range o.unschedulable {
		if u.size > scheduled && !u.at.Before(since) && (smallest == 0 || u.size < smallest) {
			smallest = u.size
		}
	}
	return smallest
}

// Restore replaces the unschedulable allocations, and replays stored grants, oldest first,
// with their outcomes.
func (o *OpenTries) Restore(failures []store.SchedulingFailure, granted []store.GrantedTry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unschedulable = o.unschedulable[:0]
	for _, f := range failures {
		o.unschedulable = append(o.unschedulable, unschedulable{f.Memory, f.At})
	}
	for i := range granted {
		g := &granted[i]
		run := sizing.RunHash(g.RunID, g.MapIndex)
		switch {
		case g.Try == 1 && g.BeforeGuard != nil:
			o.guard.Grant(run, *g.BeforeGuard, g.At)
		case g.Try > 1 && g.Lifted:
			o.guard.Retry(run, g.Try)
		}
		if g.Outcome != sizing.UnknownOutcome {
			outcome := g.Outcome
			if g.Planned && outcome.OOM() {
				outcome = sizing.Killed // see EndPlanned
			}
			o.end(run, g.Try, outcome)
		}
	}
}
