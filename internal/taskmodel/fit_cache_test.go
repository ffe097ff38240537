package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestFitCacheSharesFitsOfEqualRows(t *testing.T) {
	k := wideHistory(1460)
	k.history.Rows = k.history.Rows[:120]
	k.history.LastSeq = 120
	fit := func(fits *taskmodel.FitCache) *taskmodel.Model {
		m := taskmodel.New()
		m.SetFitCache(fits)
		m, _, err := taskmodel.Fit(&k.history, m)
		require.NoError(t, err)
		m.Drivers = nil // a model with a FitCache has none
		return m
	}
	alone := fit(nil)
	want, err := alone.Blob()
	require.NoError(t, err)
	for _, capacity := range []int{0, 1, 100} {
		workers := semaphore.NewWeighted(2)
		require.True(t, workers.TryAcquire(1), "this goroutine holds one worker")
		fits := taskmodel.NewFitCache(workers, capacity)
		first, second := fit(fits), fit(fits)
		for _, m := range []*taskmodel.Model{first, second} {
			blob, err := m.Blob()
			require.NoError(t, err)
			assert.Equal(t, want, blob)
		}
		assert.Equal(t, capacity == 100, first.SameTrees(second), "capacity %d: only a cache that holds all fits of a training shares them", capacity)
		assert.True(t, workers.TryAcquire(1), "the other worker is free again")
	}
	workers := semaphore.NewWeighted(1)
	require.True(t, workers.TryAcquire(1))
	fits := taskmodel.NewFitCache(workers, 100)
	before := fit(fits)
	k.history.Rows[60].MemoryMax++
	assert.False(t, before.SameTrees(fit(fits)), "a row with another peak needs another fit")
}
