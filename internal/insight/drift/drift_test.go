package drift_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/drift"
)

// series returns 60 lognormal values around each level. deviation is the standard deviation of their
// logarithms.
func series(rng *rand.Rand, deviation float64, levels ...float64) (values []float64) {
	for _, level := range levels {
		for range 60 {
			values = append(values, level*math.Exp(deviation*rng.NormFloat64()))
		}
	}
	return values
}

func TestFindReturnsEachChange(t *testing.T) {
	for seed := range uint64(20) {
		found := drift.Find(series(rand.New(rand.NewPCG(seed, 1)), 0.15, 1, 2, 2, 1.2))
		require.Len(t, found, 2, "seed %d", seed)
		assert.InDelta(t, 60, found[0].At, 8)
		assert.InDelta(t, 180, found[1].At, 8)
		assert.InDelta(t, 2, found[0].Factor(), 0.2)
		assert.InDelta(t, 0.6, found[1].Factor(), 0.1)
	}
}

// The levels 1, 1.3, 1.4 and 2 are first split between 1.3 and 1.4. After the further splits this change is too small.
// Without it, 1.3 and 1.4 are one part with the median 1.4.
func TestFindComputesMediansWithoutDroppedChanges(t *testing.T) {
	values := slices.Concat(slices.Repeat([]float64{1}, 60), slices.Repeat([]float64{1.3}, 40), slices.Repeat([]float64{1.4}, 41), slices.Repeat([]float64{2}, 60))
	found := drift.Find(values)
	require.Len(t, found, 2)
	assert.Equal(t, []any{60, 1.0, 1.4}, []any{found[0].At, found[0].Before, found[0].After})
	assert.Equal(t, []any{141, 1.4, 2.0}, []any{found[1].At, found[1].Before, found[1].After})
}

// A series without a change has a false change with a probability of at most maxP, 0.1 %: 1,000 series have on average
// at most one, and only with a very small probability more than four.
func TestFindReturnsFewChangesOfSteadySeries(t *testing.T) {
	found := 0
	for seed := range uint64(1000) {
		found += len(drift.Find(series(rand.New(rand.NewPCG(seed, 2)), 0.8, 1, 1, 1)))
	}
	assert.LessOrEqual(t, found, 4, "false changes in 1,000 series")
}

func TestFindIgnoresExtremesAndSmallChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	values := series(rng, 0.1, 1, 1.1)
	values[10], values[70], values[71] = 1e9, 1e9, 1e-9
	assert.Empty(t, drift.Find(values), "a change of 10 % is not relevant")
	constant := make([]float64, 200)
	for i := range constant {
		constant[i] = 7
	}
	assert.Empty(t, drift.Find(constant), "a constant series has no change")
	assert.Empty(t, drift.Find(make([]float64, 200)), "a series of zeros")
	assert.Empty(t, drift.Find([]float64{1, 2}), "too few values for a change")
	assert.Empty(t, drift.Find(nil), "no values")
}
