package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All runs of the training have product_count. Then one run lacks it. The test searches for the runs that are nearest to the
// features of this run.
func TestNearestFindsAnIdenticalRunThatLacksAFeature(t *testing.T) {
	k, rng := trainedTask(t, salesForecast, 93, 60)
	f, gibs := salesForecast(rng)
	f = without(f, "product_count")
	k.reportSuccess(f, gibs)
	identical := k.history.LastSeq
	found := k.model.Nearest(f, &k.history, 3)
	require.Len(t, found, 3)
	assert.Equal(t, identical, found[0].Row.Seq)
	assert.Zero(t, found[0].Distance)
}
