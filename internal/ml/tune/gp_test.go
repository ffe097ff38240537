package tune

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const oraclePath = "../../../testdata/oracle/tune/gp.json" // make.py beside this file writes it

type oracle struct {
	Cases []struct {
		Lengths            []float64
		Variance, Noise    float64
		X, At              [][]float64
		Y, Mean, Deviation []float64
		Log                float64
	}
	Improvements [][4]float64 // lowest, mean, deviation, expected improvement
}

func readOracle(t *testing.T) (o oracle) {
	t.Helper()
	raw, err := os.ReadFile(oraclePath)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &o))
	return o
}

// oracleTolerance allows for rounding: the factored matrix has a condition number of up to 3e7.
const oracleTolerance = 1e-8

func TestPosteriorAgreesWithScikitLearn(t *testing.T) {
	o := readOracle(t)
	require.Len(t, o.Cases, 5)
	for k, c := range o.Cases {
		p, ok := newPosterior(kernel{c.Lengths, c.Variance, c.Noise}, c.X, c.Y)
		require.True(t, ok)
		assert.InEpsilon(t, c.Log, p.logLikelihood, oracleTolerance, "case %d", k)
		near := make([]float64, len(c.X))
		for i, point := range c.At {
			mean, deviation := p.at(point, near)
			assert.InDelta(t, c.Mean[i], mean, oracleTolerance*math.Sqrt(c.Variance), "case %d mean %d", k, i)
			assert.InDelta(t, c.Deviation[i], deviation, oracleTolerance*math.Sqrt(c.Variance), "case %d deviation %d", k, i)
		}
	}
}

func TestExpectedImprovementAgreesWithScipy(t *testing.T) {
	o := readOracle(t)
	require.Len(t, o.Improvements, 8)
	for _, c := range o.Improvements {
		assert.InDelta(t, c[3], expectedImprovement(c[0], c[1], c[2]), 1e-14, "%v", c)
	}
	assert.InDelta(t, 1/math.Sqrt(2*math.Pi), expectedImprovement(3, 3, 1), 1e-15)
	assert.Equal(t, 2.0, expectedImprovement(3, 1, 0), "without deviation the improvement is certain")
	assert.Zero(t, expectedImprovement(1, 3, 0))
	assert.GreaterOrEqual(t, expectedImprovement(0, 9, 1), 0.0)
}

func TestPosteriorByHand(t *testing.T) {
	// There is one loss of 2, and the noise equals the variance of 1. At the point of this loss, the mean is half of the loss
	// and the variance falls to 1/2. At a point with the correlation k, the mean is k/2 of the loss and the variance 1 − k²/2.
	p, ok := newPosterior(kernel{lengths: []float64{1}, variance: 1, noise: 1}, [][]float64{{0}}, []float64{2})
	require.True(t, ok)
	mean, deviation := p.at([]float64{0}, make([]float64, 1))
	assert.InDelta(t, 1, mean, 1e-12)
	assert.InDelta(t, math.Sqrt(0.5), deviation, 1e-12)
	k := (1 + math.Sqrt(5) + 5.0/3) * math.Exp(-math.Sqrt(5)) // the correlation at a distance of one length scale
	mean, deviation = p.at([]float64{1}, make([]float64, 1))
	assert.InDelta(t, k, mean, 1e-12)
	assert.InDelta(t, math.Sqrt(1-k*k/2), deviation, 1e-12)
}

func TestAnUnsetVarianceIsTheMaximumLikelihoodEstimate(t *testing.T) {
	x, y := [][]float64{{0.1}, {0.4}, {0.9}}, []float64{1, -2, 0.5}
	unset, ok := newPosterior(kernel{lengths: []float64{0.3}, noise: 0.01}, x, y)
	require.True(t, ok)
	for _, factor := range []float64{0.9, 1.1} {
		other, ok := newPosterior(kernel{lengths: []float64{0.3}, noise: 0.01, variance: unset.variance * factor}, x, y)
		require.True(t, ok)
		assert.Greater(t, unset.logLikelihood, other.logLikelihood)
	}
}

