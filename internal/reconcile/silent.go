package reconcile

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// silent asks about tries that were answered and never reported.
func (w *Worker) silent(ctx context.Context) error {
	now := w.cfg.Now()
	receipts, err := w.store.UnreportedReceipts(ctx, store.Window{
		From: now.Add(-3 * w.cfg.Within), To: now.Add(-w.cfg.Delay), Now: now, Limit: w.cfg.Batch,
	})
	if err != nil {
		return err
	}
	return inquire(ctx, w, receipts, func(r sizing.Receipt) (Result, store.Lookup, error) {
		return w.complete(ctx, &r)
	})
}

// complete reports a try by what the witnesses say of it, once it should have ended.
// One of which nobody says how it ended stays unknown: nothing is invented.
func (w *Worker) complete(ctx context.Context, r *sizing.Receipt) (Result, store.Lookup, error) {
	try, now := r.Ask.Try, w.cfg.Now()
	due := r.At.Add(w.expected(&r.Allocation) + w.cfg.Delay)
	if now.Before(due) {
		return Waiting, store.Lookup{Try: try, RetryAt: due}, nil
	}
	known, _, err := w.ask(ctx, try, r.At, now)
	if err != nil {
		return "", store.Lookup{}, err
	}
	if known.Outcome != sizing.UnknownOutcome {
		result, err := w.report(ctx, reportOf(r, known), Reported)
		return result, store.Lookup{Try: try}, err
	}
	if now.Sub(due) > w.cfg.Within {
		return Expired, store.Lookup{Try: try}, nil
	}
	return Waiting, store.Lookup{Try: try, RetryAt: w.again(due)}, nil
}

// expected is twice the duration that 95 % of such tries do not exceed, at most Within
// so that every try is settled while it is looked at.
func (w *Worker) expected(a *sizing.Allocation) time.Duration {
	if a.Duration == nil || a.Duration.P95 <= 0 {
		return min(w.cfg.Expected, w.cfg.Within)
	}
	return min(2*a.Duration.P95, w.cfg.Within)
}

// reportOf joins what was answered and what is known of how it ended. What the pod
// really had counts, not what it was told to have. The store has the features.
func reportOf(r *sizing.Receipt, known sizing.Observation) sizing.Observation {
	known.Try, known.PredictionID = r.Ask.Try, r.Allocation.PredictionID
	known.Allocated = either(known.Allocated, sizing.Resources{Memory: r.Allocation.Memory.Limit, CPU: r.Allocation.CPU})
	known.Requested = r.Ask.Requested // what the DAG asks for; the pod's own request is what we answered
	return known
}
