package cart_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"
	"github.com/sjwhitworth/golearn/trees"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/ml/table"
)

func TestLeafFrequenciesAreShrunkToThePrior(t *testing.T) {
	// The rows with x < 3 are in bin 0. Of the three rows with x > 3, two are in bin 1. So one split is useful.
	rows := &table.Table{Names: []string{"x"}, X: []float64{1, 2, 4, 4, 4}, Y: []float64{0, 0, 1, 1, 0}}
	c, err := cart.Fit(rows, 2, cart.Config{}, 1)
	require.NoError(t, err)
	p := make([]float64, 2)
	c.Probabilities([]float64{0}, p)
	assert.InDeltaSlice(t, []float64{2.6 / 3, .4 / 3}, p, 1e-12, "frequencies of two rows of bin 0 and one row of the prior, .6 and .4")
	c.Probabilities([]float64{9}, p)
	assert.InDeltaSlice(t, []float64{1.6 / 4, 2.4 / 4}, p, 1e-12, "frequencies of three rows and one row of the prior")
	c.Probabilities([]float64{math.NaN()}, p)
	assert.InDelta(t, 2.6/3, p[0], 1e-12, "a missing value is in the leaf of the lowest numbers")
}

func TestFlatTreePredictsLikeTheLibrary(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	rows := &table.Table{Names: []string{"a", "b"}}
	grid := base.NewDenseInstances()
	specs := make([]base.AttributeSpec, 3)
	for j, name := range []string{"a", "b", "class"} {
		specs[j] = grid.AddAttribute(base.NewFloatAttribute(name))
	}
	require.NoError(t, grid.AddClassAttribute(specs[2].GetAttribute()))
	const n = 300
	require.NoError(t, grid.Extend(n))
	for i := range n {
		a, b := rng.Float64(), rng.Float64()
		bin := math.Floor(3 * a * b * 0.999)
		if b > 0.7 && a < 0.4 {
			bin = 2
		}
		rows.X, rows.Y = append(rows.X, a, b), append(rows.Y, bin)
		for j, v := range []float64{a, b, bin} {
			grid.Set(specs[j], i, base.PackFloatToBytes(v))
		}
	}
	library := trees.NewDecisionTreeClassifier(trees.GINI, 3, []int64{0, 1, 2})
	require.NoError(t, library.Fit(grid))
	c, err := cart.Fit(rows, 3, cart.Config{MaxDepth: 3}, 1)
	require.NoError(t, err)
	p, equal := make([]float64, 3), 0
	for i, want := range library.Predict(grid) {
		c.Probabilities(rows.Row(i), p)
		if score.Decide(p, 1) == int(want) { // the most probable bin at penalty 1
			equal++
		}
	}
	// If two bins are equally frequent in a leaf, the prior may prefer one of them and the library the other.
	assert.GreaterOrEqual(t, equal, n-3)
}

func TestALargeTableIsSampled(t *testing.T) {
	rng, rows := rand.New(rand.NewPCG(2, 0)), &table.Table{Names: []string{"x"}}
	for range 5000 {
		x := rng.Float64()
		rows.X, rows.Y = append(rows.X, x), append(rows.Y, math.Round(x))
	}
	p := make([]float64, 2)
	first := make([]float64, 0, 2)
	for seed := range uint64(2) {
		c, err := cart.Fit(rows, 2, cart.Config{MaxRows: 50, MaxDepth: 1}, seed)
		require.NoError(t, err)
		c.Probabilities([]float64{0.1}, p)
		first = append(first, p[0])
		assert.Greater(t, p[0], 0.9)
	}
	assert.NotEqual(t, first[0], first[1], "another seed draws other rows and finds another cut")
}

func TestFitRejectsInvalidTargets(t *testing.T) {
	for claim, y := range map[string][]float64{"no targets": {}, "a target below the first bin": {-1}, "a target above the last bin": {2}, "a target between two bins": {.5}} {
		_, err := cart.Fit(&table.Table{Y: y}, 2, cart.Config{}, 1)
		assert.ErrorIs(t, err, table.ErrShape, claim)
	}
}

func TestExtremeValuesDoNotPanic(t *testing.T) {
	aboveOne := math.Nextafter(1, 2)
	for claim, x := range map[string][]float64{
		"huge values":     {-math.MaxFloat64, math.MaxFloat64, 1, 2},
		"infinite values": {math.Inf(-1), math.Inf(1), 1, 2},
		"adjacent floats": {1, aboveOne, 1, aboveOne},
		"missing values":  {math.NaN(), math.NaN(), math.NaN(), math.NaN()},
	} {
		_, err := cart.Fit(&table.Table{Names: []string{"x"}, X: x, Y: []float64{0, 1, 0, 1}}, 2, cart.Config{}, 1)
		if err != nil {
			assert.ErrorIs(t, err, cart.ErrLibrary, claim)
		}
	}
}

func TestGolearnsConfusionMatrixMatchesScore(t *testing.T) {
	actual, predicted := []int{0, 0, 1, 2, 2, 0, 1}, []int{0, 1, 1, 2, 0, 0, 2}
	theirs, err := cart.Evaluation(actual, predicted)
	require.NoError(t, err)
	ours, err := score.Count(actual, predicted, 3)
	require.NoError(t, err)
	for a, row := range ours {
		for p, n := range row {
			assert.Equal(t, n, theirs[string(rune('0'+a))][string(rune('0'+p))], "actual %d, predicted %d", a, p)
		}
	}
	assert.InDelta(t, evaluation.GetAccuracy(theirs), ours.Accuracy(), 1e-12)
	assert.True(t, strings.Contains(evaluation.GetSummary(theirs), "Overall accuracy"))

	_, err = cart.Evaluation([]int{1}, nil)
	assert.ErrorIs(t, err, table.ErrShape)
	none, err := cart.Evaluation(nil, nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func BenchmarkFit1000x30(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 0))
	rows := &table.Table{Names: make([]string, 30)}
	for range 1000 {
		sum := 0.0
		for j := range 30 {
			v := rng.Float64()
			if j < 3 {
				sum += v
			}
			rows.X = append(rows.X, v)
		}
		rows.Y = append(rows.Y, math.Floor(sum))
	}
	for b.Loop() {
		if _, err := cart.Fit(rows, 3, cart.Config{}, 1); err != nil {
			b.Fatal(err)
		}
	}
}
