package phase

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGraphByHand(t *testing.T) {
	runs := [][]Visit{
		Visits([]int{0, 0, 1, 1, 1, 2}),
		Visits([]int{0, 1, 2, 2}),
		Visits([]int{0, 0, 0, 2}),
		Visits([]int{1}),
	}
	g := NewGraph(runs, 3)
	assert.Equal(t, []float64{.75, .25, 0}, g.Starts)
	assert.InDeltaSlice(t, []float64{0, 2. / 3, 1. / 3, 0}, g.Next[0], 1e-12)
	assert.InDeltaSlice(t, []float64{0, 0, 2. / 3, 1. / 3}, g.Next[1], 1e-12)
	assert.Equal(t, []float64{0, 0, 0, 1}, g.Next[2])
	assert.Equal(t, []int{1, 2, 3}, g.Dwell[0])
	assert.Equal(t, 2, g.DwellQuantile(0, .5))
	require.Len(t, g.Prototypes, 3)
	assert.Equal(t, Prototype{[]int{0, 1, 2}, 2, .5}, *g.Prototypes[0])
	assert.InDelta(t, .75, g.Coverage(2), 1e-12)
	assert.InDelta(t, 1, g.Coverage(9), 1e-12)
	require.Len(t, g.Tree.Children, 2)
	assert.Equal(t, 3, g.Tree.Children[0].Runs)
	assert.Equal(t, 4, g.Tree.Runs)
}

func TestResampleByHand(t *testing.T) {
	series := Resample([]Sample{{0, []float64{1, 9}}, {1, []float64{3, 2}}, {4, []float64{2, 2}}, {9, []float64{7, 1}}}, 2)
	assert.Equal(t, Series{{3, 9}, {3, 2}, {2, 2}, {2, 2}, {7, 1}}, series, "a step holds the largest values, and a gap repeats the newest sample")
	assert.Nil(t, Resample(nil, 2))
	assert.Nil(t, Resample([]Sample{{0, []float64{1}}}, math.NaN()))
}

func TestSmoothRemovesShortVisits(t *testing.T) {
	for _, c := range []struct{ labels, want []int }{
		{[]int{0, 0, 0, 1, 0, 0, 0}, []int{0, 0, 0, 0, 0, 0, 0}},
		{[]int{2, 0, 0, 0, 1, 1, 1}, []int{0, 0, 0, 0, 1, 1, 1}},
		{[]int{1, 1}, []int{1, 1}},
		{[]int{0, 0, 0, 1, 2}, []int{0, 0, 0, 0, 0}},
	} {
		smooth(c.labels, 3)
		assert.Equal(t, c.want, c.labels)
	}
}

func TestAConstantSeriesIsOnePhase(t *testing.T) {
	flat := make(Series, 50)
	for i := range flat {
		flat[i] = []float64{3, 1}
	}
	m, err := Discover([]Series{flat, flat[:2]}, Config{Training: Training{Epochs: 5}})
	require.NoError(t, err)
	assert.Len(t, m.Phases, 1)
	assert.Equal(t, []int{0, 0}, m.Label(flat[:2]))
	assert.Empty(t, m.Label(nil))
	_, err = Discover(nil, Config{})
	require.ErrorIs(t, err, ErrShape)
}
