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

const oracle = "../../../testdata/oracle/gbt" // made by make.py there

func readOracle(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(oracle, name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

// rowsOf turns nulls into NaN and lays the rows end to end.
func rowsOf(x [][]*float64) (flat []float64) {
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

// foreign is one of XGBoost's nodes: [column, cut, missing left, gain, cover,
// left, right], or [value, cover].
type foreign struct {
	column      int
	cut, gain   float64
	missingLeft bool
	cover       float64
	left, right *foreign
	value       float64
}

func (n *foreign) UnmarshalJSON(data []byte) error {
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

// XGBoost works in float32, whose relative rounding is 6e-8; gains are differences
// of larger numbers, hence 1e-5.
func TestTreesAreThoseOfXGBoostsExactMethod(t *testing.T) {
	var o struct {
		X    [][]*float64
		Y, W []float64
		Fits []struct {
			Depth          int
			Lambda         float64
			MinChildWeight float64 `json:"min_child_weight"`
			Tree           *foreign
		}
	}
	readOracle(t, "split.json", &o)
	data, err := NewBinned(&table.Table{Names: make([]string, 3), X: rowsOf(o.X), Y: o.Y}, 255)
	require.NoError(t, err)
	rows, gradients := make([]int32, len(o.Y)), make([]gradient, len(o.Y))
	for i, y := range o.Y {
		rows[i], gradients[i] = int32(i), gradient{o.W[i] * (0.5 - y), o.W[i]}
	}
	for _, fit := range o.Fits {
		cfg := Config{MaxDepth: fit.Depth, Lambda: fit.Lambda, MinLeafWeight: fit.MinChildWeight, MinLeafRows: 1}.withDefaults()
		g := newGrower(data, cfg)
		nodes := g.grow(rows, []int{0, 1, 2}, gradients)
		assert.Equal(t, fit.Tree.cut, g.cut(nodes[0].split), "the root's cut lies midway between the same two values")
		sameTree(t, nodes, 0, fit.Tree, fit.Lambda)
	}
}

func sameTree(t *testing.T, nodes []growing, i int, want *foreign, lambda float64) {
	n := nodes[i]
	assert.InEpsilon(t, want.cover, n.sum.h, 1e-6, "cover")
	if want.left == nil {
		require.Zero(t, n.left, "a leaf")
		assert.InEpsilon(t, want.value, newton(n.sum, lambda), 1e-5, "leaf value")
		return
	}
	require.NotZero(t, n.left, "a split")
	assert.Equal(t, want.column, n.split.column)
	assert.InEpsilon(t, want.gain, n.split.gain, 1e-5, "gain")
	sameTree(t, nodes, n.left, want.left, lambda)
	sameTree(t, nodes, n.right, want.right, lambda)
}

// readRows reads a table of 8 columns and 3 targets.
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

// Both libraries ran with the same rounds, depth, rate and penalty. They differ
// from each other by up to 6 %; ours must not be 3 % above the better one.
func TestHeldOutLossIsThatOfXGBoostAndScikitLearn(t *testing.T) {
	var want map[string]json.RawMessage
	readOracle(t, "loss.json", &want)
	x, y := readRows(t, "train.csv")
	tx, ty := readRows(t, "test.csv")
	for target, l := range []struct {
		name string
		loss loss
	}{{"squared", squared{}}, {"softmax", softmax{4}}, {"quantile", newQuantile(0.9)}} {
		t.Run(l.name, func(t *testing.T) {
			var peers struct{ XGBoost, Sklearn float64 }
			require.NoError(t, json.Unmarshal(want[l.name], &peers))
			f, err := fitTable(&table.Table{Names: make([]string, 8), X: x, Y: y[target]}, nil, l.loss, Config{})
			require.NoError(t, err)
			out, err := held(&table.Table{Names: make([]string, 8), X: tx, Y: ty[target]}, 8, l.loss)
			require.NoError(t, err)
			out.shift(f.intercept)
			out.advance(f, 0)
			ours := out.mean(l.loss)
			t.Logf("ours %.4f, XGBoost %.4f, scikit-learn %.4f", ours, peers.XGBoost, peers.Sklearn)
			assert.Less(t, ours, 1.03*min(peers.XGBoost, peers.Sklearn))
		})
	}
}

// adopt lays one of XGBoost's trees down in a forest. Its values go left below
// the cut, ours up to it.
func (f *forest) adopt(at int32, depth uint8, n *foreign) {
	if n.left == nil {
		f.leaf(at, depth, n.value, n.cover)
		return
	}
	child := f.room(2)
	f.nodes[at] = newNode(math.Nextafter(n.cut, math.Inf(-1)), n.missingLeft, n.column, child)
	f.adopt(child, depth+1, n.left)
	f.adopt(child+1, depth+1, n.right)
}

// The same trees, explained by shap in float64: 1e-6 leaves room for its float32
// leaf values only.
func TestContributionsAreThoseOfShap(t *testing.T) {
	var o struct {
		X    [][]*float64
		Fits []struct {
			Outputs  int
			Trees    []*foreign
			Expected []float64
			Phi      [][][]float64
		}
	}
	readOracle(t, "shap.json", &o)
	x := rowsOf(o.X)
	for _, fit := range o.Fits {
		f := &forest{cols: 8, intercept: make([]float64, fit.Outputs)}
		for t, tree := range fit.Trees {
			f.plant()
			f.adopt(f.roots[t], 0, tree)
		}
		phi := make([]float64, 8)
		for c := range fit.Outputs {
			for i := range o.X {
				expected := f.explain(x[8*i:8*i+8], c, phi)
				require.InDelta(t, fit.Expected[c], expected, 1e-6)
				require.InDeltaSlice(t, fit.Phi[c][i], phi, 1e-6)
			}
		}
	}
}
