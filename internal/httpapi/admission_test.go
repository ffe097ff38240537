package httpapi

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheGateHoldsItsNumber(t *testing.T) {
	g := newGate(1, nil)
	require.NoError(t, g.enter(context.Background(), false))
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	err := g.enter(gone, false)
	require.Error(t, err)
	assert.Equal(t, http.StatusServiceUnavailable, failureOf(err).status)
	g.leave()
	assert.NoError(t, g.enter(context.Background(), false), "a place that was left is free")
	var open *gate
	assert.NoError(t, open.enter(gone, false), "no gate lets all pass")
	open.leave()
}

func TestWhoIsRefusedIsToldSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, nil)
		require.NoError(t, g.enter(t.Context(), false))
		begun := time.Now()
		require.Error(t, g.enter(t.Context(), false))
		assert.Equal(t, patience, time.Since(begun))
		require.Error(t, g.enter(t.Context(), true))
		assert.Equal(t, patience, time.Since(begun), "at once in a crowd")
	})
}

func TestAPlaceThatBecomesFreeIsTakenByOneWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1, nil)
		require.NoError(t, g.enter(t.Context(), false))
		go func() { time.Sleep(patience / 2); g.leave() }()
		begun := time.Now()
		require.NoError(t, g.enter(t.Context(), false))
		assert.Equal(t, patience/2, time.Since(begun))
	})
}

func TestOnlyAsManyWaitAsThereArePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2, nil)
		require.NoError(t, g.enter(t.Context(), false))
		require.NoError(t, g.enter(t.Context(), false))
		begun := time.Now()
		var atOnce atomic.Int32
		for range 5 {
			go func() {
				if g.enter(t.Context(), false) != nil && time.Since(begun) == 0 {
					atOnce.Add(1)
				}
			}()
		}
		time.Sleep(2 * patience)
		assert.EqualValues(t, 3, atOnce.Load(), "two of five wait")
	})
}

func TestReportsGiveWayToQuestions(t *testing.T) {
	asking := newGate(4, nil)
	telling := newGate(8, asking)
	for asked, places := range map[int64]int64{0: 8, 1: 6, 2: 4, 3: 2, 4: 1} {
		asking.inside.Store(asked)
		assert.Equal(t, places, telling.open(), "%d of 4 places of questions are taken", asked)
	}
}

func TestNoPlaceIsLostOrTakenTwice(t *testing.T) {
	g := newGate(3, nil)
	var callers sync.WaitGroup
	var inside atomic.Int32
	for range 16 {
		callers.Go(func() {
			for range 500 {
				if g.enter(context.Background(), false) == nil {
					assert.LessOrEqual(t, inside.Add(1), int32(3))
					inside.Add(-1)
					g.leave()
				}
			}
		})
	}
	callers.Wait()
	assert.Zero(t, g.inside.Load())
	assert.Zero(t, g.queued.Load())
}
