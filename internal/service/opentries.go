package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// open watches the tries of a task that were granted here and have not ended, and the
// sizes that were unschedulable a while ago. Both are derived from receipts and reports:
// restore reads them again after a restart.
type open struct {
	mu      sync.Mutex
	guard   fitting.Guard
	refused []refusal // oldest first
}

// refusal is an allocation that fitted no node at a time.
type refusal struct {
	size sizing.Bytes
	at   time.Time
}

const refusalsKept = 16 // newest of a task

func (o *open) widen(now time.Time) (float64, fitting.OpenKills) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.guard.Widen(now), o.guard.OpenKills(now)
}

// granted notes that a first try was granted with a promise.
func (o *open) granted(try *sizing.TryKey, promised float64, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Grant(try.Run(), promised, now)
}

// retried notes that a retry after a kill was granted.
func (o *open) retried(try *sizing.TryKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Retry(try.Run(), try.Number)
}

// closed forgets a run of which a report was taken back.
func (o *open) closed(try *sizing.TryKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.guard.Forget(try.Run())
}

// ended notes how a try ended.
func (o *open) ended(try *sizing.TryKey, outcome sizing.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end(try.Run(), try.Number, outcome)
}

func (o *open) end(run uint64, try int, outcome sizing.Outcome) {
	switch {
	case outcome.OOM():
		o.guard.Kill(run, try)
	case outcome == sizing.Success:
		o.guard.Forget(run)
	default:
		o.guard.End(run, try)
	}
}

// refuse notes that no node took an allocation.
func (o *open) refuse(size sizing.Bytes, at time.Time) {
	if size == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.refused) == refusalsKept {
		o.refused = slices.Delete(o.refused, 0, 1)
	}
	o.refused = append(o.refused, refusal{size, at})
}

// leastRefused is the smallest allocation above known that was refused since a time;
// zero if none was. One at or below known was scheduled before or after.
func (o *open) leastRefused(known sizing.Bytes, since time.Time) sizing.Bytes {
	o.mu.Lock()
	defer o.mu.Unlock()
	var least sizing.Bytes
	for _, r := range o.refused {
		if r.size > known && !r.at.Before(since) && (least == 0 || r.size < least) {
			least = r.size
		}
	}
	return least
}

// leastNode is below what any node offers: a pod so small that is not scheduled waits for
// another reason than its size.
const leastNode = sizing.GiB

// ceilingAt is the most that is granted while more is known to fit no node; zero if
// nothing is. It is half of what was refused, but never below a measured peak, a size that
// was started, or the policy's floor, and always above what was killed: above is what this
// run was killed with.
func (t *task) ceilingAt(now time.Time, floor, above sizing.Bytes) sizing.Bytes {
	held := max(t.model.LargestStarted(), t.model.LargestPeak(), floor, leastNode)
	killed := max(t.model.LargestKilled(), above)
	refused := t.open.leastRefused(max(held, killed), now.Add(-t.unfitFor))
	if refused == 0 {
		return 0
	}
	ceiling := max(refused/2, held)
	if ceiling > killed {
		return ceiling
	}
	if between := killed + (refused-killed)/2; between > killed {
		return between
	}
	return 0 // nothing fits between the two
}

// restore derives the watch of a task, and what its open tries were answered, from what is
// stored, after a restart or after a report was taken back.
func (s *Service) restore(ctx context.Context, t *task, key sizing.TaskKey) error {
	now := s.cfg.Now()
	refused, err := s.store.SchedulingFailures(ctx, key, now.Add(-s.cfg.UnfitFor), refusalsKept)
	if err != nil {
		return err
	}
	granted, err := s.store.GrantedTries(ctx, key, now.Add(-fitting.GuardFor), fitting.GuardRuns)
	if err != nil {
		return err
	}
	for i := range slices.Backward(granted) { // the newest answer to a try is in force
		s.tries.restore(key, &granted[i])
	}
	t.open.mu.Lock()
	defer t.open.mu.Unlock()
	t.open.refused = t.open.refused[:0]
	for _, r := range refused {
		t.open.refused = append(t.open.refused, refusal{r.Memory, r.At})
	}
	t.open.replay(granted)
	return nil
}

// replay takes stored grants in, oldest first, with what came of them.
func (o *open) replay(granted []store.GrantedTry) {
	for _, g := range granted {
		run := sizing.RunHash(g.RunID, g.MapIndex)
		switch {
		case g.Try == 1 && g.BeforeGuard != nil:
			o.guard.Grant(run, *g.BeforeGuard, g.At)
		case g.Try > 1 && g.Lifted:
			o.guard.Retry(run, g.Try)
		}
		if g.Outcome != sizing.UnknownOutcome {
			o.end(run, g.Try, g.Outcome)
		}
	}
}

// withdrawn forgets what this replica knew by a report that was taken back: it reads the
// task again, as it is stored now.
func (s *Service) withdrawn(ctx context.Context, try *sizing.TryKey) {
	t := s.tasks.find(try.TaskKey)
	if t == nil || t.latent.Load() != nil {
		return
	}
	t.void(try)
	t.open.closed(try)
	s.receipts.flush(ctx) // what is queued must be found
	err := s.readTask(ctx, try.TaskKey, true)
	if err == nil {
		t.void(try) // a published model may still hold it
		err = s.restore(ctx, t, try.TaskKey)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("void a report: the task could not be read again; the next training corrects it", "task", try.TaskKey.String(), "err", err)
	}
}

// void has the model forget a lower bound by a report that was taken back.
func (t *task) void(try *sizing.TryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recent = slices.DeleteFunc(t.recent, func(told fitting.TrainingRow) bool {
		return told.Run == try.Run() && told.Try == try.Number
	})
	if t.model != untaught {
		t.model.Void(try.Run(), try.Number)
	}
}
