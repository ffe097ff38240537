package gbt

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// A decoded model has packed trees. It must give the same predictions, bit for bit, at values below,
// above and exactly at its cuts, for infinite and for missing values, and encode to the same bytes.
func TestPackedTreesPredictTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	const rows, cols = 600, 7
	d := &table.Table{Names: make([]string, cols)}
	for range rows {
		x := make([]float64, cols)
		for j := range x {
			switch x[j] = math.Round(rng.NormFloat64() * math.Pow(4, float64(j))); {
			case rng.IntN(6) == 0 && j%2 == 0:
				x[j] = math.NaN()
			case j == 5: // missing or 3: the only possible split has the cut +Inf
				x[j] = []float64{math.NaN(), 3}[rng.IntN(2)]
			}
		}
		d.X = append(d.X, x...)
		d.Y = append(d.Y, finiteOrZero(x[0])+2*float64(btoi(math.IsNaN(x[5])))+math.Sin(x[1])+rng.NormFloat64())
		d.W = append(d.W, 1)
	}
	fitted, err := FitRegression(d, nil, Config{Rounds: 61, MaxDepth: 5, Seed: 7, ColSample: .6, Subsample: .7})
	require.NoError(t, err)
	stored, err := fitted.MarshalBinary()
	require.NoError(t, err)
	var decoded Regressor
	require.NoError(t, decoded.UnmarshalBinary(stored))
	require.NotNil(t, decoded.packed)
	again, err := decoded.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, stored, again)
	require.Equal(t, fitted.Trees(), decoded.Trees())
	require.Less(t, decoded.MemoryBytes(), fitted.MemoryBytes()*2/3)

	edges := append([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64}, decoded.packed.cuts...)
	own, other := make([]float64, cols), make([]float64, cols)
	for range 20_000 {
		x := make([]float64, cols)
		for j := range x {
			if x[j] = edges[rng.IntN(len(edges))]; rng.IntN(3) == 0 {
				x[j] = math.Nextafter(x[j], math.Inf(1-2*rng.IntN(2)))
			}
		}
		require.Equal(t, math.Float64bits(fitted.Predict(x)), math.Float64bits(decoded.Predict(x)), "%v", x)
	}
	x := d.Row(3)
	require.Equal(t, fitted.Explain(x, own), decoded.Explain(x, other))
	require.Equal(t, own, other)
}

// If a column has more cuts than the byte packedNode.cut can number, the whole forest stays unpacked.
func TestManyCutsAreNotPacked(t *testing.T) {
	f := &forest{cols: 1, intercept: []float64{0}}
	for range maxPackedCuts + 1 {
		f.startTree()
		root := f.roots[len(f.roots)-1]
		child := f.addNodes(2)
		f.nodes[root] = newNode(float64(root), false, 0, child)
		f.setLeaf(child, 1, 1, 1)
		f.setLeaf(child+1, 1, 2, 1)
	}
	require.Nil(t, f.pack())
	f.truncate(maxPackedCuts)
	require.NotNil(t, f.pack())
}

func finiteOrZero(v float64) float64 {
	if finite(v) {
		return v
	}
	return 0
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
