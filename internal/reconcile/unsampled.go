package reconcile

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// unsampled asks about tries that were reported without a sampled peak, of those
// whose peak was measured too: the two together tell what samples miss.
func (w *Worker) unsampled(ctx context.Context) error {
	if len(w.cfg.Witnesses) == 0 {
		return nil
	}
	now := w.cfg.Now()
	tries, err := w.store.Unsampled(ctx, store.Window{
		From: now.Add(-2 * w.cfg.Within), To: now.Add(-w.cfg.Delay), Now: now, Limit: w.cfg.Batch,
	})
	if err != nil {
		return err
	}
	return inquire(ctx, w, tries, func(o sizing.Observation) (Result, store.Lookup, error) {
		return w.amend(ctx, o)
	})
}

func (w *Worker) amend(ctx context.Context, o sizing.Observation) (Result, store.Lookup, error) {
	known, _, err := w.ask(ctx, o.Try, startOf(&o), o.EndedAt)
	if err != nil {
		return "", store.Lookup{}, err
	}
	if news := newsOf(&o, &known); news.MemorySampled > 0 || news.MemoryMax > 0 {
		result, err := w.report(ctx, news, Amended)
		return result, store.Lookup{Try: o.Try}, err
	}
	if w.cfg.Now().Sub(o.EndedAt) > w.cfg.Within {
		return Missing, store.Lookup{Try: o.Try}, nil
	}
	return Waiting, store.Lookup{Try: o.Try, RetryAt: w.again(o.EndedAt)}, nil
}

// startOf is when a try began, or a guess that is early enough.
func startOf(o *sizing.Observation) time.Time {
	switch {
	case !o.StartedAt.IsZero():
		return o.StartedAt
	case o.Duration > 0:
		return o.EndedAt.Add(-o.Duration)
	}
	return o.EndedAt.Add(-time.Hour)
}

// newsOf is a report of a told try that says again how it ended, and else only what
// was not told: it contradicts nothing.
func newsOf(told, known *sizing.Observation) sizing.Observation {
	news := sizing.Observation{
		Try: told.Try, Outcome: told.Outcome, Provisional: told.Provisional, MemorySampled: known.MemorySampled,
	}
	if told.MemoryMax == 0 {
		news.MemoryMax = known.MemoryMax
	}
	if told.CPUMax == 0 {
		news.CPUMax = known.CPUMax
	}
	if told.Allocated.Memory == 0 {
		news.Allocated.Memory = known.Allocated.Memory
	}
	return news
}
