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
	var q receipts
	for n := range maxQueued + 100 {
		q.add(numbered(n))
	}
	waiting, dropped := q.queued()
	assert.Equal(t, maxQueued, waiting)
	assert.Equal(t, 100, dropped)
	_, found := q.pending("99")
	assert.False(t, found)
	_, found = q.pending("100")
	assert.True(t, found)
}

// A writer takes a few off the front while others come: all are taken once, in order,
// and the queue takes no more room than the most that ever waited needs.
func TestReceiptsLeaveInTheOrderTheyCame(t *testing.T) {
	var q receipts
	added, taken := 0, 0
	for round := range 2000 {
		for range 1 + round*7%50 {
			q.add(numbered(added))
			added++
		}
		for range min(1+round*5%60, added-taken) {
			require.Equal(t, strconv.Itoa(taken), q.queue[q.gone].Allocation.PredictionID)
			q.forget(1)
			taken++
		}
	}
	waiting, dropped := q.queued()
	assert.Equal(t, added-taken, waiting)
	assert.Zero(t, dropped)
	assert.Less(t, cap(q.queue), 2000)
}
