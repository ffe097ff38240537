package outbox

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
)

func receiptNumber(n int) sizing.Receipt {
	r := sizing.Receipt{Allocation: sizing.Allocation{PredictionID: strconv.Itoa(n)}}
	r.Ask.Try.RunID = strconv.Itoa(n)
	switch n % 5 {
	case 0:
	case 1:
		r.Ask.Features = sizing.Features{}
	default:
		r.Ask.Features = sizing.Features{"n": sizing.NumberValue(float64(n)), "text": sizing.TextValue(strconv.Itoa(n))}
	}
	return r
}

func TestAFullOutboxDropsTheOldestBatch(t *testing.T) {
	for _, isWriting := range []bool{false, true} {
		var o Outbox
		o.Add(receiptNumber(0))
		if isWriting {
			require.Len(t, o.startWrite().receipts, 1)
		}
		for n := 1; n <= maxQueued; n++ {
			o.Add(receiptNumber(n))
		}
		queued, dropped, _ := o.Stats()
		assert.Equal(t, maxQueued+1, queued+dropped)
		assert.Equal(t, BatchSize, dropped)
		_, found := o.Find("0")
		assert.Equal(t, isWriting, found, "a batch must not be dropped while it is being written, because it may already be stored")
		_, found = o.Find("1999")
		assert.False(t, found)
		r, found := o.Find("2004")
		assert.True(t, found)
		assert.Equal(t, receiptNumber(2004), r)
	}
}

// Receipts arrive during writes, and one write of three fails. Each receipt is stored once, in the
// order of arrival.
func TestReceiptsAreWrittenOnceInOrder(t *testing.T) {
	var o Outbox
	added, written := 0, 0
	add := func(n int) {
		for range n {
			o.Add(receiptNumber(added))
			added++
		}
	}
	for round := range 300 {
		add(round * 7 % 50)
		b := o.startWrite()
		add(round * 3 % 11)
		if b == nil {
			continue
		}
		for i := range b.receipts {
			require.Equal(t, receiptNumber(written+i), b.receipt(i))
		}
		isStored := round%3 > 0
		n := len(b.receipts)
		o.endWrite(isStored)
		if isStored {
			written += n
		}
	}
	queued, dropped, _ := o.Stats()
	assert.Equal(t, added-written, queued)
	assert.Zero(t, dropped)
}

// Of each four receipts, one has no run, and one is followed by a newer answer to the same try.
func TestAFullOutboxKeepsTheReceiptsThatReportsNeed(t *testing.T) {
	for _, isWriting := range []bool{false, true} {
		var o Outbox
		needed := map[string]bool{}
		const total = 2*maxQueued - 2*BatchSize
		for n := range total {
			r := receiptNumber(n)
			switch n % 4 {
			case 0:
				r.Ask.Try.RunID = ""
			case 1: // the next receipt answers the same try
				r.Ask.Try.RunID = strconv.Itoa(n + 1)
			default:
				needed[r.Allocation.PredictionID] = true
			}
			o.Add(r)
			if isWriting && n == 0 {
				o.startWrite()
			}
		}
		queued, dropped, unneeded := o.Stats()
		assert.Zero(t, dropped)
		assert.Equal(t, total, queued+unneeded)
		assert.LessOrEqual(t, queued, maxQueued+1)
		found := 0
		for _, b := range o.batches {
			for i := range b.receipts {
				if id := b.receipts[i].Allocation.PredictionID; needed[id] {
					n, err := strconv.Atoi(id)
					require.NoError(t, err)
					require.Equal(t, receiptNumber(n), b.receipt(i))
					found++
				}
			}
		}
		assert.Equal(t, len(needed), found)
	}
}

func TestBatchesOfPredictionsWaitForTheStore(t *testing.T) {
	var o Outbox
	for n := range maxBeforeBatch {
		o.Add(receiptNumber(n))
	}
	o.Wait(t.Context(), 0) // the queue has space
	o.startWrite()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.Wait(context.WithoutCancel(t.Context()), 2*BatchSize)
	}()
	waits := func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.written != nil
	}
	require.Eventually(t, waits, testwait.Limit, time.Millisecond)
	o.endWrite(true)
	require.Eventually(t, waits, testwait.Limit, time.Millisecond, "one write does not free enough space")
	o.startWrite()
	o.endWrite(true)
	<-ended

	o.startWrite()
	o.endWrite(false)
	assert.Nil(t, o.nextWrite(maxQueued), "callers must not wait during an outage")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	o.startWrite()
	o.endWrite(true)
	o.Wait(cancelled, maxQueued)
}
