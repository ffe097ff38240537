package modelcache

import (
	"context"
	"slices"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// updateTries ends the tries that were reported after row `previousSeq`, the newest row of the previous refresh. `tail` holds
// the newest rows after row `seq`, the newest row of the training. If previousSeq is 0, no previous refresh has read
// a row, and restoreTries has read the outcomes.
func (c *Cache) updateTries(ctx context.Context, t *Task, key sizing.TaskKey, tail []sizing.HistoryRow, seq, previousSeq int64) error {
	switch {
	case previousSeq == 0:
		return nil
	case previousSeq >= seq && (len(tail) < maxTail || tail[0].Seq <= previousSeq): // tail has all rows after previousSeq
		c.endTries(t, key, tail, previousSeq)
		return nil
	}
	return c.endReportedTries(ctx, t, key, previousSeq)
}

func (c *Cache) restoreTries(ctx context.Context, t *Task, key sizing.TaskKey) error {
	now := c.cfg.Now()
	failures, err := c.store.SchedulingFailures(ctx, key, now.Add(-c.cfg.UnschedulableFor), inflight.MaxUnschedulable)
	if err != nil {
		return err
	}
	granted, err := c.store.GrantedTries(ctx, key, now.Add(-taskmodel.GuardFor), taskmodel.GuardRuns)
	if err != nil {
		return err
	}
	for i := range slices.Backward(granted) { // newest first, because Restore does not replace an answer to the same try
		c.tries.Restore(key, &granted[i])
	}
	t.Open.Restore(failures, granted)
	return nil
}

// endReportedTries reads the rows after row `seq` and ends their tries, because tries that were reported to other replicas
// would otherwise remain in memory and count as open.
func (c *Cache) endReportedTries(ctx context.Context, t *Task, key sizing.TaskKey, seq int64) error {
	for {
		reported, err := c.store.Since(ctx, key, seq, maxTail)
		if err != nil {
			return err
		}
		c.endTries(t, key, reported.Rows, seq)
		if len(reported.Rows) < maxTail {
			return nil
		}
		seq = reported.LastSeq
	}
}

func (c *Cache) endTries(t *Task, key sizing.TaskKey, rows []sizing.HistoryRow, seq int64) {
	for i := range rows {
		r := &rows[i]
		if r.Seq <= seq {
			continue
		}
		try := sizing.TryKey{TaskKey: key, RunID: r.RunID, MapIndex: r.MapIndex, Number: r.Try}
		answer, wasInFlight := c.tries.End(&try)
		_, censoring := r.Peak()
		if r.Outcome.OOM() && sizing.IsBelowStatic(r.Allocated.Memory, answer.Static) || censoring == sizing.OwnLimit {
			t.Open.EndPlanned(&try)
		} else {
			t.Open.End(&try, r.Outcome)
		}
		if wasInFlight && r.Outcome == sizing.Unschedulable {
			t.Open.AddUnschedulable(r.Allocated.Memory, r.At)
		}
	}
}
