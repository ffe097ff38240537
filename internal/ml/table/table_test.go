package table_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

func small() *table.Table {
	return &table.Table{Names: []string{"a", "b"}, X: []float64{1, 2, 3, math.NaN(), 5, 6}, Y: []float64{10, 20, 30}}
}

func TestSelectCopiesRowsInTheGivenOrder(t *testing.T) {
	whole := small()
	whole.W = []float64{1, 2, 3}
	got := whole.Select([]int{2, 0, 2})
	require.NoError(t, got.Check())
	assert.Equal(t, []float64{5, 6, 1, 2, 5, 6}, got.X)
	assert.Equal(t, []float64{30, 10, 30}, got.Y)
	assert.Equal(t, []float64{3, 1, 3}, got.W)
	got.X[0] = 99
	assert.Equal(t, 5.0, whole.Row(2)[0], "the copy has its own values")
}

func TestAMissingWeightIsOne(t *testing.T) {
	assert.Equal(t, 1.0, small().Weight(1))
}

func TestAppendToARowDoesNotOverwriteTheNext(t *testing.T) {
	whole := small()
	_ = append(whole.Row(0), 99)
	assert.Equal(t, 3.0, whole.X[2])
}

func TestCheckRejectsInvalidTables(t *testing.T) {
	require.NoError(t, small().Check(), "a missing value in X is legal")
	for claim, change := range map[string]func(*table.Table){
		"one value too few":          func(t *table.Table) { t.X = t.X[1:] },
		"one weight too few":         func(t *table.Table) { t.W = []float64{1, 1} },
		"one group number too many":  func(t *table.Table) { t.Group = []int{0, 0, 1} },
		"a target of NaN":            func(t *table.Table) { t.Y[1] = math.NaN() },
		"an infinite target":         func(t *table.Table) { t.Y[1] = math.Inf(-1) },
		"a weight of zero":           func(t *table.Table) { t.W = []float64{1, 0, 1} },
		"a weight of NaN":            func(t *table.Table) { t.W = []float64{1, math.NaN(), 1} },
		"an infinite weight":         func(t *table.Table) { t.W = []float64{1, 1, math.Inf(1)} },
		"a column name without data": func(t *table.Table) { t.Names = append(t.Names, "c") },
	} {
		t.Run(claim, func(t *testing.T) {
			invalid := small()
			change(invalid)
			require.ErrorIs(t, invalid.Check(), table.ErrShape)
		})
	}
}
