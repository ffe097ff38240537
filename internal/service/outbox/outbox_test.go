package outbox

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// numbered returns the nth receipt: one in five has unknown features, one has none.
func numbered(n int) sizing.Receipt {
	r := sizing.Receipt{Allocation: sizing.Allocation{PredictionID: strconv.Itoa(n)}}
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
		o.Add(numbered(0))
		if isWriting {
			require.Len(t, o.startWrite().receipts, 1)
		}
		for n := 1; n <= maxQueued; n++ {
			o.Add(numbered(n))
		}
		queued, dropped := o.Stats()
		assert.Equal(t, maxQueued+1, queued+dropped)
		assert.Equal(t, BatchSize, dropped)
		_, found := o.Find("0")
		assert.Equal(t, isWriting, found, "a batch that is being written may already be stored")
		_, found = o.Find("1999")
		assert.False(t, found)
		r, found := o.Find("2004")
		assert.True(t, found)
		assert.Equal(t, numbered(2004), r)
	}
}

// Receipts arrive during writes, and one write of three fails: each receipt is written once,
// in order of arrival.
func TestReceiptsAreWrittenOnceInOrder(t *testing.T) {
	var o Outbox
	added, written := 0, 0
	add := func(n int) {
		for range n {
			o.Add(numbered(added))
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
			require.Equal(t, numbered(written+i), b.receipt(i))
		}
		isStored := round%3 > 0
		n := len(b.receipts)
		o.endWrite(isStored)
		if isStored {
			written += n
		}
	}
	queued, dropped := o.Stats()
	assert.Equal(t, added-written, queued)
	assert.Zero(t, dropped)
}
