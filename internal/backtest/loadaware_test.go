package backtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demoTrace reads the history of the demo.
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
