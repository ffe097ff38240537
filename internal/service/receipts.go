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
	maxQueued    = 50_000                 // beyond it the oldest block is dropped, and counted
	flushEvery   = 100 * time.Millisecond // what a crash can lose
	flushAtMost  = 2_000                  // rows in one write, and in a block
	flushTimeout = 5 * time.Second
)

// receipts is the queue of answers to be stored. They wait in blocks, of which none is
// copied: an answer must not pay for those before it. A block that is stored is used again.
type receipts struct {
	store store.Receipts
	log   *slog.Logger

	mu      sync.Mutex
	blocks  [][]sizing.Receipt // oldest first, of at most flushAtMost
	writing bool               // the first block is: nothing is added to it or dropped
	waiting int
	dropped int
	rooms   sync.Pool  // *[]sizing.Receipt, empty, of flushAtMost places
	flushMu sync.Mutex // one writer at a time, so that order is kept
}

// add queues one receipt.
func (q *receipts) add(r sizing.Receipt) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting >= maxQueued {
		q.drop()
	}
	last := len(q.blocks) - 1
	if last < 0 || len(q.blocks[last]) == flushAtMost || last == 0 && q.writing {
		q.blocks = append(q.blocks, q.room())
		last++
	}
	q.blocks[last] = append(q.blocks[last], r)
	q.waiting++
}

// room is an empty block.
func (q *receipts) room() []sizing.Receipt {
	if used, ok := q.rooms.Get().(*[]sizing.Receipt); ok {
		return *used
	}
	return make([]sizing.Receipt, 0, flushAtMost)
}

// drop gives up the oldest block that is not being written. q.mu is held.
func (q *receipts) drop() {
	oldest := 0
	if q.writing {
		oldest = 1
	}
	n := len(q.blocks[oldest])
	q.blocks = slices.Delete(q.blocks, oldest, oldest+1)
	q.waiting -= n
	q.dropped += n
}

// pending finds a receipt that is not written yet.
func (q *receipts) pending(id string) (sizing.Receipt, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, block := range q.blocks {
		for i := range block {
			if block[i].Allocation.PredictionID == id {
				return block[i], true
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
			q.flush(ctx)
		}
	}
}

// flush writes the blocks that are queued; what fails stays queued for the next time, as
// does what comes meanwhile: there is always some, and each write of a few costs a commit.
func (q *receipts) flush(ctx context.Context) {
	q.flushMu.Lock()
	defer q.flushMu.Unlock()
	for range q.queuedBlocks() {
		block := q.first()
		if len(block) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, flushTimeout)
		err := q.save(ctx, block)
		cancel()
		q.written(err == nil)
		if err != nil {
			waiting, dropped := q.queued()
			q.log.Warn("receipts wait for the database", "queued", waiting, "dropped", dropped, "err", err)
			return
		}
	}
}

func (q *receipts) queuedBlocks() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.blocks)
}

// first is the oldest block, for writing; nil where nothing waits.
func (q *receipts) first() []sizing.Receipt {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing = len(q.blocks) > 0; !q.writing {
		return nil
	}
	return q.blocks[0]
}

// written takes the oldest block off where that is stored.
func (q *receipts) written(stored bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing = false; !stored {
		return
	}
	block := q.blocks[0]
	q.waiting -= len(block)
	q.blocks = slices.Delete(q.blocks, 0, 1)
	clear(block)
	block = block[:0]
	q.rooms.Put(&block)
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
