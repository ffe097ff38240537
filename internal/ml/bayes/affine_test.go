package bayes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// baseAndShare returns an average that has learned n rows, and the generator of its random numbers. The peaks are proportional to
// 1 + x/50, with a noise of 5 %. On average, three of ten inputs x are zero.
func baseAndShare(seed uint64, n int) (*Average, *rand.Rand) {
	rng, a := rand.New(rand.NewPCG(seed, 4)), new(Average)
	var mix Mixture
	for i := range n {
		x := 0.0
		if rng.IntN(10) > 2 {
			x = 500 * math.Exp(0.8*rng.NormFloat64())
		}
		inputs, y := []float64{math.Log1p(x)}, logOfBaseAndShare(x)+0.05*rng.NormFloat64()
		if i == 0 {
			a.Learn(inputs, nil, 0, y, nil)
			continue
		}
		a.Predict(inputs, nil, 0, &prior, &mix)
		a.Learn(inputs, nil, 0, y, &mix)
	}
	return a, rng
}

func logOfBaseAndShare(x float64) float64 { return 20 + math.Log(1+x/50) }

func TestAnAffineRegressionFindsABaseAndAShareOfTheInput(t *testing.T) {
	for seed := range uint64(10) {
		a, _ := baseAndShare(seed, 20)
		for _, x := range []float64{0, 20, 100, 500, 2000} {
			var mix Mixture
			a.Predict([]float64{math.Log1p(x)}, nil, 0, &prior, &mix)
			assert.InDelta(t, logOfBaseAndShare(x), mix.MeanLevel(), 0.15, "seed %d, x %v", seed, x)
			assert.Less(t, mix.ExceedanceProb(logOfBaseAndShare(x)+0.7), 0.03, "seed %d, x %v", seed, x)
		}
	}
}

func TestWithFewRowsTheLineTakesThePlaceOfAnAffineRegression(t *testing.T) {
	a := new(Average)
	var mix Mixture
	a.Learn([]float64{5}, nil, 0, 20, nil)
	a.Predict([]float64{6}, nil, 0, &prior, &mix)
	a.Learn([]float64{6}, nil, 0, 21, &mix)
	a.Predict([]float64{7}, nil, 0, &prior, &mix)
	line, affine := constants, mix.Affines.from
	assert.Equal(t, mix.Level[line], mix.Level[affine])
	assert.Equal(t, mix.Scale[line], mix.Scale[affine])
}

// The regression falls below zero for large inputs, but a peak is always positive.
func TestAnAffineRegressionPredictsNoNegativePeak(t *testing.T) {
	a := new(Average)
	var mix Mixture
	for i := range 12 {
		x := 100 + 10*float64(i)
		inputs := []float64{math.Log1p(x)}
		if i == 0 {
			a.Learn(inputs, nil, 0, math.Log(300-x), nil)
			continue
		}
		a.Predict(inputs, nil, 0, &prior, &mix)
		a.Learn(inputs, nil, 0, math.Log(300-x), &mix)
	}
	for _, x := range []float64{0, 250, 299, 400, 1e6} {
		a.Predict([]float64{math.Log1p(x)}, nil, 0, &prior, &mix)
		for i := range mix.N {
			assert.False(t, math.IsNaN(mix.Level[i]) || math.IsInf(mix.Level[i], 0) || !(mix.Scale[i] > 0), "x %v, component %d", x, i)
		}
	}
}

func TestShiftMovesTheAffineRegression(t *testing.T) {
	a, _ := baseAndShare(3, 20)
	var before, after Mixture
	inputs := []float64{math.Log1p(700)}
	a.Predict(inputs, nil, 0, &prior, &before)
	a.Shift(1.5)
	a.Predict(inputs, nil, 0, &prior, &after)
	for i := range before.N {
		assert.InDelta(t, before.Level[i]+1.5, after.Level[i], 1e-9, i)
		assert.InDelta(t, before.Scale[i], after.Scale[i], 1e-9, i)
	}
}
