package gbt

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// knownPlayers returns the value of a subtree if only the columns of the players in the set are
// known.
func (e *Explainer) knownPlayers(at int32, x []float64, players []int, set uint) float64 {
	n := &e.nodes[at]
	if e.isLeaf(at) {
		return n.cut
	}
	if player := players[n.feature]; player >= 0 && set>>player&1 == 1 {
		return e.knownPlayers(n.next(x[n.feature]), x, players, set)
	}
	left, right := e.cover[n.child], e.cover[n.child+1]
	return (left*e.knownPlayers(n.child, x, players, set) + right*e.knownPlayers(n.child+1, x, players, set)) / (left + right)
}

func TestContributionsOfPlayersMatchTheDefinitionOfShapleyValues(t *testing.T) {
	const cols, count = 10, 6
	players := []int{0, 1, 1, 2, -1, 3, 4, 4, 4, 5}
	data := withMissing(400, cols, rand.New(rand.NewPCG(7, 1)))
	r, err := FitRegression(data, nil, Config{Rounds: 8, MaxDepth: 9, MinLeafRows: 1})
	require.NoError(t, err)
	e, phi := Explainer{forest: &r.forest, cover: r.covers()}, make([]float64, count)
	value := func(x []float64, set uint) (sum float64) {
		for _, root := range r.roots {
			sum += e.knownPlayers(root, x, players, set)
		}
		return sum
	}
	for i := range 10 {
		x := data.Row(i)
		expected := r.ExplainPlayers(x, players, phi)
		require.InDelta(t, r.intercept[0]+value(x, 0), expected, 1e-9)
		require.InDelta(t, r.intercept[0]+value(x, 1<<count-1), expected+sum(phi), 1e-9)
		for player := range count {
			want := 0.0
			for set := range uint(1) << count {
				if set>>player&1 == 0 {
					size := bits.OnesCount(set)
					weight := math.Gamma(float64(size+1)) * math.Gamma(float64(count-size)) / math.Gamma(count+1)
					want += weight * (value(x, set|1<<player) - value(x, set))
				}
			}
			require.InDelta(t, want, phi[player], 1e-9*max(1, math.Abs(want)))
		}
	}
}

func BenchmarkExplain(b *testing.B) {
	data := withMissing(2000, 20, rand.New(rand.NewPCG(1, 1)))
	r, err := FitRegression(data, nil, Config{Rounds: 160, LearningRate: 0.05, MaxDepth: 5, Subsample: 0.5, ColSample: 0.5, MaxBins: 63})
	require.NoError(b, err)
	phi := make([]float64, 20)
	for b.Loop() {
		r.Explain(data.Row(0), phi)
	}
}

// shap computes partly in float32. The leaves, cuts and weights in trees.json are exact in float32, so results differ only
// by the rounding of float64.
func TestContributionsMatchShapUpToRounding(t *testing.T) {
	var o struct {
		X        [][]*float64
		Trees    []*xgboostNode
		Expected float64
		Phi      [][]float64
	}
	readOracle(t, "../explain/trees.json", &o)
	cols := len(o.X[0])
	f, x, phi := &forest{cols: cols, intercept: []float64{0}}, flatten(o.X), make([]float64, cols)
	for t, tree := range o.Trees {
		f.startTree()
		f.importTree(f.roots[t], 0, tree)
	}
	for i, want := range o.Phi {
		require.InEpsilon(t, o.Expected, f.explainer(0, identity(cols), len(phi)).Explain(x[cols*i:cols*(i+1)], phi), 1e-9)
		for j := range want {
			require.InDelta(t, want[j], phi[j], 1e-9*max(1e-3, math.Abs(want[j])), "row %d, column %d", i, j)
		}
	}
}
