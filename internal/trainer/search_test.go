package trainer_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

// reportHeavy stores n runs with peaks up to some dozens of GiB. The combination of five features, each low or high,
// determines the peak. The default trees need more rows to learn such an interaction.
func (s *hookedStore) reportHeavy(t *testing.T, name string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 77))
	obs := make([]sizing.Observation, n)
	for i := range obs {
		f, combination := sizing.Features{"id": sizing.NumberValue(rng.Float64())}, uint64(0)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			on := rng.IntN(2)
			combination = 2*combination + uint64(on)
			f[name] = sizing.NumberValue(10_000 + 1_000*float64(on) + 100*rng.Float64()) // no value recurs
		}
		effect := rand.New(rand.NewPCG(combination, 5)).NormFloat64() // of the combination on the log peak
		peak := float64(4*sizing.GiB) * math.Exp(1.2*effect+0.03*rng.NormFloat64())
		obs[i] = sizing.Observation{
			Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.Bytes(peak), Duration: time.Minute, Features: f,
			EndedAt: time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC),
		}
	}
	recorded, err := s.Record(t.Context(), obs)
	require.NoError(t, err)
	for i := range recorded {
		require.NoError(t, recorded[i].Err)
	}
}

func searchOnce(t *testing.T, tr *trainer.Trainer) bool {
	t.Helper()
	found, err := tr.SearchOnce(t.Context())
	require.NoError(t, err)
	return found
}

func TestSearchPublishesBetterParameters(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for minutes under the race detector, and tests no concurrency")
	}
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	st.reportHeavy(t, "interaction", 300)
	assert.False(t, searchOnce(t, tr), "there is no champion yet")
	require.True(t, runOnce(t, tr))
	require.True(t, searchOnce(t, tr))
	model, err := st.ActiveModel(t.Context(), task("interaction"))
	require.NoError(t, err)
	assert.Equal(t, []int{2, 300}, []int{model.Version, model.Observations})
	assert.Contains(t, string(model.Evaluation), "a search found better trees")
	opened, err := taskmodel.Open(model.Blob)
	require.NoError(t, err)
	assert.NotEqual(t, taskmodel.TreeParams{}, opened.Trees)

	_, err = tr.TrainNow(t.Context(), task("interaction"))
	require.NoError(t, err)
	model, err = st.ActiveModel(t.Context(), task("interaction"))
	require.NoError(t, err)
	retrained, err := taskmodel.Open(model.Blob)
	require.NoError(t, err)
	assert.Equal(t, opened.Trees, retrained.Trees, "a training keeps the parameters that a search found")
}

func TestHeavyTasksAreSearchedInTurn(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	st.report(t, "light", 0, 10)
	st.reportHeavy(t, "one", 40)
	st.reportHeavy(t, "two", 40)
	for runOnce(t, tr) {
	}
	var order []string
	st.before = func(key sizing.TaskKey) { order = append(order, key.Task) }
	for range 3 {
		require.True(t, searchOnce(t, tr))
	}
	assert.Equal(t, []string{"one", "two", "one"}, order)
	require.NoError(t, st.DeleteTask(t.Context(), task("one")))
	require.True(t, searchOnce(t, tr))
	assert.Equal(t, "two", order[3])
	assert.Equal(t, 1, st.active(t, "two"), "the champion stays, because the task has too few runs for a search")
}

func TestSearchEndsWithItsContext(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	st.reportHeavy(t, "interaction", 250)
	require.True(t, runOnce(t, tr))
	ctx, stop := context.WithCancel(t.Context())
	st.before = func(sizing.TaskKey) { stop() }
	_, err := tr.SearchOnce(ctx)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, st.active(t, "interaction"))
}

func TestRunSearchesRepeatedly(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{SearchEvery: time.Millisecond})
	st.reportHeavy(t, "interaction", 40)
	require.True(t, runOnce(t, tr))
	searched := make(chan sizing.TaskKey, 1000)
	st.before = func(key sizing.TaskKey) {
		select {
		case searched <- key:
		default:
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		tr.Run(ctx)
		close(ended)
	}()
	assert.Equal(t, task("interaction"), <-searched)
	assert.Equal(t, task("interaction"), <-searched)
	stop()
	<-ended
}
