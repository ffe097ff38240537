package service_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service/outbox"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestAnswersHaveReceiptsBeforeAndAfterShutdown(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	first := r.predict(ask("load", "r"))
	lift := r.lift(ask("load", "r"), 2*gib)
	pending, err := r.Receipt(t.Context(), first.PredictionID)
	require.NoError(t, err, "the receipt is in the outbox")
	assertSame(t, first, &pending.Allocation, "the receipt equals the answer")
	_, err = r.store.Receipt(t.Context(), first.PredictionID)
	require.Equal(t, sizing.NotFound, sizing.KindOf(err), "the receipt must not be stored before the outbox runs")

	r.start()
	// One more than a batch, and few enough that even a slow machine stores all receipts before the drain times out.
	last := make([]string, 0, outbox.BatchSize+1)
	for range cap(last) {
		last = append(last, r.predict(ask("load", "")).PredictionID)
	}
	r.stop() // drains the outbox
	for _, id := range append(last[:1:1], last[len(last)-1], first.PredictionID, lift.PredictionID) {
		stored, err := r.store.Receipt(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, id, stored.Allocation.PredictionID)
	}
	stored, err := r.store.Receipt(t.Context(), lift.PredictionID)
	require.NoError(t, err)
	assert.Equal(t, 2, stored.Ask.Try.Number, "a lift answers the next try")
	assert.Equal(t, lift.Memory, stored.Allocation.Memory)
	_, err = r.Receipt(t.Context(), "unknown")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
}

func TestARejectedReceiptDoesNotAffectOthers(t *testing.T) {
	r := newReplica(t)
	good := r.predict(ask("load", "r"))
	r.exec(`ALTER TABLE receipt_compact ADD CHECK (run_id <> 'rejected')`)
	bad := r.predict(ask("load", "rejected"))
	after := r.predict(ask("load", "r"))
	r.start()
	r.stop()
	for id, want := range map[string]bool{good.PredictionID: true, after.PredictionID: true, bad.PredictionID: false} {
		_, err := r.store.Receipt(t.Context(), id)
		assert.Equal(t, want, err == nil, "%v", err)
	}
}

func TestReceiptsAreDeletedAndRenamedWithTheirTask(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 5)
	queued := r.predict(ask("load", "r"))
	r.lift(ask("load", "r"), 2*gib)
	require.NoError(t, r.DeleteTask(t.Context(), task("load")))
	_, err := r.Receipt(t.Context(), queued.PredictionID)
	assert.Equal(t, sizing.NotFound, sizing.KindOf(err))
	assert.Equal(t, sizing.FromRequested, r.predict(nthTry(ask("load", "r"), 2)).Source, "the kill is deleted too")

	r.trainTask("old", 5)
	queued = r.predict(ask("old", "r"))
	require.NoError(t, r.Rename(t.Context(), task("old"), task("new")))
	renamed, err := r.Receipt(t.Context(), queued.PredictionID)
	require.NoError(t, err)
	assert.Equal(t, task("new"), renamed.Ask.Try.TaskKey)
}

// Receipts that arrive during a write wait for the next interval. Otherwise each write would store only a few receipts under
// load.
func TestReceiptsOfOneIntervalShareAWrite(t *testing.T) {
	r := newReplica(t).start()
	begun := time.Now()
	var predictions atomic.Int64
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for n := 0; time.Since(begun) < 10*outbox.FlushInterval; n++ {
				r.predict(ask("load", fmt.Sprint("run-", caller, "-", n)))
				predictions.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	callers.Wait()
	r.waitFor(func() bool { return r.store.receiptWrites.Load() > 0 }, "receipts must be written")
	writes, intervals, fullBatches := r.store.receiptWrites.Load(), int64(time.Since(begun)/outbox.FlushInterval), predictions.Load()/outbox.BatchSize
	assert.LessOrEqual(t, writes, intervals+fullBatches+1)
}

// Failed writes are retried at intervals, because each attempt decodes a batch. No receipt is lost.
func TestFailedWritesAreRetriedAtIntervals(t *testing.T) {
	r := newReplica(t).start()
	r.exec(`ALTER TABLE receipt RENAME TO unavailable`)
	id := r.predict(ask("load", "run")).PredictionID
	r.waitFor(func() bool { return r.store.receiptWrites.Load() > 0 }, "a write must be attempted")
	begun := time.Now() // before the count, so that a write between the two lines is in the measured time and not counted
	before := r.store.receiptWrites.Load()
	time.Sleep(2 * outbox.RetryInterval)
	assert.LessOrEqual(t, r.store.receiptWrites.Load()-before, int64(time.Since(begun)/outbox.RetryInterval)+1)
	r.exec(`ALTER TABLE unavailable RENAME TO receipt`)
	r.waitFor(func() bool { _, err := r.store.Receipt(t.Context(), id); return err == nil }, "the receipt must be stored")
}
