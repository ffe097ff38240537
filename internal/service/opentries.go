package service

import (
	"context"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

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
	refused := t.open.SmallestUnschedulable(max(held, killed), now.Add(-t.unfitFor))
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
	refused, err := s.store.SchedulingFailures(ctx, key, now.Add(-s.cfg.UnfitFor), inflight.MaxUnschedulable)
	if err != nil {
		return err
	}
	granted, err := s.store.GrantedTries(ctx, key, now.Add(-fitting.GuardFor), fitting.GuardRuns)
	if err != nil {
		return err
	}
	for i := range slices.Backward(granted) { // the newest answer to a try is in force
		s.tries.Restore(key, &granted[i])
	}
	t.open.Restore(refused, granted)
	return nil
}

// withdrawn forgets what this replica knew by a report that was taken back: it reads the
// task again, as it is stored now.
func (s *Service) withdrawn(ctx context.Context, try *sizing.TryKey) {
	t := s.tasks.find(try.TaskKey)
	if t == nil || t.latent.Load() != nil {
		return
	}
	t.void(try)
	t.open.Forget(try)
	s.outbox.Flush(ctx) // what is queued must be found
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
