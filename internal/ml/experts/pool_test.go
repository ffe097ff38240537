package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAgeIsTheBinaryLogarithmOfTheRows(t *testing.T) {
	for rows, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 7: 2, 8: 3, 511: 8, 512: 9, 1 << 40: 9} {
		assert.Equal(t, want, age(rows), "%d rows", rows)
	}
}

// Two kills are promised and eight happen. With the prior of two kills, the ratio of kills to promises
// over all ages is 10/4, and the ratio at that age is (8 + 2·2.5)/4.
func TestPromisesAreCorrectedByTheKillsOfTheirAge(t *testing.T) {
	var p Pool
	assert.Equal(t, 1.0, p.promiseFactor(5, nil), "without outcomes, the factor is 1")
	for i := range 8 {
		p.RecordOutcome(4+i%4, 0.25, true)
	}
	assert.InDelta(t, 3.25, p.promiseFactor(7, nil), 0.01)
	assert.InDelta(t, 2.5, p.promiseFactor(8, nil), 0.01, "the factor of an age without outcomes is the ratio over all ages")
	for range 1000 {
		p.RecordOutcome(100, 0.001, true)
		p.RecordOutcome(1000, 0.5, false)
	}
	assert.Equal(t, 4.0, p.promiseFactor(100, nil), "the result is limited to the upper bound")
	assert.Equal(t, 0.3, p.promiseFactor(1000, nil), "the result is limited to the lower bound")
}

func TestPoolDecays(t *testing.T) {
	var p Pool
	assert.Zero(t, p.meanRowCost())
	p.RecordCost(10)
	p.RecordCost(20)
	assert.InDelta(t, 15, p.meanRowCost(), 0.01)
	for range 20000 {
		p.RecordCost(1)
	}
	assert.InDelta(t, 1, p.meanRowCost(), 0.01)
}

func TestRemoveInvertsAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	share := func() (p Pool) {
		for range 200 {
			p.RecordCost(rng.ExpFloat64() * 100)
			p.RecordOutcome(1+rng.IntN(2000), rng.Float64()*0.05, rng.IntN(20) == 0)
			p.RecordResidual(rng.NormFloat64())
			p.recordLevel(rng.IntN(levelClasses), rng.Float64()*0.05, 0.01, rng.IntN(20) == 0)
		}
		return p
	}
	a, b := share(), share()
	sum := a
	sum.Add(&b)
	assert.Greater(t, sum.Rows, a.Rows)
	back := sum
	back.Remove(&b)
	assert.InDelta(t, a.Cost, back.Cost, 1e-9)
	assert.InDelta(t, a.Rows, back.Rows, 1e-9)
	assert.InDelta(t, a.LogSquares, back.LogSquares, 1e-9)
	assert.InDelta(t, a.Residuals, back.Residuals, 1e-9)
	assert.InDeltaSlice(t, a.Promised[:], back.Promised[:], 1e-12)
	assert.InDeltaSlice(t, a.Killed[:], back.Killed[:], 1e-12)
	assert.InDelta(t, a.LevelMean, back.LevelMean, 1e-12)
	assert.InDeltaSlice(t, a.LevelPromised[:], back.LevelPromised[:], 1e-12)
	assert.InDeltaSlice(t, a.LevelKilled[:], back.LevelKilled[:], 1e-12)
	other := b
	other.Add(&a)
	assert.Equal(t, sum, other, "Add is commutative")
}

func TestPriorDeviationFollowsOtherTasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	var p Pool
	assert.InDelta(t, 0.3, p.deviation(0.3, nil), 1e-12, "without other tasks, the deviation is the prior")
	for range 2000 {
		p.RecordResidual(0.6 * rng.NormFloat64())
	}
	// E ln z² of a standard normal is −1.27, so the mean log square identifies 0.6.
	assert.InDelta(t, 0.6, p.deviation(0.3, nil), 0.03)
	for range 4000 {
		p.RecordResidual(0)
	}
	assert.Equal(t, 0.1, p.deviation(0.3, nil), "the result is limited to the lower bound")
	for range 8000 {
		p.RecordResidual(50)
	}
	assert.Equal(t, 1.0, p.deviation(0.3, nil), "the result is limited to the upper bound")
}

// The prior counts as five tasks of known slope. With five such tasks, the mean is halfway
// between the prior and their slope.
func TestSlopesOfOneInputAreAveraged(t *testing.T) {
	var sum Pool
	assert.Equal(t, 0.7, sum.SlopeOf(3).Mean(0.7))
	var share Pool
	share.SlopeOf(3).Add(1, 0.3)
	for range 5 {
		sum.Add(&share)
	}
	assert.InDelta(t, 0.5, sum.SlopeOf(3).Mean(0.7), 1e-12)
	assert.Equal(t, 0.7, sum.SlopeOf(4).Mean(0.7), "another input has the prior slope")
	sum.Remove(&share)
	assert.InDelta(t, 4.0, sum.SlopeOf(3).Tasks, 1e-12)
}

// The prior counts as two effects, and errors of the usual size are no effects.
func TestEffectsOfFirstChangesAreAveraged(t *testing.T) {
	var p Pool
	assert.InDelta(t, 0.04, p.Effects.Variance(3, 0.04), 1e-12)
	for range 40 {
		p.RecordEffect(3, 1, math.Sqrt(2*0.25+0.09)) // 0.3 is the prior deviation of the errors
	}
	assert.InDelta(t, 0.21, p.Effects.Variance(3, 0.04), 0.01)
	assert.InDelta(t, 0.04, p.Effects.Variance(4, 0.04), 1e-12, "another feature has the prior variance")
	for range 40 {
		p.RecordEffect(3, 1, 0.1)
	}
	assert.Less(t, p.Effects.Variance(3, 0.04), 0.02)
}
