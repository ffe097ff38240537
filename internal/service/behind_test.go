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
)

func TestALargeBatchIsLearnedSoonAfterItWasAcknowledged(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 250)
	require.Len(t, r.history("load").Rows, 250, "what was acknowledged is stored")
	r.until(func() bool { return r.told("load") == 250 }, "learned")
	r.teach("load", 250)
	assert.Equal(t, 250, r.told("load"), "once")
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.until(func() bool { return r.told("load") == 250 }, "also by what was trained meanwhile")
}

// Reports that come one after the other are each learned before they are acknowledged;
// of those that come at once, none is lost or learned twice.
func TestReportsThatComeAtOnceAreAllLearned(t *testing.T) {
	r := newReplica(t)
	for n := range 5 {
		r.tell(success("load", n, 165))
		assert.Equal(t, n+1, r.told("load"))
	}
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for n := range 10 {
				r.tell(success("load", 5+10*caller+n, 165))
			}
		})
	}
	callers.Wait()
	r.until(func() bool { return r.told("load") == 165 }, "learned")
}

// What comes while receipts are written waits for the next time: otherwise a few would be
// committed again and again, for as long as anybody asks.
func TestReceiptsAreStoredTogetherWhileQuestionsCome(t *testing.T) {
	r := newReplica(t).start()
	begun := time.Now()
	var answered atomic.Int64
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			for n := 0; time.Since(begun) < 10*outbox.FlushInterval; n++ {
				r.answer(ask("load", fmt.Sprint("run-", caller, "-", n)))
				answered.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	callers.Wait()
	saves, ticks, full := r.store.saves.Load(), int64(time.Since(begun)/outbox.FlushInterval), answered.Load()/outbox.BatchSize
	assert.Positive(t, saves)
	assert.LessOrEqual(t, saves, ticks+full+1)
}

// Each attempt unpacks a bundle, so those that fail are made at leisure, and nothing is lost.
func TestReceiptsThatCannotBeStoredAreTriedAtLeisure(t *testing.T) {
	r := newReplica(t).start()
	r.sql(`ALTER TABLE receipt RENAME TO away`)
	id := r.answer(ask("load", "run")).PredictionID
	r.until(func() bool { return r.store.saves.Load() > 0 }, "tried")
	before, begun := r.store.saves.Load(), time.Now()
	time.Sleep(2 * outbox.RetryInterval)
	assert.LessOrEqual(t, r.store.saves.Load()-before, int64(time.Since(begun)/outbox.RetryInterval)+1)
	r.sql(`ALTER TABLE away RENAME TO receipt`)
	r.until(func() bool { _, err := r.store.Receipt(t.Context(), id); return err == nil }, "stored in the end")
}
