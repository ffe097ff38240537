package experiment_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
)

func TestGroupsHaveOneSettingAndDifferencePairsTheirSeeds(t *testing.T) {
	groups := experiment.Groups(storedRun().Rows)
	require.Len(t, groups, 2)
	u := func(r *experiment.Row) float64 { return r.UScore }
	final, cart := &groups[0], &groups[1]
	require.Equal(t, experiment.Setting{Task: "d/predict", Bins: "{10;62.5;350}", Family: "final", Oversampling: "none", Split: "stratified"}, final.Setting)
	require.InDelta(t, 2.5, final.Mean(u), 1e-12)
	require.EqualValues(t, 1, final.Rows[0].Seed)

	// By seed, cart − final is 10 − 1.5 = 8.5 and 11 − 3.5 = 7.5: the mean is 8, and the standard error is 0.7071/√2.
	mean, standardError := experiment.Difference(final, cart, u)
	require.InDelta(t, 8, mean, 1e-12)
	require.InDelta(t, 0.5, standardError, 1e-12)

	cart.Rows[1].Seed = 3
	_, standardError = experiment.Difference(final, cart, u)
	require.True(t, math.IsNaN(standardError), "groups with different seeds have no standard error")
	cart.Rows = cart.Rows[:1]
	mean, standardError = experiment.Difference(final, cart, u)
	require.InDelta(t, 7.5, mean, 1e-12)
	require.True(t, math.IsNaN(standardError), "groups with different numbers of seeds have no standard error")
}
