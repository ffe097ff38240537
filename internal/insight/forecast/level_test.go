package forecast_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
)

// series returns n log values: value k is level(k) plus normal noise.
func series(rng *rand.Rand, n int, noise float64, level func(k int) float64) []float64 {
	values := make([]float64, n)
	for k := range values {
		values[k] = level(k) + noise*rng.NormFloat64()
	}
	return values
}

// The last of 41 ratios is compared with the forecast from the others.
func TestCalibrationFollowsTheLevelOfTheRatios(t *testing.T) {
	for name, level := range map[string]func(k int) float64{
		"constant":        func(int) float64 { return 1 },
		"grows by 1 %":    func(k int) float64 { return .01 * float64(k) },
		"grows by 3 %":    func(k int) float64 { return .03 * float64(k) },
		"falls by 2 %":    func(k int) float64 { return -.02 * float64(k) },
		"tripled":         func(k int) float64 { return 1.1 * float64(min(1, k/30)) },
		"weekly long run": func(k int) float64 { return 2 * float64(max(0, k%7-5)) },
	} {
		rng, covered, above := rand.New(rand.NewPCG(7, 1)), 0, 0
		const runs = 400
		for range runs {
			values := series(rng, 41, .05, level)
			var c forecast.Calibration
			for _, v := range values[:40] {
				c.Add(600, 600*math.Exp(v), 1)
			}
			tasks := []forecast.Task{{ID: "a", Quantile: fixed(600), Median: fixed(600)}}
			r, err := forecast.Simulate(tasks, 1, 10)
			require.NoError(t, err)
			median, p95 := c.Quantiles(r, r)
			if end := 600 * math.Exp(values[40]); end <= p95 {
				covered++
			}
			if 600*math.Exp(values[40]) > median {
				above++
			}
		}
		assert.GreaterOrEqual(t, covered, runs*92/100, "%s: ends within p95", name)
		if name != "weekly long run" {
			assert.InDelta(t, runs/2, above, runs/10, "%s: ends above the median", name)
		}
	}
}

// AtPresentLevel hardly ever changes a series without a trend.
func TestAtPresentLevelKeepsStationaryValues(t *testing.T) {
	for name, level := range map[string]func(rng *rand.Rand, k int) float64{
		"normal":     func(*rand.Rand, int) float64 { return 0 },
		"stragglers": func(rng *rand.Rand, _ int) float64 { return 1.1 * float64(max(0, rng.IntN(20)-18)) },
		"two levels": func(rng *rand.Rand, _ int) float64 { return 2 * float64(max(0, rng.IntN(3)-1)) },
		"weekly":     func(_ *rand.Rand, k int) float64 { return 2 * float64(max(0, k%7-5)) },
	} {
		rng, moved := rand.New(rand.NewPCG(3, 1)), 0
		for range 500 {
			values := series(rng, 40, .1, func(k int) float64 { return level(rng, k) })
			for k := range values {
				values[k] = math.Exp(values[k])
			}
			if forecast.AtPresentLevel(values)[0] != values[0] {
				moved++
			}
		}
		assert.LessOrEqual(t, moved, 15, "%s: of 500", name)
	}
	few := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	assert.Equal(t, few, forecast.AtPresentLevel(few))
}

// The number of instances grows by 3 % per run. Some runs skip the task.
func TestScaleInstancesFollowsTheGrowthOfTheNumbers(t *testing.T) {
	counts := make([]int, 40)
	for k := range counts {
		if k%6 != 5 {
			counts[k] = int(20 * math.Exp(.03*float64(k)))
		}
	}
	for k, n := range forecast.ScaleInstances(counts, make([]sizing.Features, 40), nil) {
		if counts[k] == 0 {
			assert.Zero(t, n)
		} else {
			assert.InEpsilon(t, 20*math.Exp(.03*40), n, .15)
		}
	}
}
