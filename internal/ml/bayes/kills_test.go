package bayes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// oneRow returns the Average of a task whose only row fits both a constant and a line.
func oneRow() *Average {
	a := new(Average)
	a.Learn([]float64{5}, nil, 0, 20, nil)
	return a
}

func weights(a *Average, x float64) (constant, line float64) {
	var mix Mixture
	a.Predict([]float64{x}, nil, 0, &prior, &mix)
	return mix.Weight[0], mix.Weight[constants]
}

func TestAKillDecidesBetweenStructures(t *testing.T) {
	a := oneRow()
	before, _ := weights(a.WithKills(), 8)
	a.LearnKill(Kill{Run: 1, Bound: 20.8, Inputs: []float64{7}}, &prior)
	constant, line := weights(a.WithKills(), 8)
	assert.Less(t, constant, before/2, "the constant loses weight, because it does not explain the kill")
	assert.Greater(t, line, constant)
	unchanged, _ := weights(a, 8)
	assert.Equal(t, before, unchanged, "the average without kills does not change")
}

func TestAMeasuredRunReplacesItsKill(t *testing.T) {
	a, want := oneRow(), oneRow()
	a.LearnKill(Kill{Run: 1, Bound: 21, Inputs: []float64{7}}, &prior)
	a.LearnKill(Kill{Run: 1, Bound: 20.5, Inputs: []float64{7}}, &prior)
	assert.Len(t, a.Kills, 1)
	assert.Equal(t, 21., a.Kills[0].Bound, "a later report of a lower bound has no effect")
	a.Resolve(2, &prior)
	assert.NotNil(t, a.Imputed, "Resolve of another run has no effect")
	a.Resolve(1, &prior)
	assert.Nil(t, a.Imputed)
	assert.Empty(t, a.Kills)
	var mix Mixture
	for _, average := range []*Average{a, want} {
		average.Predict([]float64{7}, nil, 0, &prior, &mix)
		average.Learn([]float64{7}, nil, 0, 21.4, &mix)
		average.ImputeKills(&prior)
	}
	a.Kills = nil
	assert.Equal(t, want, a)
}

func TestKillsAreBounded(t *testing.T) {
	a := new(Average)
	for run := range uint64(3 * maxKills) {
		a.LearnKill(Kill{Run: run, Bound: 21, Inputs: []float64{float64(run)}}, &prior)
	}
	assert.Nil(t, a.Imputed, "without a measured row there is no average with kills")
	assert.Len(t, a.Kills, maxKills)
	assert.EqualValues(t, 2*maxKills, a.Kills[0].Run, "the oldest of the remaining kills: those before it are removed")

	for range killRows {
		var mix Mixture
		if a.Rows > 0 {
			a.Predict([]float64{5}, []float64{20}, 0, &prior, &mix)
			a.Learn([]float64{5}, []float64{20}, 0, 20, &mix)
		} else {
			a.Learn([]float64{5}, []float64{20}, 0, 20, nil)
		}
		a.ImputeKills(&prior)
	}
	assert.Empty(t, a.Kills, "after enough rows, kills do not count")
	assert.Nil(t, a.Imputed)
	a.LearnKill(Kill{Run: 1, Bound: 21, Inputs: []float64{7}}, &prior)
	assert.Nil(t, a.Imputed, "a task with enough rows ignores new kills")
}

func TestKillsWithEqualInputsCountOnce(t *testing.T) {
	a := oneRow()
	for run, bound := range []float64{20.5, 21, 20.8} {
		a.LearnKill(Kill{Run: uint64(run), Bound: bound, Inputs: []float64{math.NaN()}}, &prior)
	}
	assert.Len(t, a.Kills, 1)
	assert.Equal(t, 21., a.Kills[0].Bound)
}

// The second kill of run 1 is implied by that of run 2, which has the same inputs and a larger bound.
func TestAnImpliedKillRemovesTheEarlierKillOfItsRun(t *testing.T) {
	a, want := oneRow(), oneRow()
	a.LearnKill(Kill{Run: 1, Bound: 20.5, Inputs: []float64{7}}, &prior)
	for _, average := range []*Average{a, want} {
		average.LearnKill(Kill{Run: 2, Bound: 21, Inputs: []float64{8}}, &prior)
	}
	a.LearnKill(Kill{Run: 1, Bound: 20.8, Inputs: []float64{8}}, &prior)
	assert.Equal(t, want, a)
}

func TestGrantsAfterKillsWithoutInputsAreFinite(t *testing.T) {
	for _, bound := range []float64{-700, 0, 20, 700} {
		a := oneRow()
		for run := range uint64(maxKills) {
			a.LearnKill(Kill{Run: run, Bound: bound, Inputs: []float64{math.NaN()}, Levels: []float64{float64(run)}}, &prior)
		}
		var mix Mixture
		a.WithKills().Predict([]float64{6}, nil, 0, &prior, &mix)
		amount, risk := mix.Grant(1.2, 8, 1)
		assert.False(t, math.IsNaN(amount) || math.IsInf(amount, 0), "bound %v: amount %v", bound, amount)
		assert.True(t, risk >= 0 && risk <= 1)
	}
}

// A killed run without the second input changes the evidence of the line of this input as much as that of the constant.
func TestAKillChargesTheLineOfAnInputThatItLacks(t *testing.T) {
	a := new(Average)
	a.Learn([]float64{7}, nil, 0, 20, nil)
	a.LearnKill(Kill{Run: 1, Bound: 22, Inputs: []float64{7}}, &prior)
	var mix Mixture
	a.Predict([]float64{7, 5}, nil, 0, &prior, &mix)
	a.Learn([]float64{7, 5}, nil, 0, 20, &mix)
	a.ImputeKills(&prior)
	charged := a.Imputed.Constant - a.Constant
	assert.Less(t, charged, -1.0)
	assert.InDelta(t, charged, a.Imputed.Lines[1].LogEvidence-a.Lines[1].LogEvidence, 1e-9)
}
