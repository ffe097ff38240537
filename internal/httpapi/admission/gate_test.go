package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGateBoundsRequestsInFlight(t *testing.T) {
	g := NewGate(1, nil)
	require.NoError(t, g.Enter(context.Background(), false))
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, g.Enter(canceled, false), ErrOverloaded)
	g.Leave()
	assert.NoError(t, g.Enter(context.Background(), false), "the slot is free again")
	var unbounded *Gate
	assert.NoError(t, unbounded.Enter(canceled, false), "a nil gate admits every request")
	unbounded.Leave()
}

func TestGateRejectsAfterMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, nil)
		require.NoError(t, g.Enter(t.Context(), false))
		started := time.Now()
		require.Error(t, g.Enter(t.Context(), false))
		assert.Equal(t, maxWait, time.Since(started))
		require.Error(t, g.Enter(t.Context(), true))
		assert.Equal(t, maxWait, time.Since(started), "a request must not wait during an overload")
	})
}

func TestWaitingRequestTakesAFreedSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, nil)
		require.NoError(t, g.Enter(t.Context(), false))
		go func() { time.Sleep(maxWait / 2); g.Leave() }()
		started := time.Now()
		require.NoError(t, g.Enter(t.Context(), false))
		assert.Equal(t, maxWait/2, time.Since(started))
	})
}

func TestGateBoundsItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(2, nil)
		require.NoError(t, g.Enter(t.Context(), false))
		require.NoError(t, g.Enter(t.Context(), false))
		started := time.Now()
		var immediate atomic.Int32
		for range 5 {
			go func() {
				if g.Enter(t.Context(), false) != nil && time.Since(started) == 0 {
					immediate.Add(1)
				}
			}()
		}
		time.Sleep(2 * maxWait)
		assert.EqualValues(t, 3, immediate.Load(), "three of five requests are rejected at once, and two wait")
	})
}

func TestGateYieldsToItsPriorityGate(t *testing.T) {
	predictions := NewGate(4, nil)
	reports := NewGate(8, predictions)
	for inFlight, capacity := range map[int64]int64{0: 8, 1: 6, 2: 4, 3: 2, 4: 1} {
		predictions.inFlight.Store(inFlight)
		assert.Equal(t, capacity, reports.available(), "%d of 4 predictions are in flight", inFlight)
	}
}

func TestGateBoundsConcurrentRequests(t *testing.T) {
	g := NewGate(3, nil)
	var callers sync.WaitGroup
	var concurrent atomic.Int32
	for range 16 {
		callers.Go(func() {
			for range 500 {
				if g.Enter(context.Background(), false) == nil {
					assert.LessOrEqual(t, concurrent.Add(1), int32(3))
					concurrent.Add(-1)
					g.Leave()
				}
			}
		})
	}
	callers.Wait()
	assert.Zero(t, g.InFlight())
	assert.Zero(t, g.Waiting())
}
