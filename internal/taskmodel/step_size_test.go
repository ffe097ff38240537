package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// jumpAt is the number of rows from which on the runs of jumping need 5.7 times as much memory. One run in 19 has more rows.
const jumpAt = 50_000

// jumping draws runs that need jumpingGiB times factor, with a noise of 5 %.
func jumping(rng *rand.Rand, factor float64) (sizing.Features, float64) {
	rows := math.Floor(1e4 * math.Exp(rng.NormFloat64()))
	return sizing.Features{"rows": sizing.NumberValue(rows)}, factor * jumpingGiB(rows) * math.Exp(0.05*rng.NormFloat64())
}

func jumpingGiB(rows float64) float64 {
	if rows < jumpAt {
		return 0.5 + rows/5e4
	}
	return 6 + rows/2e4
}

// The test compares the model with the same model without the search for a step.
func TestRunsBeyondAStepAreSeldomKilled(t *testing.T) {
	t.Parallel()
	killed, over := map[bool]int{}, map[bool]float64{}
	for seed := range uint64(6) {
		for _, without := range []bool{false, true} {
			k, rng := newTask(t), newRand(seed)
			k.model = taskmodel.NewAblated(taskmodel.Ablation{NoSteps: without})
			for range 8 {
				k.importRuns(rng, jumping, 50, 1)
			}
			for rows := 52_000.0; rows <= 90_000; rows += 2000 {
				s := k.model.Size(question(sizing.Features{"rows": sizing.NumberValue(rows)}))
				if s.Limit < bytes(jumpingGiB(rows)) {
					killed[without]++
				}
			}
			for rows := 20_000.0; rows <= 40_000; rows += 2000 {
				s := k.model.Size(question(sizing.Features{"rows": sizing.NumberValue(rows)}))
				over[without] += float64(s.Limit) / float64(bytes(jumpingGiB(rows))) / 66
			}
		}
	}
	t.Log(killed, over)
	require.Less(t, 3*killed[false], killed[true])
	require.Less(t, over[false], over[true]-0.05)
}

// Without the step, the models predict too much for numbers above the known range. The first such runs must correct this, although
// they look like low outliers.
func TestTheFirstRunsAboveTheRangeAreNoLowOutliers(t *testing.T) {
	for seed := range uint64(4) {
		k, rng := newTask(t), newRand(seed)
		k.model = taskmodel.NewAblated(taskmodel.Ablation{NoSteps: true})
		below := func(rng *rand.Rand, factor float64) (sizing.Features, float64) {
			for {
				if f, gibs := jumping(rng, factor); f["rows"].Num < 75_000 {
					return f, gibs
				}
			}
		}
		k.importRuns(rng, below, 120, 1)
		for range 4 {
			k.importRuns(rng, func(rng *rand.Rand, _ float64) (sizing.Features, float64) {
				rows := math.Floor(1e5 * (1 + rng.Float64()))
				return sizing.Features{"rows": sizing.NumberValue(rows)}, jumpingGiB(rows)
			}, 1, 1)
			k.importRuns(rng, below, 40, 1)
		}
		s := k.model.Size(question(sizing.Features{"rows": sizing.NumberValue(150_000)}))
		require.Less(t, s.Limit, 4*bytes(jumpingGiB(150_000)), "seed %d", seed)
	}
}
