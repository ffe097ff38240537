package bayes

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func averageOf(y []float64) *Average {
	var a Average
	var mix Mixture
	for i, v := range y {
		if i == 0 {
			a.Learn(nil, nil, 0, v, nil)
			continue
		}
		a.Predict(nil, nil, 0, &prior, &mix)
		a.Learn(nil, nil, 0, v, &mix)
	}
	return &a
}

// twoKinds draws n log peaks: 30 % are about log 8, the others about log 0.5.
func twoKinds(rng *rand.Rand, n int) (y []float64) {
	for range n {
		level := math.Log(0.5)
		if rng.Float64() < 0.3 {
			level = math.Log(8)
		}
		y = append(y, level+0.1*rng.NormFloat64())
	}
	return y
}

func TestRowsOfTwoKindsAreGrantedTheLargerKind(t *testing.T) {
	var mix Mixture
	for seed := range uint64(10) {
		y := twoKinds(rand.New(rand.NewPCG(seed, 0)), 40)
		averageOf(y).Predict(nil, nil, 0, &prior, &mix)
		large := 0.0
		for _, v := range y {
			if v > 0 {
				large++
			}
		}
		assert.InDelta(t, large/40, mix.ExceedanceProb(math.Log(2)), 0.05, "seed %d: P(peak > 2), the share of rows of the larger kind", seed)
		assert.Less(t, mix.ExceedanceProb(math.Log(12)), 0.05, "seed %d: P(peak > 12), above all peaks of the larger kind", seed)
		granted, _ := mix.Grant(1.2, 100, 1)
		assert.InDelta(t, math.Log(10), granted, 0.3, "seed %d: grant at a high price of kills", seed)
	}
}

func TestModesHardlyChangeTheGrantOfOneKind(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var y []float64
	for range 40 {
		y = append(y, 0.3*rng.NormFloat64())
	}
	var with, without Mixture
	a := averageOf(y)
	a.Predict(nil, nil, 0, &prior, &with)
	a.Modes = Modes{}
	a.Predict(nil, nil, 0, &prior, &without)
	assert.Zero(t, without.Modes.size())
	got, _ := with.Grant(1.2, 10, 1)
	want, _ := without.Grant(1.2, 10, 1)
	assert.InDelta(t, want, got, 0.1)
}

func TestModesAreBoundedAndKeepEveryRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var s Modes
	var sum, squares float64
	for range 1000 {
		y := 20 * rng.Float64()
		s.learn(y)
		sum, squares = sum+y, squares+y*y
	}
	assert.Len(t, s.Modes, maxModes)
	assert.InDelta(t, 1000, s.rows(), 0)
	var gotSum, gotSquares float64
	for _, m := range s.Modes {
		gotSum, gotSquares = gotSum+m.Rows*m.Mean, gotSquares+m.Squares+m.Rows*m.Mean*m.Mean
	}
	assert.InEpsilon(t, sum, gotSum, 1e-9)
	assert.InEpsilon(t, squares, gotSquares, 1e-9)
	assert.True(t, slices.IsSortedFunc(s.Modes, func(a, b Mode) int { return int(math.Copysign(1, a.Mean-b.Mean)) }))
}

func TestModesAreLeftOutIfAnInputMatters(t *testing.T) {
	a, _ := trained(1, 20, 0.8, 0.1)
	var mix Mixture
	a.Predict([]float64{21, 0}, nil, 0, &prior, &mix)
	assert.Zero(t, mix.Modes.size())
	withoutFeatures := prior
	withoutFeatures.NoFeatures = true
	a.Predict(nil, nil, 0, &withoutFeatures, &mix)
	assert.Positive(t, mix.Modes.size(), "without features the modes stay, because a line is better than the constant only by chance")
	a, _ = trained(1, 20, 0, 0.1)
	a.Predict([]float64{21, 0}, nil, 0, &prior, &mix)
	assert.Positive(t, mix.Modes.size())
}

// An average that an earlier release stored has rows and no modes.
func TestAverageWithoutModesLearnsThem(t *testing.T) {
	y := twoKinds(rand.New(rand.NewPCG(1, 0)), 60)
	a := averageOf(y[:20])
	a.Modes = Modes{}
	var mix Mixture
	for _, v := range y[20:] {
		a.Predict(nil, nil, 0, &prior, &mix)
		a.Learn(nil, nil, 0, v, &mix)
	}
	a.Predict(nil, nil, 0, &prior, &mix)
	assert.Less(t, mix.ExceedanceProb(math.Log(12)), 0.05)
}

func TestTheLargestMixtureHasTheMaximumNumberOfComponents(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	inputs, levels := make([]float64, 2*maxLines), make([]float64, 2*maxLines)
	var a Average
	var mix Mixture
	a.Learn(inputs, levels, 0, 0, nil)
	for range 50 {
		for i := range inputs {
			inputs[i], levels[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		a.Predict(inputs, levels, 0.5, &prior, &mix)
		y := 20 * rng.Float64()
		a.LearnTrend(y, Run{}, &prior, &mix)
		a.Learn(inputs, levels, 0.5, y, &mix)
	}
	for i := range a.Lines {
		a.Lines[i].LogEvidence = a.Constant
	}
	for k := range a.Models {
		a.Models[k].LogEvidence = a.Constant
	}
	a.Predict(inputs, levels, 0.5, &prior, &mix)
	assert.Equal(t, maxComponents, mix.N)
	total := 0.0
	for _, w := range mix.Weight[:mix.N] {
		total += w
	}
	assert.InDelta(t, 1, total, 1e-9)
}
