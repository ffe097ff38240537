package service

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func numbered(n int) sizing.Receipt {
	return sizing.Receipt{Allocation: sizing.Allocation{PredictionID: strconv.Itoa(n)}}
}

func TestTheOldestReceiptsAreDroppedWhereTooManyWait(t *testing.T) {
	for _, writing := range []bool{false, true} {
		var q receipts
		q.add(numbered(0))
		if writing {
			require.Len(t, q.first(), 1)
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
		_, found = q.pending("2001")
		assert.True(t, found)
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
		block := q.first()
		come(round * 3 % 11)
		for i := range block {
			require.Equal(t, strconv.Itoa(left+i), block[i].Allocation.PredictionID)
		}
		if stored := round%3 > 0 && len(block) > 0; len(block) > 0 {
			q.written(stored)
			if stored {
				left += len(block)
			}
		}
	}
	waiting, dropped := q.queued()
	assert.Equal(t, added-left, waiting)
	assert.Zero(t, dropped)
}
