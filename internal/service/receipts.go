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
	queue   []sizing.Receipt // from gone on; those before are written, or dropped
	gone    int
	dropped int
	flushMu sync.Mutex // one writer at a time, so that order is kept
	batch   []sizing.Receipt
}

// add queues one receipt.
func (q *receipts) add(r sizing.Receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue)-q.gone >= maxQueued {
		q.forget(1)
		q.dropped++
	}
	if len(q.queue) == cap(q.queue) && q.gone > len(q.queue)/2 { // no more room is taken than needed
		n := copy(q.queue, q.queue[q.gone:])
		clear(q.queue[n:])
		q.queue, q.gone = q.queue[:n], 0
	}
	q.queue = append(q.queue, r)
}

// forget takes the n oldest off. q.mu is held.
func (q *receipts) forget(n int) {
	clear(q.queue[q.gone : q.gone+n])
	q.gone += n
	if q.gone < len(q.queue) {
		return
	}
	q.queue, q.gone = q.queue[:0], 0
	if cap(q.queue) > 4*flushAtMost { // what a database that was away left
		q.queue = nil
	}
}

// pending finds a receipt that is not written yet.
func (q *receipts) pending(id string) (sizing.Receipt, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.queue[q.gone:] {
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
		batch := append(q.batch[:0], q.queue[q.gone:min(len(q.queue), q.gone+flushAtMost)]...)
		q.batch = batch
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
		q.forget(max(0, len(batch)-(q.dropped-dropped)))
		clear(batch)
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
