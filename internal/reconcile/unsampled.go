package reconcile

import (
	"cmp"
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// reconcileUnsampled looks up reported tries without a sampled peak. It includes tries with a measured peak, because the
// difference between the two peaks shows how much sampling misses.
func (w *Worker) reconcileUnsampled(ctx context.Context) error {
	if len(w.cfg.Sources) == 0 {
		return nil
	}
	now := w.cfg.Now()
	tries, err := w.store.Unsampled(ctx, store.Window{
		From: now.Add(-2 * w.cfg.Within), To: now.Add(-w.cfg.Delay), Now: now, Limit: w.cfg.Batch,
	})
	if err != nil {
		return err
	}
	return lookUpAll(ctx, w, tries, func(o sizing.Observation) (Result, store.Lookup, error) {
		return w.amend(ctx, o)
	})
}

// amend looks up a reported try. If a source has a sampled peak, or a measured peak that the report lacks, or explains the
// failure of the try as an OOM kill, amend adds these and other unknown fields to the report. Then the try is not looked up
// again, even without a sampled peak: a source that knows only the measured peak has no samples of the try and gets none later.
func (w *Worker) amend(ctx context.Context, o sizing.Observation) (Result, store.Lookup, error) {
	known, err := w.lookUp(ctx, o.Try, startOf(&o), o.EndedAt)
	if err != nil {
		return "", store.Lookup{}, err
	}
	amendment := amendmentOf(&o, &known)
	if amendment.MemorySampled > 0 || amendment.MemoryMax > 0 || amendment.Outcome != o.Outcome {
		result, err := w.report(ctx, amendment, Amended)
		return result, store.Lookup{Try: o.Try}, err
	}
	if w.cfg.Now().Sub(o.EndedAt) > w.cfg.Within {
		return Missing, store.Lookup{Try: o.Try}, nil
	}
	return Waiting, store.Lookup{Try: o.Try, RetryAt: w.retryAt(o.EndedAt)}, nil
}

func startOf(o *sizing.Observation) time.Time {
	switch {
	case !o.StartedAt.IsZero():
		return o.StartedAt
	case o.Duration > 0:
		return o.EndedAt.Add(-o.Duration)
	}
	return o.EndedAt.Add(-time.Hour)
}

// amendmentOf returns a report with the outcome of the stored report, which may be provisional, and otherwise
// only fields that the stored report lacks, so that it does not contradict the stored report. If the stored report is a
// failure, and the pod was OOM-killed, the returned report is this kill. It has a start if one is known, because the store
// treats a provisional report without peaks and times as a lift request.
func amendmentOf(stored, known *sizing.Observation) sizing.Observation {
	amendment := sizing.Observation{
		Try: stored.Try, Outcome: stored.Outcome, Provisional: stored.Provisional, MemorySampled: known.MemorySampled,
	}
	if stored.MemoryMax == 0 {
		amendment.MemoryMax = known.MemoryMax
	}
	if stored.CPUMax == 0 {
		amendment.CPUMax = known.CPUMax
	}
	if stored.Allocated.Memory == 0 {
		amendment.Allocated.Memory = known.Allocated.Memory
	}
	isKill := known.Outcome == sizing.OOMKilled && max(known.MemorySampled, known.MemoryMax, known.Allocated.Memory, stored.Allocated.Memory) > 0
	if stored.Outcome.MayBeOOM() && isKill {
		amendment.Outcome, amendment.Provisional = known.Outcome, true
		amendment.StartedAt = stored.StartedAt
		if amendment.StartedAt.IsZero() {
			amendment.StartedAt = known.StartedAt
		}
		amendment.Allocated.Memory = cmp.Or(stored.Allocated.Memory, known.Allocated.Memory)
	}
	return amendment
}
