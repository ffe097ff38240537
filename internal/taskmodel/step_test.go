package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// stepOf returns the step that a fit finds in n runs. law returns the log peak of run i with the number x of a log-normal
// distribution.
func stepOf(t *testing.T, n int, seed uint64, law func(i int, x float64, rng *rand.Rand) float64) step {
	rng := rand.New(rand.NewPCG(seed, 5))
	var features []sizing.Features
	var levels []float64
	for i := range n {
		x := math.Exp(rng.NormFloat64())
		features = append(features, sizing.Features{"x": sizing.NumberValue(x), "kind": sizing.TextValue([]string{"a", "b"}[i%2])})
		levels = append(levels, 20+float64(i%2)+law(i, x, rng))
	}
	m := fitOn(t, New(), features, levels)
	return m.Models.Enc.Columns[1].Step // features are sorted by name
}

func TestAFitFindsAStep(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		law   func(i int, x float64, rng *rand.Rand) float64
		from  float64
		least int // smallest allowed number of columns of the step
	}{
		"upward, few runs beyond":   {60, func(_ int, x float64, _ *rand.Rand) float64 { return 0.5*math.Log(x) + indicator(x > 3) }, 3, 1},
		"upward":                    {400, func(_ int, x float64, _ *rand.Rand) float64 { return 0.5*math.Log(x) + indicator(x > 5) }, 5, 2},
		"downward":                  {400, func(_ int, x float64, _ *rand.Rand) float64 { return math.Log(x) - indicator(x > 5) }, 5, 2},
		"a constant on either side": {400, func(_ int, x float64, _ *rand.Rand) float64 { return indicator(x > 1) }, 1, 2},
	} {
		for seed := range uint64(20) {
			s := stepOf(t, c.n, seed, func(i int, x float64, rng *rand.Rand) float64 { return c.law(i, x, rng) + 0.05*rng.NormFloat64() })
			assert.GreaterOrEqual(t, s.Columns, c.least, "%s, seed %d", name, seed)
			assert.InEpsilon(t, c.from, s.From, 0.4, "%s, seed %d", name, seed)
		}
	}
}

func TestThereIsNoStepInACurveOrInTime(t *testing.T) {
	for name, law := range map[string]func(i int, x float64, rng *rand.Rand) float64{
		"constant":       func(int, float64, *rand.Rand) float64 { return 0 },
		"power":          func(_ int, x float64, _ *rand.Rand) float64 { return 0.8 * math.Log(x) },
		"base and share": func(_ int, x float64, _ *rand.Rand) float64 { return math.Log(1 + x) },
		"square":         func(_ int, x float64, _ *rand.Rand) float64 { return math.Log(1 + x*x) },
		"largest of two": func(_ int, x float64, _ *rand.Rand) float64 { return math.Log(max(2, x)) },
		"saturation":     func(_ int, x float64, _ *rand.Rand) float64 { return math.Log(1 - math.Exp(-x)) },
		"heavy tails": func(_ int, _ float64, rng *rand.Rand) float64 {
			return 0.3 * rng.NormFloat64() * math.Exp(rng.NormFloat64())
		},
		"two peaks for no reason": func(_ int, _ float64, rng *rand.Rand) float64 { return indicator(rng.Float64() < 0.1) },
		"a change at a time":      func(i int, _ float64, _ *rand.Rand) float64 { return indicator(i > 150) },
	} {
		for seed := range uint64(20) {
			s := stepOf(t, 300, seed, func(i int, x float64, rng *rand.Rand) float64 { return law(i, x, rng) + 0.05*rng.NormFloat64() })
			assert.Zero(t, s.Columns, "%s, seed %d", name, seed)
		}
	}
	counter := stepPoints(300, func(i int) float64 { return float64(i) }, func(x float64) float64 { return indicator(x > 150) })
	assert.Equal(t, 1.0, findStep(counter, &column{}).prob, "the number counts the runs, and the peaks rise at run 150")
}

func stepPoints(n int, x func(i int) float64, y func(x float64) float64) (points []stepPoint) {
	rng := rand.New(rand.NewPCG(3, 5))
	for i := range n {
		points = append(points, stepPoint{x: x(i), y: y(x(i)) + 0.05*rng.NormFloat64(), at: i})
	}
	return points
}

// A line that is fitted without the step may have an offset, and the line with the step none. A model with a step must not keep
// the offset of the line without it.
func TestAModelWithAStepCanBeStored(t *testing.T) {
	offsets := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 8))
		var features []sizing.Features
		var levels []float64
		for range 120 {
			x := math.Exp(1.5 * rng.NormFloat64())
			features = append(features, sizing.Features{"x": sizing.NumberValue(x)})
			levels = append(levels, 20+indicator(x > 3)*(1+0.3*math.Log(x))+0.03*rng.NormFloat64())
		}
		m := fitOn(t, New(), features, levels)
		require.Positive(t, m.Models.Enc.Columns[0].Step.Columns, "seed %d", seed)
		offsets += boolToInt(m.Models.Offset > 0)
		blob, err := m.Blob()
		require.NoError(t, err)
		_, err = Open(blob)
		require.NoError(t, err, "seed %d", seed)
	}
	require.Less(t, offsets, 30)
}
