package conformal_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

func shares(w conformal.Window, edges ...float64) []float64 {
	p := make([]float64, len(edges))
	w.Shares(0, edges, p)
	return p
}

func TestNearTakesTheNearestLevels(t *testing.T) {
	// The residuals equal the levels, so that a window shows which rows it contains.
	levels := []float64{10, 1, 3, 2, 40, 20}
	r, err := conformal.NewResiduals(levels, levels, nil)
	require.NoError(t, err)
	for claim, c := range map[string]struct {
		level float64
		k     int
		rows  []float64 // for each of the levels 1, 2, 3, 10, 20 and 40: 1 if it is in the window, else 0
	}{
		"a level below all rows":    {-5, 2, []float64{1, 1, 0, 0, 0, 0}},
		"a level above all rows":    {99, 2, []float64{0, 0, 0, 0, 1, 1}},
		"a level between two rows":  {9, 2, []float64{0, 0, 1, 1, 0, 0}},
		"a window of too many rows": {9, 99, []float64{1, 1, 1, 1, 1, 1}},
	} {
		p, rows := shares(r.Near(c.level, c.k), 0, 1, 2, 3, 10, 20, 40, 50), 0.0
		for _, n := range c.rows {
			rows += n
		}
		for i, n := range c.rows {
			assert.InDelta(t, n/(rows+1), p[i+1], 1e-12, claim)
		}
	}
}

func TestNearAgreesWithSortingByDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 300 {
		n := 1 + rng.IntN(30)
		levels := make([]float64, n)
		for i := range levels {
			levels[i] = math.Floor(20 * rng.Float64())
		}
		r, err := conformal.NewResiduals(levels, levels, nil)
		require.NoError(t, err)
		at, k := 25*rng.Float64()-2.5, 1+rng.IntN(n)
		byDistance := slices.Clone(levels)
		slices.SortFunc(byDistance, func(a, b float64) int { return int(math.Copysign(1, math.Abs(a-at)-math.Abs(b-at))) })
		farthest := math.Abs(byDistance[k-1] - at)
		p := shares(r.Near(at, k), at-farthest-1e-9, at+farthest+1e-9, 99)
		// The window contains k rows, none of them beyond the k-th distance.
		require.InDeltaSlice(t, []float64{.5 / float64(k+1), float64(k) / float64(k+1), .5 / float64(k+1)}, p, 1e-12)
	}
}

func TestSharesCountHalfThePredictedRowInEachOuterBin(t *testing.T) {
	r, err := conformal.NewResiduals([]float64{0, 0, 0}, []float64{-1, 0, 2}, []float64{1, 1, 2})
	require.NoError(t, err)
	w := r.Near(0, 3)
	assert.InDeltaSlice(t, []float64{.5 / 5, 1. / 5, 1. / 5, 2.5 / 5}, shares(w, -2, -1, 1, 2), 1e-12)
	assert.InDeltaSlice(t, []float64{1.5 / 5, 3.5 / 5}, shares(w, -1, 1), 1e-12, "values above the last edge count in the last bin")
	assert.InDelta(t, 1, shares(w, 0)[0], 1e-12, "a single bin has the share 1")
	assert.Equal(t, []float64{.5, 0, .5}, shares(conformal.Window{}, 1, 2, 3), "an empty window has half of the predicted row in each outer bin")
}

func TestLocalSharesFollowErrorsThatGrowWithTheLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	const n = 4000
	levels, residuals := make([]float64, n), make([]float64, n)
	for i := range levels {
		levels[i] = 10 * rng.Float64()
		residuals[i] = levels[i] * rng.NormFloat64()
	}
	r, err := conformal.NewResiduals(levels, residuals, nil)
	require.NoError(t, err)
	for _, level := range []float64{2, 5, 8} {
		p := shares(r.Near(level, 400), -level, level, 99)
		assert.InDelta(t, .683, p[1], .08, "P(|error| < 1 standard deviation) at level %v", level)
	}
}

func TestNewResidualsRejectsInvalidRows(t *testing.T) {
	nan := math.NaN()
	for claim, c := range map[string][3][]float64{
		"more residuals than levels": {{1}, {1, 2}, nil},
		"more weights than levels":   {{1}, {1}, {1, 1}},
		"a missing level":            {{nan}, {1}, nil},
		"a missing residual":         {{1}, {nan}, nil},
		"an infinite residual":       {{1}, {math.Inf(1)}, nil},
		"a zero weight":              {{1}, {1}, {0}},
	} {
		_, err := conformal.NewResiduals(c[0], c[1], c[2])
		assert.ErrorIs(t, err, conformal.ErrShape, claim)
	}
}

func TestWindowsDoNotAllocate(t *testing.T) {
	levels := make([]float64, 500)
	for i := range levels {
		levels[i] = float64(i) / 500
	}
	r, err := conformal.NewResiduals(levels, levels, nil)
	require.NoError(t, err)
	edges, p := []float64{.5, 1}, make([]float64, 2)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		r.Near(0.5, 200).Shares(0.1, edges, p)
	}))
}
