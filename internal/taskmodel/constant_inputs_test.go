package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// If an input had one value in all runs, the effect of a larger value is unknown, even if the peaks varied little.
func TestInputAboveTheOnlyKnownValueRaisesTheGrant(t *testing.T) {
	for _, runs := range []int{5, 20, 60} {
		k, rng := newTask(t), newRand(uint64(runs))
		at := func(rows float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(rows)} }
		for range runs {
			k.report(at(500), measuredRun(4*noise(rng, 0.03)))
		}
		k.train()
		known, larger, largest, smaller := k.model.Size(question(at(500))), k.model.Size(question(at(900))), k.model.Size(question(at(1500))), k.model.Size(question(at(100)))
		require.Less(t, *known.Promised, 0.05)
		assert.GreaterOrEqual(t, larger.Limit, bytes(4*1.6), "%d runs", runs)
		assert.Contains(t, larger.Reason, "outside the known range: rows 900 (500 … 500)")
		require.NotNil(t, larger.Promised)
		assert.Greater(t, *larger.Promised, *known.Promised)
		assert.GreaterOrEqual(t, largest.Limit, bytes(4*2.2), "%d runs", runs)
		assert.Nil(t, largest.Promised, "the answer must state no risk so far outside the range")
		assert.LessOrEqual(t, smaller.Limit, known.Limit.Times(1.05))
		assert.Contains(t, smaller.Reason, "outside the known range: rows 100 (500 … 500)")
	}
}
