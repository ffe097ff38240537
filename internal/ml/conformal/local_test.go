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

func TestNearTakesTheNearestLevels(t *testing.T) {
	// The residuals equal the levels, so that a window shows which rows it contains.
	levels := []float64{10, 1, 3, 2, 40, 20}
	r, err := conformal.NewResiduals(levels, levels, nil)
	require.NoError(t, err)
	assert.Equal(t, 6, r.Len())
	for claim, c := range map[string]struct {
		level   float64
		k       int
		largest float64
		weight  float64
	}{
		"below all":           {-5, 2, 2, 2},
		"above all":           {99, 2, 40, 2},
		"between":             {9, 2, 10, 2}, // 10 and 3
		"more than there are": {9, 99, 40, 6},
	} {
		w := r.Near(c.level, c.k)
		assert.Equal(t, c.weight, w.Weight(), claim)
		assert.Equal(t, c.largest, w.Quantile(c.weight/(c.weight+1)), claim)
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
		w := r.Near(at, k)
		require.Equal(t, float64(k), w.Weight())
		// The window contains all k rows within the k-th distance, and no others.
		require.InDelta(t, (float64(k)+.5)/float64(k+1), w.Below(at+farthest+1e-9), 1e-12)
		require.InDelta(t, .5/float64(k+1), w.Below(at-farthest-1e-9), 1e-12)
	}
}

func TestBelowCountsTheNewRowHalfOnEitherSide(t *testing.T) {
	r, err := conformal.NewResiduals([]float64{0, 0, 0}, []float64{-1, 0, 2}, []float64{1, 1, 2})
	require.NoError(t, err)
	w := r.Near(0, 3)
	for v, want := range map[float64]float64{-2: .5 / 5, -1: 1.5 / 5, 1: 2.5 / 5, 2: 4.5 / 5} {
		assert.InDelta(t, want, w.Below(v), 1e-12, "v = %v", v)
	}
	assert.InDelta(t, .5, conformal.Window{}.Below(3), 1e-12, "an empty window gives ½")
}

func TestLocalMarginsCoverIfErrorsGrowWithTheLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	const n = 4000
	levels, residuals := make([]float64, n), make([]float64, n)
	draw := func() (level, residual float64) {
		level = 10 * rng.Float64()
		return level, level * rng.NormFloat64()
	}
	for i := range levels {
		levels[i], residuals[i] = draw()
	}
	r, err := conformal.NewResiduals(levels, residuals, nil)
	require.NoError(t, err)
	misses := [2]int{}
	rows := [2]int{}
	global := conformal.Quantile(residuals, nil, 0.95)
	globalHigh := 0
	for range 6000 {
		level, residual := draw()
		half := 0
		if level > 5 {
			half = 1
			if residual > global {
				globalHigh++
			}
		}
		rows[half]++
		if residual > r.Near(level, 199).Quantile(0.95) {
			misses[half]++
		}
	}
	for half := range rows {
		assert.InDelta(t, 0.05, float64(misses[half])/float64(rows[half]), 0.012, "half %d", half)
	}
	assert.Greater(t, float64(globalHigh)/float64(rows[1]), 0.08, "a global margin misses at high levels")
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
	levels := conformal.Recency(500, 100)
	r, err := conformal.NewResiduals(levels, levels, nil)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		w := r.Near(0.5, 200)
		w.Below(0.1)
		w.Quantile(0.95)
	}))
}
