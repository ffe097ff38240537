// Package outbox stores receipts asynchronously. Predictions add receipts to a bounded queue
// in memory, and a background loop writes them to the store in batches.
package outbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/service/packed"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const (
	// FlushInterval bounds the receipts that a crash loses.
	FlushInterval = 100 * time.Millisecond
	// RetryInterval is the pause after a failed write. Each attempt decodes a whole batch.
	RetryInterval = time.Second
	// BatchSize is the largest number of receipts in one write.
	BatchSize = 2_000

	maxQueued    = 50_000 // with more receipts in the queue, the oldest batch is dropped and counted
	flushTimeout = 5 * time.Second
)

// Outbox queues receipts until the store has them. Batches are never copied, so that the cost
// of Add does not depend on the length of the queue.
type Outbox struct {
	store store.Receipts
	log   *slog.Logger

	mu        sync.Mutex
	batches   []*batch // oldest first
	isWriting bool     // batches[0] is being stored: it must neither grow nor be dropped
	queued    int
	dropped   int
	free      sync.Pool  // empty *batch
	flushMu   sync.Mutex // one writer at a time keeps the order
}

// New returns an empty Outbox. Run writes what is added to it.
func New(st store.Receipts, log *slog.Logger) *Outbox {
	return &Outbox{store: st, log: log}
}

// Add queues a receipt. It never waits for the store.
func (o *Outbox) Add(r sizing.Receipt) {
	var buffer [1024]byte
	features := packed.AppendFeatures(buffer[:0], r.Ask.Features)
	r.Ask.Features = nil
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.queued >= maxQueued {
		o.dropOldest()
	}
	last := len(o.batches) - 1
	if last < 0 || len(o.batches[last].receipts) == BatchSize || last == 0 && o.isWriting {
		o.batches = append(o.batches, o.emptyBatch())
		last++
	}
	o.batches[last].add(r, features)
	o.queued++
}

func (o *Outbox) emptyBatch() *batch {
	if b, ok := o.free.Get().(*batch); ok {
		return b
	}
	return newBatch()
}

// dropOldest discards the oldest batch that is not being written. The caller holds o.mu.
func (o *Outbox) dropOldest() {
	oldest := 0
	if o.isWriting {
		oldest = 1
	}
	n := len(o.batches[oldest].receipts)
	o.batches = slices.Delete(o.batches, oldest, oldest+1)
	o.queued -= n
	o.dropped += n
}

// Find returns a queued receipt.
func (o *Outbox) Find(predictionID string) (sizing.Receipt, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range o.batches {
		for i := range b.receipts {
			if b.receipts[i].Allocation.PredictionID == predictionID {
				return b.receipt(i), true
			}
		}
	}
	return sizing.Receipt{}, false
}

// Stats returns how many receipts are queued, and how many were dropped since the start.
func (o *Outbox) Stats() (queued, dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued, o.dropped
}

// Run writes queued receipts until ctx ends, then drains the queue.
func (o *Outbox) Run(ctx context.Context) {
	tick := time.NewTicker(FlushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			o.Flush(drain)
			return
		case <-tick.C:
			wait := FlushInterval
			if !o.Flush(ctx) {
				wait = RetryInterval
			}
			tick.Reset(wait)
		}
	}
}

// Flush writes the batches that are queued when it starts, and reports whether all were
// stored. Later batches wait for the next call: under load there is always a small one, and
// each write costs a commit. A batch that cannot be stored stays in the queue.
func (o *Outbox) Flush(ctx context.Context) bool {
	o.flushMu.Lock()
	defer o.flushMu.Unlock()
	for range o.batchCount() {
		b := o.startWrite()
		if b == nil {
			break
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		err := o.save(ctx, b.all())
		cancel()
		o.endWrite(err == nil)
		if err != nil {
			queued, dropped := o.Stats()
			o.log.Warn("receipts wait for the database", "queued", queued, "dropped", dropped, "err", err)
			return false
		}
	}
	return true
}

func (o *Outbox) batchCount() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.batches)
}

// startWrite returns the oldest batch and protects it from changes; nil if the queue is empty.
func (o *Outbox) startWrite() *batch {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isWriting = len(o.batches) > 0; !o.isWriting {
		return nil
	}
	return o.batches[0]
}

// endWrite removes the oldest batch if it was stored.
func (o *Outbox) endWrite(isStored bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isWriting = false; !isStored {
		return
	}
	b := o.batches[0]
	o.queued -= len(b.receipts)
	o.batches = slices.Delete(o.batches, 0, 1)
	b.clear()
	o.free.Put(b)
}

// save writes receipts. If the store rejects them, save halves the batch until it has
// isolated the invalid receipt, and discards only that one.
func (o *Outbox) save(ctx context.Context, receipts []sizing.Receipt) error {
	err := o.store.SaveReceipts(ctx, receipts)
	if err == nil || sizing.KindOf(err) == sizing.Unavailable {
		return err
	}
	if len(receipts) == 1 {
		o.log.Error("the store rejected a receipt", "prediction_id", receipts[0].Allocation.PredictionID, "err", err)
		return nil
	}
	half := len(receipts) / 2
	return errors.Join(o.save(ctx, receipts[:half]), o.save(ctx, receipts[half:]))
}
