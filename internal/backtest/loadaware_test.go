package backtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func demoTrace(t *testing.T) *Trace {
	file, err := os.Open(filepath.Join("..", "..", "testdata", "demo", "pricing.csv.gz"))
	require.NoError(t, err)
	defer file.Close()
	trace, err := Read("demo", file, Selection{})
	require.NoError(t, err)
	return trace
}

func TestDefaultPoliciesFinishEveryRow(t *testing.T) {
	trace := demoTrace(t)
	for _, delayed := range []bool{false, true} {
		report, err := Run(context.Background(), trace, Config{Delayed: delayed})
		require.NoError(t, err)
		require.Len(t, report.Results, len(DefaultPolicies()))
		for _, res := range report.Results {
			assert.Equal(t, report.Rows, res.Rows, res.Policy)
			assert.Zero(t, res.GaveUp, res.Policy)
			assert.Equal(t, res.Rows+res.Kills, res.Attempts, res.Policy)
			assert.InDelta(t, report.Results[0].UsedGBh, res.UsedGBh, 1e-6, "%s: the use does not depend on the policy", res.Policy)
		}
	}
}

// The report of a task changes the grant for the next task of the same run, and the run score of each try reaches the history.
func TestEarlierTasksOfARunChangeTheGrants(t *testing.T) {
	p := newLoadawarePolicy(Config{}.withDefaults())
	rng := rand.New(rand.NewPCG(1, 1))
	question := func(task string, run int) Question {
		try := sizing.TryKey{TaskKey: sizing.TaskKey{DAG: "d", Task: task}, RunID: fmt.Sprint(run), MapIndex: sizing.NoMap, Number: 1}
		return Question{Try: try, StartedAt: time.Unix(0, 0), Static: 64e9, Cap: 128e9}
	}
	learn := func(q Question, peak float64) {
		require.NoError(t, p.Learn(Outcome{Question: q, Allocated: 64e9, Peak: sizing.Bytes(peak), Duration: time.Minute}))
	}
	for run := range 24 {
		factor := math.Exp(0.3 * rng.NormFloat64())
		for _, task := range []string{"first", "second"} {
			q := question(task, run)
			p.Predict(q)
			learn(q, 2e9*factor*math.Exp(0.05*rng.NormFloat64()))
		}
	}
	before := p.Predict(question("second", 100)).Limit
	learn(question("first", 100), 5e9)
	assert.Greater(t, p.Predict(question("second", 100)).Limit, before+before/10)
	assert.InEpsilon(t, float64(before), float64(p.Predict(question("second", 101)).Limit), 0.01, "the report belongs to another run, and changes only the pool")

	learn(question("second", 100), 4e9)
	l := p.tasks[sizing.TaskKey{DAG: "d", Task: "second"}]
	newest := l.history.Rows[len(l.history.Rows)-1]
	assert.Equal(t, "100", newest.RunID)
	assert.Greater(t, newest.RunScore, 0.5)
	assert.Empty(t, l.scores, "ended tries are removed")
}

func TestLoadawareGivesPromisesAndIsReproducible(t *testing.T) {
	trace := demoTrace(t)
	cfg := Config{Policies: []string{Loadaware, Loadaware}}
	report, err := Run(context.Background(), trace, cfg)
	require.NoError(t, err)
	first, second := report.Results[0], report.Results[1]
	assert.Equal(t, first, second, "the same rows give the same figures")
	require.NotNil(t, first.Risk)
	assert.Greater(t, first.Risk.Rows, report.Rows/2)
	assert.Greater(t, first.Risk.PromisedSum, 0.)
}
