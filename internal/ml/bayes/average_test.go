package bayes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat/distuv"
)

var prior = Prior{Deviation: 0.3, Rows: 4, Slope: 0.7, Spread: 0.25}

// trained returns an Average that has learned n rows with two inputs, and the generator of its random numbers. The log
// peak is linear in the first input.
func trained(seed uint64, n int, slope, noise float64) (*Average, *rand.Rand) {
	rng, a := rand.New(rand.NewPCG(seed, 1)), new(Average)
	for i := range n {
		x := []float64{20 + rng.NormFloat64(), rng.NormFloat64()}
		y := 3 + slope*x[0] + noise*rng.NormFloat64()
		mix := new(Mixture)
		if i > 0 {
			a.Predict(x, nil, 0, &prior, mix)
			a.Learn(x, nil, 0, y, mix)
		} else {
			a.Learn(x, nil, 0, y, nil)
		}
	}
	return a, rng
}

func TestTheBestStructureGetsTheLargestWeight(t *testing.T) {
	const constant, firstLine = 0, constants // components of the mixture
	for slope, want := range map[float64]int{0: constant, 0.8: firstLine} {
		a, _ := trained(1, 20, slope, prior.Deviation)
		var mix Mixture
		a.Predict([]float64{21, 0}, nil, 0, &prior, &mix)
		for i := range mix.N {
			assert.GreaterOrEqual(t, mix.Weight[want], mix.Weight[i], "slope %v", slope)
		}
		assert.InDelta(t, 3+slope*21, mix.MeanLevel(), prior.Deviation)
	}
}

func TestAfterOneRowALargerInputRaisesThePrediction(t *testing.T) {
	a, small, large := new(Average), Mixture{}, Mixture{}
	a.Learn([]float64{20}, nil, 0, 22, nil)
	a.Predict([]float64{20}, nil, 0, &prior, &small)
	a.Predict([]float64{22}, nil, 0, &prior, &large)
	assert.InDelta(t, 22, small.MeanLevel(), 1e-12)
	assert.Greater(t, large.MeanLevel(), 22.5)
	assert.Greater(t, large.ExceedanceProb(24), small.ExceedanceProb(24))
}

// Almost identical peaks favour the constant with a narrow distribution (Average.Exact), but say nothing about an input
// that never changed.
func TestALargerInputAfterAConstantOneRaisesTheRisk(t *testing.T) {
	a, rng := new(Average), rand.New(rand.NewPCG(5, 1))
	var mix Mixture
	for i := range 30 {
		input, y := []float64{20}, 22+0.02*rng.NormFloat64()
		if i == 0 {
			a.Learn(input, nil, 0, y, nil)
			continue
		}
		a.Predict(input, nil, 0, &prior, &mix)
		a.Learn(input, nil, 0, y, &mix)
	}
	risk := func(x float64) float64 {
		a.Predict([]float64{x}, nil, 0, &prior, &mix)
		return mix.ExceedanceProb(22.3)
	}
	assert.Less(t, risk(20), 0.01)
	assert.Less(t, risk(19), 0.01)
	assert.InDelta(t, lineShare, risk(21), 0.1, "the line has its prior probability")
	sum := 0.0
	for _, w := range mix.Weight[:mix.N] {
		sum += w
	}
	assert.InDelta(t, 1, sum, 1e-12)
}

func TestALineFallsAtMostToHalfOutsideTheRange(t *testing.T) {
	for _, slope := range []float64{0.8, -0.8} {
		a, _ := trained(4, 60, slope, 0.05)
		line := func(x float64) float64 {
			var mix Mixture
			a.Predict([]float64{x, 0}, nil, 0, &prior, &mix)
			return mix.Level[constants]
		}
		low, high := a.Ranges[0].Low, a.Ranges[0].High
		bottom, top := low, high
		if slope < 0 {
			bottom, top = high, low
		}
		assert.InDelta(t, line(bottom)-math.Ln2, line(bottom-5*slope), 1e-9, "slope %v", slope)
		assert.Greater(t, line(top+slope), line(top), "the line still rises just outside the range")
		assert.InDelta(t, line(low)+line(high), 2*line((low+high)/2), 1e-9, "the level is linear within the range")
	}
}

func TestAMissingInputFallsBackToTheConstant(t *testing.T) {
	a, _ := trained(2, 20, 0.8, 0.1)
	var mix Mixture
	a.Predict([]float64{math.NaN(), 0}, nil, 0, &prior, &mix)
	assert.Equal(t, mix.Level[0], mix.Level[constants])
	assert.Equal(t, mix.Scale[0], mix.Scale[constants])
}

