package bayes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// growing returns an average that has learned n rows. Their log peaks grow by `growth` per row, have noise with a deviation of
// 0.03, and rise with an input by 0.5 per unit: the peaks follow its square root. If withTrend is true, the trend learns the rows,
// too. growing also returns the prediction for the next row, whose input is the mean, and the log peak of this row without noise.
func growing(seed uint64, n int, growth float64, withTrend bool) (a *Average, mix *Mixture, y float64) {
	rng := rand.New(rand.NewPCG(seed, 41))
	a, mix = new(Average), new(Mixture)
	for i := range n {
		x := 10 + 0.5*rng.NormFloat64()
		y := 15 + x/2 + growth*float64(i) + 0.03*rng.NormFloat64()
		if i == 0 {
			a.Learn([]float64{x}, nil, 0, y, nil)
			continue
		}
		a.Predict([]float64{x}, nil, 0, &prior, mix)
		if withTrend {
			a.LearnTrend(y, Run{Start: 10*int64(i) - 35, End: 10 * int64(i)}, &prior, mix) // the newest three runs had not ended at the start
		}
		a.Learn([]float64{x}, nil, 0, y, mix)
	}
	a.Predict([]float64{10}, nil, 0, &prior, mix)
	return a, mix, 20 + growth*float64(n)
}

func TestATrendFollowsAGrowthThatTheInputDoesNotExplain(t *testing.T) {
	for seed := range uint64(10) {
		_, mix, y := growing(seed, 24, 0.05, true)
		assert.Greater(t, mix.Weight[mix.trend], 0.5, "seed %d", seed)
		assert.InDelta(t, y, mix.MeanLevel(), 0.15, "seed %d", seed)
		_, without, y := growing(seed, 24, 0.05, false)
		assert.Less(t, without.MeanLevel(), y-0.25, "seed %d", seed)
		assert.Less(t, mix.deviation(mix.MeanLevel()), without.deviation(without.MeanLevel()), "seed %d", seed)
	}
}

func TestWithoutAGrowthATrendChangesNoPrediction(t *testing.T) {
	for seed := range uint64(10) {
		for _, growth := range []float64{0, -0.05} {
			a, mix, _ := growing(seed, 24, growth, true)
			_, without, _ := growing(seed, 24, growth, false)
			assert.Positive(t, a.Trend.Tested)
			assert.Equal(t, without.MeanLevel(), mix.MeanLevel(), "seed %d, growth %v", seed, growth)
			assert.Equal(t, without.ExceedanceProb(20.2), mix.ExceedanceProb(20.2), "seed %d, growth %v", seed, growth)
		}
	}
}

// The other tasks of a DAG grow, too, so their errors shift the predictions. The shift is no evidence against the trend, nor
// does the trend learn it.
func TestATrendIgnoresTheShiftOfARun(t *testing.T) {
	a, mix, y := growing(1, 24, 0.05, true)
	shifted, trend := *mix, a.Trend
	a.LearnTrend(y, Run{}, &prior, mix)
	learned := a.Trend
	a.Trend = trend
	shifted.Shift(0.3)
	a.LearnTrend(y, Run{}, &prior, &shifted)
	assert.InDelta(t, learned.LogEvidence, a.Trend.LogEvidence, 1e-9)
	assert.Equal(t, learned.E, a.Trend.E)
}

// With delayed feedback, the peaks of the newest runs are not known at the launch of the next one, but they grow, too.
func TestATrendIsExtendedOverRunsThatHaveNotEnded(t *testing.T) {
	for seed := range uint64(10) {
		a, mix, y := growing(seed, 24, 0.05, true)
		next, deviation := mix.MeanLevel(), mix.deviation(mix.MeanLevel())
		a.ExtendTrend(&prior, mix)
		assert.InDelta(t, y+3*0.05, mix.MeanLevel(), 0.15, "seed %d", seed)
		assert.InDelta(t, next+3*0.05, mix.MeanLevel(), 0.09, "seed %d", seed)
		assert.Greater(t, mix.deviation(mix.MeanLevel()), deviation, "seed %d", seed)
	}
}

func TestAnOverlapCountsTheNewestRuns(t *testing.T) {
	var o Overlap
	for i := range int64(40) {
		o.learn(10*i-25, 10*i)
	}
	assert.Equal(t, 2, o.largest())
	for i := range int64(overlapRuns) {
		o.learn(400+10*i, 405+10*i)
	}
	o.learn(0, 1000)
	assert.Zero(t, o.largest())
	assert.Len(t, o.Ends, maxOverlap)
	assert.Len(t, o.Runs, overlapRuns)
}

// An average of an earlier version has no trend; the trend then starts from the evidence of the best regression.
func TestATrendStartsInAnAverageWithoutATrend(t *testing.T) {
	a, mix, y := growing(1, 40, 0.05, false)
	for i := range 4 {
		a.Predict([]float64{10}, nil, 0, &prior, mix)
		a.LearnTrend(y+0.05*float64(i), Run{}, &prior, mix)
	}
	assert.Greater(t, a.Trend.LogEvidence, a.bestRegression())
}

func TestAnExplanationOfATrendAddsUpToTheMeanLevel(t *testing.T) {
	a, _, _ := growing(1, 24, 0.05, true)
	var mix Mixture
	a.Predict([]float64{12}, nil, 0, &prior, &mix)
	phi := make([]float64, 1)
	base := a.Explain([]float64{12}, &mix, []int{0}, phi)
	assert.InDelta(t, mix.MeanLevel(), base+phi[0], 1e-9)
	assert.InDelta(t, 1, phi[0], 0.4) // the input is 2 above its mean, and the slope is 1/2
	assert.False(t, math.IsNaN(base))
}
