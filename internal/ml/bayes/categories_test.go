package bayes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// alternating returns an average of rows with two values, 1 and 2, whose log peaks are 20 and 24.
func alternating(rows int) *Average {
	a := new(Average)
	for i := range rows {
		hash := uint64(1 + i%2)
		row, y := Row{Categories: []uint64{hash}}, 16+4*float64(hash)
		if i == 0 {
			a.Learn(row, y, nil)
			continue
		}
		var mix Mixture
		a.Predict(row, &prior, &mix)
		a.Learn(row, y, &mix)
	}
	return a
}

func TestPeaksThatFollowACategoryArePredictedByIt(t *testing.T) {
	a := alternating(8)
	predict := func(hash uint64) *Mixture {
		var mix Mixture
		a.Predict(Row{Categories: []uint64{hash}}, &prior, &mix)
		return &mix
	}
	for hash, level := range map[uint64]float64{1: 20, 2: 24} {
		mix := predict(hash)
		assert.InDelta(t, level, mix.MeanLevel(), 0.3, "value %d", hash)
		assert.Less(t, mix.ExceedanceProb(level+1), 0.05, "value %d", hash)
	}
	assert.Greater(t, predict(3).ExceedanceProb(24), 0.1, "the peak of a new value may be as large as the largest")
	assert.InDelta(t, 22, predict(0).MeanLevel(), 0.3, "a missing value")
}

func TestExplanationAddsUpWithACategory(t *testing.T) {
	a := alternating(8)
	var mix Mixture
	row := Row{Categories: []uint64{2}}
	a.Predict(row, &prior, &mix)
	phi := make([]float64, 1)
	base := a.Explain(row, &mix, nil, []int{0}, phi)
	assert.InDelta(t, mix.MeanLevel(), base+phi[0], 1e-9)
	assert.InDelta(t, 2, phi[0], 0.3)
}

func TestAKillWithoutCategoriesKeepsTheirEvidence(t *testing.T) {
	a := alternating(8)
	a.LearnKill(Kill{Run: 1, Bound: 24.1}, &prior)
	var mix Mixture
	a.WithKills().Predict(Row{Categories: []uint64{1}}, &prior, &mix)
	assert.InDelta(t, 20, mix.MeanLevel(), 0.5)
	assert.Equal(t, a.Categories[0].Values, a.Imputed.Categories[0].Values)
}

func TestNoMoreThanMaxValuesAreKept(t *testing.T) {
	var c Category
	for hash := range uint64(maxValues + 10) {
		c.learn(hash+1, 20)
	}
	assert.Len(t, c.Values, maxValues)
	var mix Mixture
	c.predict(maxValues+5, &prior, &mix, 0)
	assert.False(t, math.IsNaN(mix.Scale[0]))
}