// An input in another unit may be a thousand times as large. Without a limit, the line would extrapolate to a multiple of
// every known peak.
func TestALineDoesNotExtrapolateToAnotherUnit(t *testing.T) {
	a, _ := trained(3, 20, 0.8, 0.1)
	level := func(x float64) (line, constant float64) {
		var mix Mixture
		a.Predict([]float64{x, 0}, nil, 0, &prior, &mix)
		return mix.Level[constants], mix.Level[0]
	}
	line, constant := level(a.Ranges[0].High + math.Log(1001))
	assert.Equal(t, constant, line)
	before := a.Lines[0]
	a.Learn([]float64{a.Ranges[0].High + math.Log(1001), 0}, nil, 0, 20, nil)
	assert.Equal(t, before, a.Lines[0], "the line does not learn the row")
	line, constant = level(a.Ranges[0].High + math.Log(10))
	assert.Greater(t, line, constant+1)
	few, _ := trained(3, lineRangeRows-1, 0.8, 0.1)
	var mix Mixture
	few.Predict([]float64{few.Ranges[0].High + math.Log(1001), 0}, nil, 0, &prior, &mix)
	assert.Greater(t, mix.Level[constants], mix.Level[0]+4, "a line of a few rows extrapolates, because these rows say little about the range")
}

func TestRiskIsCalibrated(t *testing.T) {
	const tasks = 400
	promised, killed := 0.0, 0.0
	for seed := range uint64(tasks) {
		a, rng := trained(seed, 3+int(seed%20), 0.7, 0.3)
		x := []float64{20 + rng.NormFloat64(), rng.NormFloat64()}
		y := 3 + 0.7*x[0] + 0.3*rng.NormFloat64()
		var mix Mixture
		a.Predict(x, nil, 0, &prior, &mix)
		amount, risk := mix.Grant(1.2, 4, 1)
		promised += risk
		if y > amount {
			killed++
		}
	}
	assert.InDelta(t, promised, killed, max(promised/2, 3*math.Sqrt(promised)))
}

func TestAHigherPriceOfAKillRaisesTheAmount(t *testing.T) {
	a, _ := trained(3, 8, 0.7, 0.2)
	var mix Mixture
	a.Predict([]float64{21, 0}, nil, 0, &prior, &mix)
	previous := math.Inf(-1)
	for _, price := range []float64{0.1, 1, 10, 100, math.Inf(1)} {
		amount, risk := mix.Grant(1.2, price, 1)
		assert.Greater(t, amount, previous)
		assert.InDelta(t, mix.ExceedanceProb(amount), risk, 1e-12)
		previous = amount
	}
}

func TestSurvivalApproximatesStudentsT(t *testing.T) {
	for _, freedom := range []float64{4, 8, 30} {
		exact := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
		for z := -4.0; z <= 6; z += 0.5 {
			assert.InEpsilon(t, exact.Survival(z), survival(z, freedom), 0.12, "%v degrees of freedom, z = %v", freedom, z)
		}
	}
}

func TestPredictAndGrantDoNotAllocate(t *testing.T) {
	a, _ := trained(4, 12, 0.7, 0.2)
	x, levels, mix := []float64{21, 0}, []float64{18, 17}, new(Mixture)
	assert.Zero(t, testing.AllocsPerRun(20, func() {
		a.Predict(x, levels, 0, &prior, mix)
		mix.Grant(1.2, 8, 1)
	}))
}

func BenchmarkPredictAndGrant(b *testing.B) {
	a, _ := trained(4, 12, 0.7, 0.2)
	x, levels, mix := []float64{21, 0}, []float64{18, 17, 18, 18}, new(Mixture)
	for b.Loop() {
		a.Predict(x, levels, 0, &prior, mix)
		mix.Grant(1.2, 8, 1)
	}
}

func TestTheExpectedNeedFollowsTheComponentsAboveTheAmount(t *testing.T) {
	var near, far Mixture
	near.add(0, 0.2, 10, math.Log(0.7))
	near.add(0.1, 0.2, 10, math.Log(0.3))
	near.normalise()
	far.add(0, 0.2, 10, math.Log(0.7))
	far.add(2, 0.2, 10, math.Log(0.3))
	far.normalise()

	_, need := near.exceedanceAndNeed(0.5)
	assert.InDelta(t, 0.5, need, 1e-12, "without a component above the amount, the need is the amount")
	p, need := far.exceedanceAndNeed(0.5)
	assert.InDelta(t, far.ExceedanceProb(0.5), p, 1e-12)
	assert.InDelta(t, 2, need, 0.15, "a kill at 0.5 means that the peak is near 2")
}
