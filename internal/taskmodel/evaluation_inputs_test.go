package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// The classifiers must predict the same without the columns that order the rows as an earlier column does.
func TestClassifiersIgnoreColumnsOfEqualOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	draw := func() []float64 {
		size, count, flag, gap := math.Exp(4*rng.NormFloat64()), float64(rng.IntN(40)), float64(rng.IntN(2)), math.NaN()
		if rng.IntN(4) > 0 {
			gap = rng.NormFloat64()
		}
		return []float64{size, math.Log1p(size), flag, count, gap, size, flag, math.Log1p(count), 2 * gap, rng.NormFloat64()}
	}
	var x [][]float64
	var y []float64
	for range 300 {
		row := draw()
		x, y = append(x, row), append(y, row[1]+row[2]+row[3]/20+0.3*rng.NormFloat64())
	}
	keep := distinctColumns(x, 10)
	require.Equal(t, []int{0, 2, 3, 4, 9}, keep)
	all, few := &table.Table{Names: make([]string, 10), Y: y}, &table.Table{Names: make([]string, len(keep)), Y: y}
	for _, row := range x {
		all.X = append(all.X, row...)
		for _, j := range keep {
			few.X = append(few.X, row[j])
		}
	}
	edges := []float64{1, 2.5, 4, 99}
	for _, family := range families {
		whole, err := family.FitLevels(all, edges, 7)
		require.NoError(t, err)
		reduced, err := family.FitLevels(few, edges, 7)
		require.NoError(t, err)
		for range 500 {
			row, p, q := draw(), make([]float64, len(edges)), make([]float64, len(edges))
			whole.Probabilities(row, p)
			reduced.Probabilities(gather(row, 0, keep), q)
			require.Equal(t, p, q, family.Name())
		}
	}
}

func TestColumnsWithoutExactRanksRemain(t *testing.T) {
	next := math.Nextafter(1, 2)
	assert.Equal(t, []int{0, 1}, distinctColumns([][]float64{{1, 1}, {next, next}}, 2), "both columns must remain, because the middle between the two values rounds to one of them")
	assert.Equal(t, []int{0, 1}, distinctColumns([][]float64{{1, 1}, {1e300, 1e300}}, 2), "both columns must remain, because CART clips 1e300, which is above maxRanked")
	assert.Equal(t, []int{0, 2}, distinctColumns([][]float64{{1, 1, math.NaN()}, {2, 2, 2}, {3, 3, 3}, {3, 3, 2}}, 3))
}
