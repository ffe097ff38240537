package service_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestALargeBatchIsLearnedAfterItIsAcknowledged(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 250)
	require.Len(t, r.history("load").Rows, 250, "acknowledged reports are stored")
	r.waitFor(func() bool { return r.learnedRows("load") == 250 }, "learned")
	r.reportRuns("load", 250)
	assert.Equal(t, 250, r.learnedRows("load"), "duplicates are not learned")
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.waitFor(func() bool { return r.learnedRows("load") == 250 }, "a training does not repeat rows")
}

// Sequential reports are learned before they are acknowledged. Of concurrent reports, none is
// lost or learned twice.
func TestConcurrentReportsAreAllLearned(t *testing.T) {
	r := newReplica(t)
	for n := range 5 {
		r.report(success("load", n, 165))
		assert.Equal(t, n+1, r.learnedRows("load"))
	}
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for n := range 10 {
				r.report(success("load", 5+10*caller+n, 165))
			}
		})
	}
	callers.Wait()
	r.waitFor(func() bool { return r.learnedRows("load") == 165 }, "learned")
}
