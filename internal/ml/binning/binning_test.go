package binning_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/binning"
)

func TestImprovementIsTheSavedShareOfTheStaticCost(t *testing.T) {
	h := binning.History{Peaks: []float64{5, 5, 50}}
	for claim, c := range map[string]struct {
		edges   []float64
		weights []float64
		static  float64
		want    float64
	}{
		"two small runs and a large one":             {[]float64{10, 100}, nil, 100, 1 - 120.0/300},
		"one bin at the static amount saves nothing": {[]float64{100}, nil, 100, 0},
		"one bin below it saves the difference":      {[]float64{50}, nil, 100, 0.5},
		"long runs weigh more":                       {[]float64{10, 100}, []float64{1, 1, 8}, 100, 1 - 820.0/1000},
		"a peak above the top costs the top":         {[]float64{10, 20}, nil, 20, 1 - 40.0/60},
		"a peak equal to an edge is in its bin":      {[]float64{5, 50}, nil, 50, 1 - 60.0/150},
	} {
		t.Run(claim, func(t *testing.T) {
			h.Weights = c.weights
			assert.InDelta(t, c.want, h.Improvement(c.edges, c.static), 1e-12)
		})
	}
}

func TestIndexIsTheFirstEdgeAtOrAboveThePeak(t *testing.T) {
	edges := []float64{10, 20, 350}
	for peak, want := range map[float64]int{0: 0, 10: 0, 10.5: 1, 20: 1, 21: 2, 350: 2, 400: 2} {
		assert.Equal(t, want, binning.Index(edges, peak), "peak %v", peak)
	}
}

func TestCheckRejectsInvalidEdges(t *testing.T) {
	assert.NoError(t, binning.Check([]float64{1, 2, 3}))
	for claim, edges := range map[string][]float64{
		"empty":    {},
		"zero":     {0, 1},
		"negative": {-1, 1},
		"equal":    {1, 1},
		"NaN":      {1, math.NaN()},
		"infinite": {1, math.Inf(1)},
	} {
		assert.ErrorIs(t, binning.Check(edges), binning.ErrEdges, claim)
	}
}

func TestTopAddsAMarginToTheMaximumAndRoundsUp(t *testing.T) {
	assert.InDelta(t, 12.0, binning.Top([]float64{3, 10, 7}, 0.2, 0), 1e-12)
	assert.InDelta(t, 15.0, binning.Top([]float64{3, 10, 7}, 0.2, 5), 1e-12)
}

func TestGeometricGridEndsAtTheTopAndCoversTheLowerBound(t *testing.T) {
	edges, err := binning.Geometric(1, 100, 1.1)
	require.NoError(t, err)
	require.NoError(t, binning.Check(edges))
	assert.Equal(t, 100.0, edges[len(edges)-1])
	assert.LessOrEqual(t, edges[0], 1.0)
	assert.Greater(t, edges[1], 1.0)
	assert.Len(t, edges, 50) // ⌈ln 100 / ln 1.1⌉ + 1 = 49 + 1

	one, err := binning.Geometric(7, 7, 2)
	require.NoError(t, err)
	assert.Equal(t, []float64{7}, one)
	for _, bad := range [][3]float64{{0, 1, 2}, {2, 1, 2}, {1, 2, 1}, {1, math.Inf(1), 2}, {math.NaN(), 2, 2}} {
		_, err := binning.Geometric(bad[0], bad[1], bad[2])
		assert.ErrorIs(t, err, binning.ErrEdges, "%v", bad)
	}
}
