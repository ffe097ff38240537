package resample_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/resample"
	"github.com/loadaware/loadaware/internal/ml/table"
)

func named(p int) []string {
	names := make([]string, p)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	return names
}

func TestBalancedClassesHaveEqualWeights(t *testing.T) {
	for claim, c := range map[string]struct{ y, w, want []float64 }{
		"both classes get the same total":     {[]float64{0, 0, 0, 0, 1}, nil, []float64{.625, .625, .625, .625, 2.5}}, // 5/(2·4), 5/(2·1)
		"an empty class has no weight":        {[]float64{2, 0, 0, 0, 0}, nil, []float64{2.5, .625, .625, .625, .625}},
		"one class does not change":           {[]float64{1, 1}, nil, []float64{1, 1}},
		"no rows, no weights":                 {nil, nil, []float64{}},
		"original weights scale the new ones": {[]float64{0, 0, 1}, []float64{1, 3, 2}, []float64{.75, 2.25, 3}}, // each class gets 3 of 6
	} {
		got, err := resample.Balanced(&table.Table{Y: c.y, W: c.w}, 3)
		require.NoError(t, err, claim)
		assert.InDeltaSlice(t, c.want, got, 1e-12, claim)
	}
}

func TestRandomDuplicatesRowsOfTheSmallerClasses(t *testing.T) {
	tab := &table.Table{Names: named(1), X: []float64{10, 20, 11, 12, 13, 21}, Y: []float64{0, 2, 0, 0, 0, 2}, W: []float64{1, 2, 3, 4, 5, 6}}
	got, err := resample.Random(tab, 4, 1)
	require.NoError(t, err)
	require.NoError(t, got.Check())
	assert.Equal(t, tab.X, got.X[:6], "the original rows come first")
	assert.Equal(t, []float64{0, 2, 0, 0, 0, 2, 2, 2}, got.Y, "classes 1 and 3 stay empty")
	for i := 6; i < 8; i++ {
		assert.Contains(t, [][2]float64{{20, 2}, {21, 6}}, [2]float64{got.X[i], got.W[i]}, "a duplicate has the value and the weight of its row")
	}
	seen := map[float64]bool{}
	for seed := range uint64(20) {
		got, err := resample.Random(tab, 4, seed)
		require.NoError(t, err)
		seen[got.X[6]] = true
	}
	assert.Len(t, seen, 2, "every row of the class can be drawn")
}

func TestTargetsMustBeClasses(t *testing.T) {
	for claim, y := range map[string]float64{"a fraction": 0.5, "too high": 3, "negative": -1, "outside the range of int": 1e300} {
		tab := &table.Table{Names: named(1), X: []float64{1, 2}, Y: []float64{0, y}}
		_, err := resample.Balanced(tab, 3)
		assert.ErrorIs(t, err, resample.ErrRows, claim)
		_, err = resample.Random(tab, 3, 0)
		assert.ErrorIs(t, err, resample.ErrRows, claim)
		_, err = resample.SMOTE(tab, nil, 3, 0, 0)
		assert.ErrorIs(t, err, resample.ErrRows, claim)
	}
	_, err := resample.Balanced(&table.Table{Y: []float64{0}}, -1)
	assert.ErrorIs(t, err, resample.ErrRows)
	_, err = resample.Balanced(&table.Table{Y: []float64{math.NaN()}}, 1)
	assert.ErrorIs(t, err, table.ErrShape)
}
