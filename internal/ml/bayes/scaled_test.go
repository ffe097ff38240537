package bayes

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The residuals of the point model are ten times as large in every second row, and the predicted scale says so.
func TestScaledModelHasTheDeviationOfTheRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	scaleOf := func(row int) float64 { return []float64{0.02, 0.2}[row%2] }
	var a Average
	var mix Mixture
	level := []float64{0}
	a.Learn(nil, level, 0, 0, nil)
	for row := range 200 {
		level[0] = 3 * rng.NormFloat64()
		a.Predict(nil, level, scaleOf(row), &prior, &mix)
		a.Learn(nil, level, scaleOf(row), level[0]+scaleDeviation*scaleOf(row)*rng.NormFloat64(), &mix)
	}
	for row := range 2 {
		a.Predict(nil, level, scaleOf(row), &prior, &mix)
		assert.True(t, mix.Scaled)
		assert.Greater(t, mix.Weight[mix.N-1], 0.99)
		assert.InEpsilon(t, 0.5, mix.ExceedanceProb(level[0]), 0.01)
		assert.InEpsilon(t, 0.159, mix.ExceedanceProb(level[0]+scaleDeviation*scaleOf(row)), 0.2)
	}
	a.Predict(nil, level, 0, &prior, &mix)
	assert.False(t, mix.Scaled, "without a predicted scale there is no component for it")
	a.Learn(nil, level, 0, level[0], &mix)
	assert.Zero(t, a.Scaled)
}

// A point model errs in the first 12 rows and later predicts well. Without discountModels, the early rows would lower its
// evidence more.
func TestEvidenceOfPointModelsForgetsEarlyRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var a Average
	var mix Mixture
	level := []float64{0}
	a.Learn(nil, level, 0, 0, nil)
	plain := 0.0 // sum of the evidence without discountModels, relative to the constant
	for row := range 60 {
		y := rng.NormFloat64()
		if level[0] = y + 0.3*rng.NormFloat64(); row < 12 {
			level[0] = 4 * rng.NormFloat64()
		}
		a.Predict(nil, level, 0, &prior, &mix)
		plain += mix.logDensity(mix.N-1, y) - mix.logDensity(0, y)
		a.Learn(nil, level, 0, y, &mix)
	}
	assert.Less(t, plain, -20.0, "the early errors lower the evidence without discountModels")
	assert.Greater(t, a.Models[0].LogEvidence-a.Constant, plain/2)
}
