package trainer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// By the fixed thresholds of sizing.GroupOf all tasks are heavy; by the clusters of their usage only two.
func TestSearchSelectsTheHeavyGroupByClusters(t *testing.T) {
	st := newStore(t)
	tr := newTrainer(st, trainer.Config{})
	scales := map[string]float64{"large": 40, "larger": 60}
	for i := range 8 {
		scales[fmt.Sprint("small", i)] = 1 + 0.05*float64(i)
	}
	for i := range 4 {
		scales[fmt.Sprint("medium", i)] = 6 + 0.2*float64(i)
	}
	for name, scale := range scales {
		rng := rand.New(rand.NewPCG(9, 9))
		obs := make([]sizing.Observation, 20)
		for i := range obs {
			obs[i] = sizing.Observation{
				Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
				Outcome: sizing.Success, MemoryMax: sizing.Bytes(scale * float64(sizing.GiB) * math.Exp(2*rng.NormFloat64())), Duration: time.Hour,
				EndedAt: time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC),
			}
		}
		_, err := st.Record(t.Context(), obs)
		require.NoError(t, err)
		p, err := st.Task(t.Context(), task(name))
		require.NoError(t, err)
		require.Equal(t, sizing.Heavy, sizing.GroupOf(p.Memory), name)
	}
	for runOnce(t, tr) {
	}
	var order []string
	st.before = func(key sizing.TaskKey) { order = append(order, key.Task) }
	for range 4 {
		require.True(t, searchOnce(t, tr))
	}
	assert.Equal(t, []string{"large", "larger", "large", "larger"}, order)
}
