package gbt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Rows without weights need no sums of h, so the code for them differs from that for weighted rows. Weights of 2 with a doubled
// penalty double every sum, and doubling is exact. So both must find the same trees, bit for bit.
func TestTreesOfCountedRowsEqualThoseOfWeightedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	rows := &table.Table{Names: make([]string, 11)}
	for range 500 {
		y := rng.NormFloat64()
		for j := range rows.Names {
			v := rng.NormFloat64()
			switch {
			case j < 5:
				v = float64(rng.IntN(2)) // an odd number of columns with two values
			case j == 5 && rng.IntN(3) == 0:
				v = math.NaN()
			case j == 6:
				if v = float64(rng.IntN(2)); rng.IntN(4) == 0 {
					v = math.NaN()
				}
			}
			if !math.IsNaN(v) {
				y += v * float64(j%4)
			}
			rows.X = append(rows.X, v)
		}
		rows.Y, rows.W = append(rows.Y, y), append(rows.W, 2)
	}
	data, err := NewBinned(rows, 0)
	require.NoError(t, err)
	for _, share := range []float64{1, 0.6} {
		counted, err := Sample{Binned: data, Y: rows.Y}.Regression(Config{ColSample: share, Lambda: 1})
		require.NoError(t, err)
		weighted, err := Sample{Binned: data, Y: rows.Y, W: rows.W}.Regression(Config{ColSample: share, Lambda: 2})
		require.NoError(t, err)
		assert.Equal(t, weighted.nodes, counted.nodes)
	}
}
