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
	// FlushInterval is the time between writes. While the store is up, a crash of the process loses at most the receipts
	// of about one interval.
	FlushInterval = 100 * time.Millisecond
	// RetryInterval is the pause after a failed write.
	RetryInterval = time.Second
	// BatchSize is the largest number of receipts in one write.
	BatchSize = 2_000

	// maxQueued bounds the receipts in memory. A full queue first leaves out the receipts that no report will need, and then
	// drops the oldest batch. Outbox.Stats counts the receipts of both kinds.
	maxQueued = 50_000
	// maxBeforeBatch is the length of the queue beyond which batches of predictions wait. The
	// remaining space is for single predictions, which never wait.
	maxBeforeBatch = 20_000
	maxWait        = 2 * time.Second

	flushTimeout = 5 * time.Second // the timeout of one write, and of all writes together when Run drains the queue
)

// Outbox queues receipts until they are stored. The queue consists of batches, so that the cost
// of Add does not depend on the length of the queue.
type Outbox struct {
	store store.Receipts
	log   *slog.Logger

	mu        sync.Mutex
	batches   []*batch      // oldest first
	isWriting bool          // whether batches[0] is being stored; then it must not change
	queued    int           // receipts in batches
	dropped   int           // receipts dropped since the start
	unneeded  int           // receipts left out since the start, because no report will need them
	isFailing bool          // whether the last write failed
	written   chan struct{} // closed by the end of the next write; nil if no caller waits
	free      sync.Pool     // empty *batch
	flushMu   sync.Mutex    // held during Flush, so that concurrent writers do not change the order
}

// New returns an empty Outbox. Run writes the added receipts.
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
		o.dropUnneeded()
	}
	last := len(o.batches) - 1
	if last < 0 || o.batches[last].isReduced || len(o.batches[last].receipts) == BatchSize || last == 0 && o.isWriting {
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

// dropUnneeded drops the receipts that no report will need, from the oldest batch with such receipts, or else the oldest batch.
// It does not change the batch that is being written. It thins each batch only once, so that Add stays cheap. The caller
// holds o.mu.
func (o *Outbox) dropUnneeded() {
	oldest := 0
	if o.isWriting {
		oldest = 1
	}
	for i := oldest; i < len(o.batches); i++ {
		b := o.batches[i]
		if b.isReduced {
			continue
		}
		reduced := b.withoutUnneeded()
		n := len(b.receipts) - len(reduced.receipts)
		o.batches[i] = reduced
		o.queued -= n
		o.unneeded += n
		if n > 0 {
			return
		}
	}
	n := len(o.batches[oldest].receipts)
	o.batches = slices.Delete(o.batches, oldest, oldest+1)
	o.queued -= n
	o.dropped += n
}

// Wait waits until the queue has space for a batch of n predictions, at most maxWait. It limits
// batches to the speed of the store. During an outage it returns at once, because waiting would
// not help.
func (o *Outbox) Wait(ctx context.Context, n int) {
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	for {
		written := o.nextWrite(n)
		if written == nil {
			return
		}
		select {
		case <-written:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// nextWrite returns a channel that closes after the next write; nil if `n` receipts need not wait.
func (o *Outbox) nextWrite(n int) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isFailing || o.queued == 0 || o.queued+n <= maxBeforeBatch {
		return nil
	}
	if o.written == nil {
		o.written = make(chan struct{})
	}
	return o.written
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

// Stats counts the queued receipts, and since the start the dropped receipts and the receipts
// that were left out because no report will need them (unneeded).
func (o *Outbox) Stats() (queued, dropped, unneeded int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queued, o.dropped, o.unneeded
}

// Run writes queued receipts until ctx ends, then drains the queue.
func (o *Outbox) Run(ctx context.Context) {
	tick := time.NewTicker(FlushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			drainCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
			defer cancel()
			o.Flush(drainCtx)
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

// Flush writes the batches that are queued when it starts, and reports whether none of them failed. It leaves later batches
// to the next call, because each write costs a commit, and under load there would always be another small batch. A batch
// fails and stays in the queue if the store is unavailable. A receipt that the store rejects is discarded (see save).
func (o *Outbox) Flush(ctx context.Context) bool {
	o.flushMu.Lock()
	defer o.flushMu.Unlock()
	for range o.batchCount() {
		b := o.startWrite()
		if b == nil {
			break
		}
		writeCtx, cancel := context.WithTimeout(ctx, flushTimeout)
		err := o.save(writeCtx, b.all())
		cancel()
		o.endWrite(err == nil)
		if err == nil {
			continue
		}
		if ctx.Err() == nil { // at the end of the service, Run writes the batch once more
			queued, dropped, unneeded := o.Stats()
			o.log.Warn("receipts wait for the database", "queued", queued, "dropped", dropped, "thinned", unneeded, "err", err)
		}
		return false
	}
	return true
}

func (o *Outbox) batchCount() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.batches)
}

func (o *Outbox) startWrite() *batch {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isWriting = len(o.batches) > 0; !o.isWriting {
		return nil
	}
	return o.batches[0]
}

func (o *Outbox) endWrite(isStored bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.written != nil {
		close(o.written)
		o.written = nil
	}
	o.isWriting, o.isFailing = false, !isStored
	if !isStored {
		return
	}
	b := o.batches[0]
	o.queued -= len(b.receipts)
	o.batches = slices.Delete(o.batches, 0, 1)
	b.clear()
	o.free.Put(b)
}

// save writes receipts. If the store rejects them, save halves the batch until it has isolated each invalid receipt,
// and discards only the invalid ones.
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
