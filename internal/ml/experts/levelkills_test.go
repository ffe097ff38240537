package experts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLevelFactorsKeepTheSumOfTheMeanPromises(t *testing.T) {
	var p Pool
	for _, factor := range p.levelFactors() {
		require.InDelta(t, 1, factor, 1e-12, "without rows, no promise changes")
	}
	p.LevelMean, p.LevelPromised = 150, [levelClasses]float64{100, 50, 25, 12, 6, 6}
	p.LevelKilled = [levelClasses]float64{20, 40, 30, 30, 25, 30}
	factors, sum := p.levelFactors(), 0.0
	for k, promised := range p.LevelPromised {
		sum += factors[k] * promised
		if k > 0 {
			assert.Greater(t, factors[k], factors[k-1], "class %d", k)
		}
	}
	assert.InEpsilon(t, 150, sum, 0.01)
	assert.InDelta(t, 0.2*150/175, factors[0], 0.05, "the ratio of the class, relative to that of all classes")
}

// The last class has neither kills nor promises, so it has the ratio of the class below it and not that of all classes.
func TestAClassWithoutRowsHasTheFactorOfTheClassBelow(t *testing.T) {
	p := Pool{LevelMean: 193, LevelPromised: [levelClasses]float64{100, 50, 25, 12, 6}, LevelKilled: [levelClasses]float64{20, 40, 30, 30, 25}}
	factors := p.levelFactors()
	assert.Greater(t, factors[5], 0.8*factors[4])
}

func TestLevelClassesHalveTheShareOfTheRows(t *testing.T) {
	x, _, _ := trained(Default(target), 3, 400, normal(0.2))
	counts := [levelClasses]int{}
	for i := range x.Rows {
		counts[x.levelClass(&Point{Level: x.Rows[i].Point.Level})]++
	}
	n := float64(len(x.Rows))
	for k, share := range []float64{1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 32} {
		assert.InDelta(t, share*n, float64(counts[k]), 2, "class %d", k)
	}
}

func TestWithoutRowInvertsForRow(t *testing.T) {
	for _, a := range []Answer{
		{Promised: 0.01, mean: 0.01, row: 0.03},
		{Promised: 0.01, mean: 0.01, row: 0.002},
		{Promised: 0.2, mean: 0.01, row: 0.03},   // raised by other evidence
		{Promised: 0.005, mean: 0.01, row: 0.03}, // lowered
	} {
		assert.InEpsilon(t, a.Promised, a.WithoutRow(a.ForRow().Promised), 1e-12, "%+v", a)
	}
	assert.Equal(t, 0.03, Answer{Promised: 0.01, mean: 0.01, row: 0.03}.ForRow().Promised)
	assert.Equal(t, 0.2, Answer{Promised: 0.2, mean: 0.01, row: 0.03}.ForRow().Promised)
}
