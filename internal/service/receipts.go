package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Receipts are written behind the answers: Predict never waits for the database.
const (
	maxQueued    = 50_000                 // beyond it the oldest bundle is dropped, and counted
	flushEvery   = 100 * time.Millisecond // what a crash can lose
	retryEvery   = time.Second            // while the database is away: each attempt unpacks a bundle
	flushAtMost  = 2_000                  // rows in one write, and in a bundle
	flushTimeout = 5 * time.Second
)

// receipts is the queue of answers to be stored. They wait in bundles, of which none is
// copied: an answer must not pay for those before it. A bundle that is stored is used again.
type receipts struct {
	store store.Receipts
	log   *slog.Logger

	mu      sync.Mutex
	bundles []*bundle // oldest first
	writing bool      // the first bundle is: nothing is added to it or dropped
	waiting int
	dropped int
	used    sync.Pool  // *bundle, empty
	flushMu sync.Mutex // one writer at a time, so that order is kept
}

// bundle is at most flushAtMost receipts. Their features, of which most are made, lie one
// behind the other as bytes, which a garbage collection need not look into.
type bundle struct {
	receipts []sizing.Receipt // without their features
	features []packed         // of each receipt
	chunk    []byte           // holds the newest of them
}

const chunkBytes = 64 << 10 // a chunk is not copied to grow: that would hold up all answers

func (b *bundle) add(r sizing.Receipt, features packed) {
	if cap(b.chunk)-len(b.chunk) < len(features) {
		b.chunk = make([]byte, 0, max(chunkBytes, len(features)))
	}
	from := len(b.chunk)
	b.chunk = append(b.chunk, features...)
	b.features = append(b.features, b.chunk[from:])
	b.receipts = append(b.receipts, r)
}

// at is a receipt as it was added.
func (b *bundle) at(i int) sizing.Receipt {
	r := b.receipts[i]
	r.Ask.Features = b.features[i].read()
	return r
}

// all are its receipts, as they were added.
func (b *bundle) all() []sizing.Receipt {
	all := make([]sizing.Receipt, len(b.receipts))
	for i := range all {
		all[i] = b.at(i)
	}
	return all
}

func (b *bundle) clear() {
	clear(b.receipts)
	clear(b.features)
	b.receipts, b.features, b.chunk = b.receipts[:0], b.features[:0], b.chunk[:0]
}

// add queues one receipt.
func (q *receipts) add(r sizing.Receipt) {
	var room [1024]byte
	features := appendFeatures(room[:0], r.Ask.Features)
	r.Ask.Features = nil
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= maxQueued {
		q.drop()
	}
	last := len(q.bundles) - 1
	if last < 0 || len(q.bundles[last].receipts) == flushAtMost || last == 0 && q.writing {
		q.bundles = append(q.bundles, q.empty())
		last++
	}
	q.bundles[last].add(r, features)
	q.waiting++
}

// empty is a bundle without receipts.
func (q *receipts) empty() *bundle {
	if used, ok := q.used.Get().(*bundle); ok {
		return used
	}
	return &bundle{receipts: make([]sizing.Receipt, 0, flushAtMost), features: make([]packed, 0, flushAtMost)}
}

// drop gives up the oldest bundle that is not being written. q.mu is held.
func (q *receipts) drop() {
	oldest := 0
	if q.writing {
		oldest = 1
	}
	n := len(q.bundles[oldest].receipts)
	q.bundles = slices.Delete(q.bundles, oldest, oldest+1)
	q.waiting -= n
	q.dropped += n
}

// pending finds a receipt that is not written yet.
func (q *receipts) pending(id string) (sizing.Receipt, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, b := range q.bundles {
		for i := range b.receipts {
			if b.receipts[i].Allocation.PredictionID == id {
				return b.at(i), true
			}
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
			wait := flushEvery
			if !q.flush(ctx) {
				wait = retryEvery
			}
			tick.Reset(wait)
		}
	}
}

// flush writes the bundles that are queued; what fails stays queued for the next time, as
// does what comes meanwhile: there is always some, and each write of a few costs a commit.
// It reports whether nothing failed.
func (q *receipts) flush(ctx context.Context) bool {
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	for range q.queuedBundles() {
		b := q.first()
		if b == nil {
			break
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		err := q.save(ctx, b.all())
		cancel()
		q.written(err == nil)
		if err != nil {
			waiting, dropped := q.queued()
			q.log.Warn("receipts wait for the database", "queued", waiting, "dropped", dropped, "err", err)
			return false
		}
	}
	return true
}

func (q *receipts) queuedBundles() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.bundles)
}

// first is the oldest bundle, for writing; nil where nothing waits.
func (q *receipts) first() *bundle {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing = len(q.bundles) > 0; !q.writing {
		return nil
	}
	return q.bundles[0]
}

// written takes the oldest bundle off where that is stored.
func (q *receipts) written(stored bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing = false; !stored {
		return
	}
	b := q.bundles[0]
	q.waiting -= len(b.receipts)
	q.bundles = slices.Delete(q.bundles, 0, 1)
	b.clear()
	q.used.Put(b)
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
