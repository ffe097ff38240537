package gbt

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

const oracle = "../../../testdata/oracle/gbt" // make.py in this folder writes the files

func readOracle(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oracle, name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

func flatten(x [][]*float64) (flat []float64) {
	for _, row := range x {
		for _, v := range row {
			if v == nil {
				flat = append(flat, math.NaN())
			} else {
				flat = append(flat, *v)
			}
		}
	}
	return flat
}

// xgboostNode is a node of XGBoost: [column, cut, missing left, gain, cover, left, right], or
// [value, cover] for a leaf.
type xgboostNode struct {
	column      int
	cut, gain   float64
	missingLeft bool
	cover       float64
	left, right *xgboostNode
	value       float64
}

func (n *xgboostNode) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	into := []any{&n.value, &n.cover}
	if len(parts) > 2 {
		into = []any{&n.column, &n.cut, &n.missingLeft, &n.gain, &n.cover, &n.left, &n.right}
	}
	for i, part := range parts {
		if err := json.Unmarshal(part, into[i]); err != nil {
			return err
		}
	}
	return nil
}

// XGBoost uses float32 with a relative rounding error of 6e-8. Gains are differences of
// larger numbers, so the tolerance is 1e-5.
func TestTreesMatchTheExactMethodOfXGBoost(t *testing.T) {
	var o struct {
		X    [][]*float64
		Y, W []float64
		Fits []struct {
			Depth          int
			Lambda         float64
			MinChildWeight float64 `json:"min_child_weight"`
			Tree           *xgboostNode
		}
	}
	readOracle(t, "split.json", &o)
	data, err := NewBinned(&table.Table{Names: make([]string, 3), X: flatten(o.X), Y: o.Y}, 255)
	require.NoError(t, err)
	rows, gradients := make([]int32, len(o.Y)), make([]gradient, len(o.Y))
	for i, y := range o.Y {
		rows[i], gradients[i] = int32(i), gradient{o.W[i] * (0.5 - y), o.W[i]}
	}
	for _, fit := range o.Fits {
		cfg := Config{MaxDepth: fit.Depth, Lambda: fit.Lambda, MinLeafWeight: fit.MinChildWeight, MinLeafRows: 1}.withDefaults()
		g := newGrower(data, cfg)
		nodes := g.grow(rows, []int{0, 1, 2}, gradients)
		assert.Equal(t, fit.Tree.cut, g.cut(nodes[0].split), "the cut of the root must be the same as in XGBoost")
		requireSameTree(t, nodes, 0, fit.Tree, fit.Lambda)
	}
}

func requireSameTree(t *testing.T, nodes []growingNode, i int, want *xgboostNode, lambda float64) {
	n := nodes[i]
	assert.InEpsilon(t, want.cover, n.sum.h, 1e-6, "cover")
	if want.left == nil {
		require.Zero(t, n.left, "the node must be a leaf, as in XGBoost")
		assert.InEpsilon(t, want.value, newton(n.sum, lambda), 1e-5, "leaf value")
		return
	}
	require.NotZero(t, n.left, "the node must have a split, as in XGBoost")
	assert.Equal(t, want.column, n.split.column)
	assert.InEpsilon(t, want.gain, n.split.gain, 1e-5, "gain")
	requireSameTree(t, nodes, n.left, want.left, lambda)
	requireSameTree(t, nodes, n.right, want.right, lambda)
}

func readRows(t *testing.T, name string) (x []float64, targets [3][]float64) {
	t.Helper()
	file, err := os.Open(filepath.Join(oracle, name))
	require.NoError(t, err)
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, record := range records[1:] {
		for j, field := range record {
			v := math.NaN()
			if field != "" {
				v, err = strconv.ParseFloat(field, 64)
				require.NoError(t, err)
			}
			if j < 8 {
				x = append(x, v)
			} else {
				targets[j-8] = append(targets[j-8], v)
			}
		}
	}
	return x, targets
}

// Both libraries ran with the rounds, depth, learning rate and penalty of Config{}. They differ
// from each other by up to 6 %. This package may be at most 3 % worse than the better one.
func TestHoldoutLossMatchesXGBoostAndScikitLearn(t *testing.T) {
	var want map[string]json.RawMessage
	readOracle(t, "loss.json", &want)
	x, y := readRows(t, "train.csv")
	tx, ty := readRows(t, "test.csv")
	for target, l := range []struct {
		name string
		loss loss
	}{{"squared", squaredLoss{}}, {"softmax", softmax{4}}, {"quantile", newQuantile(0.9)}} {
		t.Run(l.name, func(t *testing.T) {
			var libraries struct{ XGBoost, Sklearn float64 }
			require.NoError(t, json.Unmarshal(want[l.name], &libraries))
			f, err := fitTable(&table.Table{Names: make([]string, 8), X: x, Y: y[target]}, nil, l.loss, Config{})
			require.NoError(t, err)
			test, err := newHoldout(&table.Table{Names: make([]string, 8), X: tx, Y: ty[target]}, 8, l.loss)
			require.NoError(t, err)
			test.shift(f.intercept)
			test.advance(f, 0)
			ours := test.mean(l.loss)
			t.Logf("ours %.4f, XGBoost %.4f, scikit-learn %.4f", ours, libraries.XGBoost, libraries.Sklearn)
			assert.Less(t, ours, 1.03*min(libraries.XGBoost, libraries.Sklearn))
		})
	}
}

// importTree copies a tree of XGBoost into a forest. In XGBoost, a value that equals the cut goes
// right. In this package it goes left.
func (f *forest) importTree(at int32, depth uint8, n *xgboostNode) {
	if n.left == nil {
		f.setLeaf(at, depth, n.value, n.cover)
		return
	}
	child := f.addNodes(2)
	f.nodes[at] = newNode(math.Nextafter(n.cut, math.Inf(-1)), n.missingLeft, n.column, child)
	f.importTree(child, depth+1, n.left)
	f.importTree(child+1, depth+1, n.right)
}

// The package shap explained the same dumped trees in float64. The tolerance of 1e-6 allows for
// rounded numbers in the dump.
func TestContributionsMatchShap(t *testing.T) {
	var o struct {
		X    [][]*float64
		Fits []struct {
			Outputs  int
			Trees    []*xgboostNode
			Expected []float64
			Phi      [][][]float64
		}
	}
	readOracle(t, "shap.json", &o)
	x := flatten(o.X)
	for _, fit := range o.Fits {
		f := &forest{cols: 8, intercept: make([]float64, fit.Outputs)}
		for t, tree := range fit.Trees {
			f.startTree()
			f.importTree(f.roots[t], 0, tree)
		}
		phi := make([]float64, 8)
		for c := range fit.Outputs {
			for i := range o.X {
				expected := f.explainer(c, identity(8), len(phi)).Explain(x[8*i:8*i+8], phi)
				require.InDelta(t, fit.Expected[c], expected, 1e-6)
				require.InDeltaSlice(t, fit.Phi[c][i], phi, 1e-6)
			}
		}
	}
}
