package service

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// numbered is the nth receipt; some have features, some have none, and of some they are
// not known.
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

func TestTheOldestReceiptsAreDroppedWhereTooManyWait(t *testing.T) {
	for _, writing := range []bool{false, true} {
		var q receipts
		q.add(numbered(0))
		if writing {
			require.Len(t, q.first().receipts, 1)
		}
		for n := 1; n <= maxQueued; n++ {
			q.add(numbered(n))
		}
		waiting, dropped := q.queued()
		assert.Equal(t, maxQueued+1, waiting+dropped)
		assert.Equal(t, flushAtMost, dropped)
		_, found := q.pending("0")
		assert.Equal(t, writing, found, "what is being written may be stored already")
		_, found = q.pending("1999")
		assert.False(t, found)
		r, found := q.pending("2004")
		assert.True(t, found)
		assert.Equal(t, numbered(2004), r)
	}
}

// Others come while some are written, and one write of three fails: all leave once, in
// the order they came.
func TestReceiptsLeaveInTheOrderTheyCame(t *testing.T) {
	var q receipts
	added, left := 0, 0
	come := func(n int) {
		for range n {
			q.add(numbered(added))
			added++
		}
	}
	for round := range 300 {
		come(round * 7 % 50)
		b := q.first()
		come(round * 3 % 11)
		if b == nil {
			continue
		}
		for i := range b.receipts {
			require.Equal(t, numbered(left+i), b.at(i))
		}
		stored := round%3 > 0
		n := len(b.receipts)
		q.written(stored)
		if stored {
			left += n
		}
	}
	waiting, dropped := q.queued()
	assert.Equal(t, added-left, waiting)
	assert.Zero(t, dropped)
}
