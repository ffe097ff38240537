package whatif

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAbandonedWaitingJobDoesNotCountTowardsTheLimit(t *testing.T) {
	s := NewJobs(nil)
	s.slot <- struct{}{} // another replay runs until the end of the test
	start := func(id string) (*Job, error) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		j := &Job{ID: id, done: make(chan struct{}), cancel: cancel, lastStatusAt: time.Now()}
		err := s.add(j)
		if err == nil {
			go s.work(ctx, j, &Question{})
		}
		return j, err
	}
	abandoned, err := start("a")
	require.NoError(t, err)
	for _, id := range []string{"b", "c", "d"} {
		_, err = start(id)
		require.NoError(t, err)
	}
	_, err = start("e")
	require.ErrorContains(t, err, "4 replays wait or run")

	abandoned.mu.Lock()
	abandoned.lastStatusAt = time.Now().Add(-2 * abandonedAfter)
	abandoned.mu.Unlock()
	_, err = start("e")
	require.NoError(t, err)
	<-abandoned.done
	state, _, _, err := abandoned.Status()
	assert.Equal(t, Failed, state)
	assert.ErrorContains(t, err, "was cancelled")
}
