package binning_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/binning"
)

func TestStrideReturnsTheCheapestMultiples(t *testing.T) {
	h := binning.History{Peaks: []float64{9, 9, 9, 9, 28, 30, 340}}
	for claim, c := range map[string]struct {
		bins        int
		top, stride float64
		want        []float64
	}{
		"one bin is the top":                        {1, 350, 10, []float64{350}},
		"an edge is just above a cluster":           {2, 350, 10, []float64{30, 350}},
		"a third bin separates the four peaks of 9": {3, 350, 10, []float64{10, 30, 350}},
		"a longer stride wastes more":               {3, 350, 50, []float64{50, 100, 350}}, // 100 is the lowest edge of equal cost
		"the top need not be a multiple":            {3, 33, 10, []float64{10, 30, 33}},
		"a top at a multiple is one edge":           {4, 30, 10, []float64{10, 20, 30}},
		"too few multiples are all edges":           {9, 30, 10, []float64{10, 20, 30}},
		"a stride above the top gives no edge":      {3, 30, 40, []float64{30}},
		"one bin needs no multiples":                {1, 1e300, 1, []float64{1e300}},
		"rounding up top/stride adds no edge":       {40, 2.1, 0.7, []float64{0.7, 1.4, 2.1}},
	} {
		t.Run(claim, func(t *testing.T) {
			got, err := h.Stride(c.bins, c.top, c.stride)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestSearchFindsEdgesThatCostNoMoreThanThoseOfStride(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	for trial := range 200 {
		h := random(rng, 1+rng.IntN(40))
		for i := range h.Peaks { // Search has no candidate edge for a peak of 0
			h.Peaks[i]++
		}
		bins, top := 1+rng.IntN(4), 1+math.Floor(rng.Float64()*60)
		stride := []float64{0.5, 1, 2.5, 5, 10}[rng.IntN(5)] // exact in binary, unlike 0.7
		strided, err := h.Stride(bins, top, stride)
		require.NoError(t, err)
		require.NoError(t, binning.Check(strided))
		require.Equal(t, top, strided[len(strided)-1])

		onGrid, err := h.Search(bins, top, stride)
		require.NoError(t, err)
		require.InEpsilon(t, h.Cost(onGrid), h.Cost(strided), 1e-12, "trial %d: Search found %v and Stride %v at another cost", trial, onGrid, strided)
		exact, err := h.Search(bins, top, 0)
		require.NoError(t, err)
		require.LessOrEqual(t, h.Cost(exact), h.Cost(strided)*(1+1e-12), "trial %d", trial)
	}
}

func TestStrideGivesAllMultiplesUpToATopThatIsAMultiple(t *testing.T) {
	h := binning.History{Peaks: []float64{1}, Weights: []float64{3}}
	for tenths := 1.0; tenths < 60; tenths++ {
		for n := 1.0; n < 60; n++ {
			edges, err := h.Stride(100, n*tenths/10, tenths/10)
			require.NoError(t, err)
			require.NoError(t, binning.Check(edges), "top %v, stride %v", n*tenths/10, tenths/10)
			require.Len(t, edges, int(n), "top %v, stride %v", n*tenths/10, tenths/10)
		}
	}
}

func TestStrideRejectsTooManyChoicesAndInvalidArguments(t *testing.T) {
	h := binning.History{Peaks: []float64{5}}
	_, err := h.Stride(4, 350, 1) // 349·348·347/6
	require.ErrorIs(t, err, binning.ErrEdges)
	assert.ErrorContains(t, err, "7.02e+06 choices of 3 edges")
	_, err = h.Stride(200, 350, 1)
	assert.ErrorIs(t, err, binning.ErrEdges)

	for claim, bad := range map[string][3]float64{
		"no bins": {0, 1, 1}, "no top": {1, 0, 1}, "an infinite top": {1, math.Inf(1), 1},
		"no stride": {1, 1, 0}, "a stride of NaN": {1, 1, math.NaN()},
	} {
		_, err := h.Stride(int(bad[0]), bad[1], bad[2])
		assert.ErrorIs(t, err, binning.ErrEdges, claim)
	}
	_, err = binning.History{}.Stride(1, 1, 1)
	assert.ErrorIs(t, err, binning.ErrHistory)
}

func BenchmarkStride34Multiples35kRows(b *testing.B) {
	h := random(rand.New(rand.NewPCG(3, 0)), 35000)
	for b.Loop() {
		if _, err := h.Stride(4, 350, 10); err != nil {
			b.Fatal(err)
		}
	}
}
