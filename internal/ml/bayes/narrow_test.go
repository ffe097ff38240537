package bayes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// learnLinear returns an average that has learned n rows whose peak is proportional to base + x. noise is the standard deviation
// of the log peak.
func learnLinear(seed uint64, n int, base, noise float64) *Average {
	rng, a := rand.New(rand.NewPCG(seed, 9)), new(Average)
	var mix Mixture
	for i := range n {
		x := math.Exp(0.8 * rng.NormFloat64())
		inputs, y := []float64{math.Log1p(1e9 * x)}, 20+math.Log(base+x)+noise*rng.NormFloat64()
		if i == 0 {
			a.Learn(inputs, nil, 0, y, nil)
			continue
		}
		a.Predict(inputs, nil, 0, &prior, &mix)
		a.Learn(inputs, nil, 0, y, &mix)
	}
	return a
}

// allowance returns the amount with a risk of 1 % for a row with the input x, divided by the peak of this row without noise. The
// median of the inputs is 1.
func allowance(a *Average, base, x float64) float64 {
	var mix Mixture
	a.Predict([]float64{math.Log1p(1e9 * x)}, nil, 0, &prior, &mix)
	need := 20 + math.Log(base+x)
	y := need
	for mix.ExceedanceProb(y) > 0.01 {
		y += 0.005
	}
	return math.Exp(y - need)
}

func TestMarginsOfExactRelationsAreNarrow(t *testing.T) {
	for seed := range uint64(10) {
		for _, base := range []float64{0, 0.5} { // a line, and an affine regression
			a := learnLinear(seed, 12, base, 0.02)
			assert.Less(t, allowance(a, base, 1), 1.35, "seed %d, base %v", seed, base)
		}
		assert.Greater(t, allowance(learnLinear(seed, 12, 0, prior.Deviation), 0, 1), 1.5, "seed %d", seed)
	}
}

// An average that was stored before the field Narrow existed starts with the Bayes factor 1 for each narrow deviation.
func TestAnAverageWithoutBayesFactorsLearnsThem(t *testing.T) {
	a := learnLinear(1, 12, 0.5, 0.02)
	a.Narrow = nil
	before := allowance(a, 0.5, 1)
	var mix Mixture
	inputs := []float64{math.Log1p(1e9)}
	for range 6 {
		a.Predict(inputs, nil, 0, &prior, &mix)
		a.Learn(inputs, nil, 0, 20+math.Log(1.5), &mix)
	}
	assert.Len(t, a.Narrow, 1)
	assert.Less(t, allowance(a, 0.5, 1), 1+0.5*(before-1))
}

// After an exact start, a few large errors widen the margins at once.
func TestMarginsWidenAfterLargeErrors(t *testing.T) {
	for seed := range uint64(10) {
		a := learnLinear(seed, 12, 0.5, 0.005)
		before := allowance(a, 0.5, 1)
		var mix Mixture
		for i := range 3 {
			x := 0.5 + float64(i)/2
			inputs := []float64{math.Log1p(1e9 * x)}
			a.Predict(inputs, nil, 0, &prior, &mix)
			a.Learn(inputs, nil, 0, 20+math.Log(0.5+x)+[]float64{0.2, -0.2, 0.2}[i], &mix)
		}
		assert.Less(t, before, 1.2, "seed %d", seed)
		assert.Greater(t, allowance(a, 0.5, 1), 1.3, "seed %d", seed)
	}
}
