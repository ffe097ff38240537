package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The residuals in a task's contribution to the pool of its DAG are those of the cold-start rule. The fitted models have larger
// errors in the first rows. Such errors in the pool would make the margins of new tasks too large.
func TestThePoolGetsTheResidualsOfTheColdStartRule(t *testing.T) {
	k, rng := newTask(t), newRand(3)
	for range 15 {
		size := math.Exp(4 * rng.Float64())
		k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(1000 * size)}, 0.5*math.Pow(size, 0.7)*noise(rng, 0.03))
	}
	share := k.model.Pool()
	typical := math.Exp(share.LogSquares / share.Residuals / 2)
	assert.Less(t, typical, 0.06, "the typical residual must be near the noise of the peaks, 0.03")
}

// A new task assumes that its peak grows with an input as in the DAG's other tasks that have an input of this name.
func TestANewTaskExpectsTheSlopeOfOtherTasks(t *testing.T) {
	rows := func(v float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(v)} }
	shareOf := func(name string) taskmodel.Pool {
		k, rng := newTask(t), newRand(5)
		for range 40 {
			size := math.Exp(4 * rng.Float64())
			k.reportSuccess(sizing.Features{name: sizing.NumberValue(1000 * size)}, 0.5*math.Pow(size, 0.1)*noise(rng, 0.03))
		}
		return k.model.Pool()
	}
	newest := newTask(t)
	for _, size := range []float64{1000, 1100} {
		newest.reportSuccess(rows(size), 0.5)
	}
	grantWith := func(share taskmodel.Pool) sizing.Bytes {
		share.LogSquares, share.Residuals = 0, 0 // both pools lead to the same margins
		sum := newest.model.Pool()
		for range 10 {
			sum.Add(&share)
		}
		newest.model.SetPool(&sum, nil)
		return newest.model.Size(taskmodel.Question{Features: rows(2500), RiskTarget: sizing.DefaultRiskTarget, Lifts: 3}).Limit
	}
	flat, other := grantWith(shareOf("rows")), grantWith(shareOf("files"))
	assert.Less(t, float64(flat), 0.9*float64(other), "the grant must be smaller in a DAG whose peaks hardly grow with the rows than in a DAG without this input")
}

// Three runs are killed and have not been retried yet. Their kills show that the peak grows with the input. The only
// measured run had a small input.
func TestKillsRaiseTheGrantsOfOtherRunsBeforeAnyRetryEnds(t *testing.T) {
	rows := func(v float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(v)} }
	k := newTask(t)
	k.reportSuccess(rows(1000), 1)
	grant := func(m *taskmodel.Model) sizing.Bytes { return m.Size(question(rows(20_000))).Limit }
	before := grant(k.model)
	for i, v := range []float64{4000, 5000, 7000} {
		k.report(rows(v), killedRun(fmt.Sprint("run", i), 2.5))
	}
	for name, m := range k.variants() {
		assert.Greater(t, grant(m), max(4*gib, before), name)
	}
	for i := range 3 {
		k.model.Void(sizing.RunHash(fmt.Sprint("run", i), sizing.NoMap), 1)
	}
	assert.Equal(t, before, grant(k.model), "voided kills must have no effect")
}

// The prediction for a lift already takes account of the kill of the retried run. This kill must not count twice.
func TestTheKillOfARunDoesNotRaiseItsOwnLadder(t *testing.T) {
	rows := func(v float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(v)} }
	k := newTask(t)
	for _, v := range []float64{1000, 1500, 900} {
		k.reportSuccess(rows(v), v/1000)
	}
	lift := question(rows(5000))
	lift.Above, lift.Lifts = 2*gib, 3
	before := k.model.Size(lift).Ladder
	k.report(rows(5000), killedRun("run", 2))
	assert.Equal(t, before, k.model.Size(lift).Ladder)
}

func TestAnInputBelowAllKnownOnesGetsNoTinyGrant(t *testing.T) {
	n := func(v float64) sizing.Features { return sizing.Features{"n": sizing.NumberValue(v)} }
	k, rng := newTask(t), newRand(7)
	for range 30 {
		v := 100 + 200*rng.Float64()
		k.reportSuccess(n(v), v/100*noise(rng, 0.05))
	}
	for _, v := range []float64{0, 1, 20} {
		answer := k.model.Size(question(n(v)))
		assert.Greater(t, answer.Limit, gib/2, "n = %v", v)
		assert.Less(t, answer.Limit, 2*gib, "n = %v", v)
	}
}

// The cold-start rule also learns runs after the cold start, when it no longer answers, because it may answer again.
func TestColdStartRuleLearnsAfterTheColdStart(t *testing.T) {
	k, rng := trainedTask(t, step, 6, 100)
	for k.model.Experts.NeedsColdStart() {
		require.Less(t, len(k.history.Rows), 1000)
		k.reportSuccess(step(rng))
		k.train()
	}
	before := k.model.ColdStart.Models[0].Rows
	k.reportSuccess(step(rng))
	assert.InDelta(t, before+1, k.model.ColdStart.Models[0].Rows, 1e-9)
}
