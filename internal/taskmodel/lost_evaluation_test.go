package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A stored model has learned 40 runs with one feature, and 60 later runs have a second feature. The training refits the
// models several times while it learns the 60 runs. If the challenger loses its evaluation against the answers of these
// fits, Fit must return the last of them. Otherwise the model of the 40 runs would stay in use for hundreds of runs.
func TestLostEvaluationKeepsTheFitsMadeWhileLearning(t *testing.T) {
	t.Parallel()
	lost := 0
	for seed := range uint64(40) {
		k, rng := newTask(t), newRand(seed)
		report := func(n int, hasDays bool) {
			for range n {
				rows, days := math.Exp(math.Log(1000)+math.Log(50)*rng.Float64()), 1.0
				f := sizing.Features{"rows": sizing.NumberValue(rows)}
				if hasDays {
					days = float64(1 + rng.IntN(30))
					f["days"] = sizing.NumberValue(days)
				}
				k.row(f, measuredRun((0.4+rows*7.5e-5)*noise(rng, 0.05)*(1+0.05*(days-1))))
			}
		}
		report(40, false)
		k.train()
		fitted := k.model.Fitted
		report(60, true)
		m, outcome, err := taskmodel.Fit(&k.history, k.fork().model)
		require.NoError(t, err)
		if outcome.Evaluation.Passed || outcome.Evaluation.Rows == 0 {
			continue
		}
		lost++
		require.NotNil(t, m, "seed %d: %s", seed, outcome.Reason)
		assert.Greater(t, m.Fitted, fitted, outcome.Reason)
	}
	require.Positive(t, lost, "no challenger lost: the test shows nothing")
}
