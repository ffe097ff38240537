package reconcile

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func (w *Worker) reconcileUnreported(ctx context.Context) error {
	now := w.cfg.Now()
	receipts, err := w.store.UnreportedReceipts(ctx, store.Window{
		From: now.Add(-3 * w.cfg.Within), To: now.Add(-w.cfg.Delay), Now: now, Limit: w.cfg.Batch,
	})
	if err != nil {
		return err
	}
	return lookUpAll(ctx, w, receipts, func(r sizing.Receipt) (Result, store.Lookup, error) {
		return w.complete(ctx, &r)
	})
}

func (w *Worker) complete(ctx context.Context, r *sizing.Receipt) (Result, store.Lookup, error) {
	try, now := r.Ask.Try, w.cfg.Now()
	due := r.At.Add(w.expected(&r.Allocation) + w.cfg.Delay)
	if now.Before(due) {
		return Waiting, store.Lookup{Try: try, RetryAt: due}, nil
	}
	known, err := w.lookUp(ctx, try, r.At, now)
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
	return Waiting, store.Lookup{Try: try, RetryAt: w.retryAt(due)}, nil
}

// expected returns the time from the answer until the try should have ended: twice the predicted 95 %
// quantile of the duration, or cfg.Expected without a prediction; at most cfg.Within, so that a try gets a
// final result before it leaves the window of reconcileUnreported, which begins three times cfg.Within ago.
func (w *Worker) expected(a *sizing.Allocation) time.Duration {
	if a.Duration == nil || a.Duration.P95 <= 0 {
		return min(w.cfg.Expected, w.cfg.Within)
	}
	return min(2*a.Duration.P95, w.cfg.Within)
}

// reportOf merges a receipt with the lookup of its try into a report. The report is provisional, because the reporter of the
// try may still report it. The observed allocation takes precedence over the granted amount. The store adds the features of
// the receipt.
func reportOf(r *sizing.Receipt, known sizing.Observation) sizing.Observation {
	known.Try, known.PredictionID = r.Ask.Try, r.Allocation.PredictionID
	known.Allocated = orElse(known.Allocated, sizing.Resources{Memory: r.Allocation.Memory.Limit, CPU: r.Allocation.CPU})
	known.Provisional = true
	known.Requested = r.Ask.Requested // the static request of the DAG; the request of the pod is the granted amount
	return known
}
