package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Receipts are written behind the answers: Predict never waits for the database.
const (
	maxQueued    = 50_000                 // beyond it the oldest are dropped, and counted
	flushEvery   = 100 * time.Millisecond // what a crash can lose
	flushAtMost  = 2_000                  // rows in one write
	flushTimeout = 5 * time.Second
)

// receipts is the queue of answers to be stored.
type receipts struct {
	store store.Receipts
	log   *slog.Logger

	mu      sync.Mutex
	queue   []sizing.Receipt
	dropped int
	flushMu sync.Mutex // one writer at a time, so that order is kept
}

// add queues one receipt.
func (q *receipts) add(r sizing.Receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) >= maxQueued {
		q.queue = q.queue[1:]
		q.dropped++
	}
	q.queue = append(q.queue, r)
}

// pending finds a receipt that is not written yet.
func (q *receipts) pending(id string) (sizing.Receipt, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.queue {
		if r.Allocation.PredictionID == id {
			return r, true
		}
	}
	return sizing.Receipt{}, false
}

// run writes until ctx ends, then writes what is left.
func (q *receipts) run(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			q.flush(last)
			return
		case <-tick.C:
			q.flush(ctx)
		}
	}
}

// flush writes what is queued; what fails stays queued for the next time.
func (q *receipts) flush(ctx context.Context) {
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	for {
		q.mu.Lock()
		batch := append([]sizing.Receipt(nil), q.queue[:min(len(q.queue), flushAtMost)]...)
		dropped := q.dropped
		q.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		err := q.save(ctx, batch)
		cancel()
		if err != nil {
			q.log.Warn("receipts wait for the database", "queued", len(batch), "dropped", dropped, "err", err)
			return
		}
		q.mu.Lock()
		// Drops while writing took from the front, and so did this write.
		q.queue = q.queue[max(0, len(batch)-(q.dropped-dropped)):]
		q.mu.Unlock()
	}
}

// save writes a batch. One receipt that can never be stored is given up, and must
// neither hold up nor take along the others: the batch is halved until it stands
// alone.
func (q *receipts) save(ctx context.Context, batch []sizing.Receipt) error {
	err := q.store.SaveReceipts(ctx, batch)
	if err == nil || isKind(err, sizing.Unavailable) {
		return err
	}
	if len(batch) == 1 {
		q.log.Error("a receipt was refused", "prediction_id", batch[0].Allocation.PredictionID, "err", err)
		return nil
	}
	half := len(batch) / 2
	return errors.Join(q.save(ctx, batch[:half]), q.save(ctx, batch[half:]))
}
