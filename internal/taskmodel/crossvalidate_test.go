package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// noisy draws runs whose peaks are log-normal with the deviation 0.5 around 2 GiB. Their inputs have no influence, but the
// trees fit the noise of training rows with them, so errors on training rows would be too small.
func noisy(rng *rand.Rand) (sizing.Features, float64) {
	f := sizing.Features{}
	for _, name := range []string{"a", "b", "c", "d"} {
		f[name] = sizing.NumberValue(rng.Float64())
	}
	return f, 2 * noise(rng, 0.5)
}

func TestCrossValidatedProbabilitiesAreCalibrated(t *testing.T) {
	d := newDataset(t, noisy, 1000)
	var train, holdout []int
	for i := range d.Len() {
		if i%10 < 7 {
			train = append(train, i)
		} else {
			holdout = append(holdout, i)
		}
	}
	served, err := d.Serve(train)
	require.NoError(t, err)
	s, err := served.CrossValidated()
	require.NoError(t, err)
	again, err := s.CrossValidated()
	require.NoError(t, err)
	assert.Same(t, s, again)
	assert.Nil(t, served.TrainingPredictions)
	assert.Len(t, s.TrainingPredictions, len(train))
	edges, p := []float64{1.5 * float64(gib), 3 * float64(gib), 64 * float64(gib)}, make([]float64, 3)
	for bin := range edges {
		expected, actual := 0.0, 0
		for _, i := range holdout {
			s.Probabilities(i, edges, p)
			expected += p[bin]
			if peak := d.Peak(i); peak <= edges[bin] && (bin == 0 || peak > edges[bin-1]) {
				actual++
			}
		}
		assert.InDelta(t, actual, expected, 3*math.Sqrt(expected), "the runs of bin %d must be as many as expected", bin)
	}
}

func TestCrossValidationLeavesTheServedModelAlone(t *testing.T) {
	d := newDataset(t, growing, 200)
	s, err := d.Serve(numbered(0, 150))
	require.NoError(t, err)
	before, err := s.Model.Blob()
	require.NoError(t, err)
	first, err := s.CrossValidated()
	require.NoError(t, err)
	second, err := s.CrossValidated()
	require.NoError(t, err)
	assert.Same(t, first, second, "the cross-validation must run once")
	after, err := s.Model.Blob()
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestFewRowsAreNotCrossValidated(t *testing.T) {
	s, err := newDataset(t, growing, 39).Serve(numbered(0, 39))
	require.NoError(t, err)
	same, err := s.CrossValidated()
	require.NoError(t, err)
	assert.Same(t, s, same)
}
