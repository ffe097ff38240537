package linear_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// The Python package shap computed the expected contributions, for coefficients that numpy fitted to the same rows.
func TestContributionsMatchShap(t *testing.T) {
	var o struct {
		Background, X, Phi [][]float64
		Y                  []float64
		Expected           float64
	}
	data, err := os.ReadFile("../../../testdata/oracle/explain/linear.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &o))
	cols := len(o.X[0])
	r, err := linear.Fit(&table.Table{Names: named(cols), X: slices.Concat(o.Background...), Y: o.Y}, linear.Config{})
	require.NoError(t, err)
	ownPlayers := make([]int, cols) // every column is its own player
	for j := range ownPlayers {
		ownPlayers[j] = j
	}
	for i, x := range o.X {
		phi := make([]float64, cols)
		expected := r.Explain(x, ownPlayers, phi)
		require.InEpsilon(t, o.Expected, expected, 1e-9)
		sum := expected
		for j := range phi {
			require.InDelta(t, o.Phi[i][j], phi[j], 1e-9*max(1e-3, math.Abs(phi[j])))
			sum += phi[j]
		}
		require.InDelta(t, r.Predict(x), sum, 1e-9)
	}
	pair := make([]float64, 2)
	r.Explain(o.X[0], []int{0, 0, 1, -1, -1, -1, -1, -1, -1, -1}, pair)
	require.InDelta(t, o.Phi[0][0]+o.Phi[0][1], pair[0], 1e-9)
	require.InDelta(t, o.Phi[0][2], pair[1], 1e-9)
}