func TestDuplicatePointsWithAlmostNoNoiseHaveNoPosterior(t *testing.T) {
	for _, noise := range []float64{0, 3e-16} {
		_, ok := newPosterior(kernel{lengths: []float64{1}, noise: noise}, [][]float64{{0.5}, {0.5}}, []float64{1, 2})
		assert.False(t, ok, "noise %v", noise)
	}
}

func TestFitDetectsTheRelevantParameter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	x, y := latin(rng, 25, 3), make([]float64, 25)
	for i, point := range x {
		y[i] = math.Sin(6 * point[1])
	}
	p := fit(x, y)
	assert.Greater(t, p.lengths[0], 2*p.lengths[1])
	assert.Greater(t, p.lengths[2], 2*p.lengths[1])
	assert.Less(t, p.noise, 1e-3, "noise of the kernel for losses without noise")

	for i := range y {
		y[i] += 0.5 * rng.NormFloat64()
	}
	assert.Greater(t, fit(x, y).noise, 1e-3, "noise of the kernel for noisy losses")
}

func TestWarpKeepsTheOrderAndCompressesLargeLosses(t *testing.T) {
	// The nine differences to the lowest loss are 0, 0, 0, 1, 1, 1, 2, 100 and 100 (+Inf counts as the largest finite loss). Their
	// median is 1.
	got := warp([]float64{5, 6, math.Inf(1), 7, 105, 5, 5, 6, 6})
	want := []float64{0, math.Log(2), math.Log(101), math.Log(3), math.Log(101), 0, 0, math.Log(2), math.Log(2)}
	mean := 0.0
	for _, v := range want {
		mean += v / float64(len(want))
	}
	for i := range want {
		assert.InDelta(t, want[i]-mean, got[i], 1e-12)
	}
	for claim, losses := range map[string][]float64{
		"equal losses":          {3, 3, 3},
		"only failures":         {math.Inf(1), math.Inf(1)},
		"one loss, one failure": {math.Inf(1), 4},
	} {
		assert.Equal(t, make([]float64, len(losses)), warp(losses), claim)
	}
	for _, losses := range [][]float64{{-math.MaxFloat64, math.MaxFloat64, 0}, {0, 0, 0, 1}, {0, 5e-324}} {
		for _, v := range warp(losses) {
			assert.True(t, finite(v), "%v", losses)
		}
	}
}

func TestALatinHypercubeHasOnePointPerSlice(t *testing.T) {
	points := latin(rand.New(rand.NewPCG(2, 0)), 7, 3)
	for j := range 3 {
		slices := map[int]bool{}
		for _, p := range points {
			slices[int(p[j]*7)] = true
		}
		assert.Len(t, slices, 7)
	}
}

func TestUnitInvertsParams(t *testing.T) {
	space := Space{
		{Low: -5, High: 10}, {Low: 0.001, High: 10, Log: true}, {Low: 2, High: 9, Integer: true},
		{Low: 1, High: 400, Log: true, Integer: true}, {Low: 3, High: 3}, {Low: 4, High: 4, Integer: true, Log: true},
	}
	require.NoError(t, space.check())
	rng := rand.New(rand.NewPCG(3, 0))
	for range 1000 {
		u := uniform(rng, len(space))
		params := space.params(u)
		at := space.unit(params)
		assert.InDelta(t, u[0], at[0], 1e-12)
		assert.InDelta(t, u[1], at[1], 1e-12)
		assert.InDelta(t, u[2], at[2], 0.5/8+1e-12, "the middle of one of 8 intervals")
		assert.InDelta(t, 0.5, at[4], 0)
		assert.InDelta(t, 0.5, at[5], 0.1)
		assert.Equal(t, params, space.params(at), "params must return the parameters from which unit computed the point")
	}
	assert.InDeltaSlice(t, []float64{-5, 0.001, 2, 1, 3, 4}, space.params(make([]float64, 6)), 1e-12)
	assert.InDeltaSlice(t, []float64{10, 10, 9, 400, 3, 4}, space.params([]float64{1, 1, 1, 1, 1, 1}), 1e-12)
}
