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

// A task has 2, 4, 6 or 20 instances, and another one runs only if the first has 20.
func TestSimulateDrawsTheNumberOfInstances(t *testing.T) {
	counts, ran, others := make([]int, 40), make([]bool, 40), make([]int, 40)
	for k := range counts {
		counts[k] = []int{2, 4, 4, 6, 20}[k%5]
		ran[k], others[k] = counts[k] == 20, 3
	}
	r, err := forecast.Simulate([]forecast.Task{
		{ID: "fit", Quantile: func(u float64) float64 { return 100 * u }, Memory: 1, Instances: 4, Counts: counts},
		{ID: "check", Upstream: []string{"fit"}, Quantile: fixed(50), Memory: 10, Ran: ran, Counts: others},
	}, 1, 0)
	require.NoError(t, err)
	assert.Equal(t, 4, r.Tasks[0].Instances)
	assert.InDelta(t, 4, r.Tasks[0].Memory, 1e-9)
	assert.Equal(t, 3, r.Tasks[1].Instances)
	assert.Equal(t, forecast.Amounts{Median: 4, P95: 30}, r.Peak)
	assert.Equal(t, forecast.Amounts{Median: 4, P95: 20}, r.Footprint[0].Amounts)
	assert.InDelta(t, 100*math.Pow(.5, 1./20), r.Tasks[1].Start, 2, "the median of the longest of 20 instances")
}

func TestSimulateMediansScalesByTheNumberOfInstances(t *testing.T) {
	r, err := forecast.SimulateMedians([]forecast.Task{{ID: "fit", Quantile: fixed(1), Median: fixed(100), Counts: []int{2, 8}, MedianScale: []float64{1, 1.5}}}, 1, 0)
	require.NoError(t, err)
	assert.InDelta(t, 100, r.Quantile(.1), 1e-9)
	assert.InDelta(t, 150, r.Quantile(.9), 1e-9)
}

// At most four instances of a task run at the same time, so the ratio of the actual to the expected end grows with the
// number of instances.
func TestCalibrationScalesWaitsToTheNumberOfInstances(t *testing.T) {
	var c forecast.Calibration
	for k := range 40 {
		n := 4 * (1 + k%5)
		c.Add(100, 25*float64(n)*(1+.01*float64(k%3)), n)
	}
	for name, x := range map[string]struct {
		counts []int
		want   float64
	}{
		"drawn numbers":                         {[]int{8}, 200},
		"more than in any run":                  {[]int{40}, 1000},
		"numbers that are the same in all runs": {nil, 300},
	} {
		tasks := []forecast.Task{{ID: "fit", Quantile: fixed(100), Median: fixed(100), Instances: 12, Counts: x.counts}}
		r, err := forecast.Simulate(tasks, 1, 0)
		require.NoError(t, err)
		expected, err := forecast.SimulateMedians(tasks, 1, 0)
		require.NoError(t, err)
		median, _ := c.Quantiles(r, expected)
		assert.InEpsilon(t, x.want, median, .03, name)
	}
}

func TestScaleInstancesPredictsTheNumberFromTheInputs(t *testing.T) {
	number, text := sizing.NumberValue, sizing.TextValue
	past := func(of func(k int) sizing.Features) (all []sizing.Features) {
		for k := range 20 {
			all = append(all, of(k))
		}
		return all
	}
	counts := make([]int, 20)
	for k := range counts {
		counts[k] = 2 + k*7%19
	}
	samples := past(func(k int) sizing.Features { return sizing.Features{"samples": number(float64(counts[k]))} })
	isLarge := past(func(k int) sizing.Features { return sizing.Features{"full": sizing.BoolValue(counts[k] > 10)} })
	for name, c := range map[string]struct {
		past   []sizing.Features
		inputs sizing.Features
		want   float64 // geometric mean
	}{
		"follows a number":          {samples, sizing.Features{"samples": number(15)}, 15},
		"is extrapolated":           {samples, sizing.Features{"samples": number(50)}, 50},
		"is bounded":                {samples, sizing.Features{"samples": number(1e9)}, forecast.MaxInstances},
		"is at least 1":             {samples, sizing.Features{"samples": number(.01)}, 1},
		"ignores zero":              {samples, sizing.Features{"samples": number(0)}, 8.6},
		"ignores an unknown input":  {samples, sizing.Features{"rows": number(15)}, 8.6},
		"follows a bool":            {isLarge, sizing.Features{"full": sizing.BoolValue(true)}, 15.1},
		"follows the other bool":    {isLarge, sizing.Features{"full": sizing.BoolValue(false)}, 5.1},
		"ignores an unknown region": {past(func(k int) sizing.Features { return sizing.Features{"region": text("eu")} }), sizing.Features{"region": text("us")}, 8.6},
		"ignores one extreme run": {past(func(k int) sizing.Features {
			return sizing.Features{"rows": number([]float64{1, 1e6}[min(1, k/19)])}
		}), sizing.Features{"rows": number(1e9)}, 8.6},
	} {
		logs := 0.0
		for _, n := range forecast.ScaleInstances(counts, c.past, c.inputs) {
			logs += math.Log(float64(n)) / 20
		}
		assert.InEpsilon(t, c.want, math.Exp(logs), .06, name)
	}
	assert.Equal(t, []int{10, 0, 10, 10, 10, 10}, forecast.ScaleInstances([]int{1, 0, 2, 3, 4, 5}, []sizing.Features{
		{"n": number(1)}, nil, {"n": number(2)}, {"n": number(3)}, {"n": number(4)}, {"n": number(5)},
	}, sizing.Features{"n": number(10)}), "a task that a run skipped stays without instances")
}

// Inputs that are independent of the number of instances seldom scale it.
func TestScaleInstancesIgnoresNoise(t *testing.T) {
	rng, scaled := rand.New(rand.NewPCG(1, 2)), 0
	for range 500 {
		counts, past := make([]int, 12), make([]sizing.Features, 12)
		for k := range counts {
			counts[k] = int(2 + math.Exp(2+rng.NormFloat64()))
			past[k] = sizing.Features{"a": sizing.NumberValue(math.Exp(rng.NormFloat64())), "b": sizing.NumberValue(math.Exp(2 * rng.NormFloat64())), "c": sizing.BoolValue(rng.IntN(4) == 0)}
		}
		got := forecast.ScaleInstances(counts, past, sizing.Features{"a": sizing.NumberValue(20), "b": sizing.NumberValue(.01), "c": sizing.BoolValue(true)})
		for k := range counts {
			if got[k] != counts[k] {
				scaled++
				break
			}
		}
	}
	assert.LessOrEqual(t, scaled, 15, "of 500, at a significance of 1 %")
}
