package svm

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// oracle reads the cases of a file that testdata/oracle/svm/make.py wrote.
func oracle[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../testdata/oracle/svm", name))
	require.NoError(t, err)
	var o struct{ Cases []T }
	require.NoError(t, json.Unmarshal(data, &o))
	require.NotEmpty(t, o.Cases)
	return o.Cases
}

func tableOf(x [][]*float64, y, w []float64) *table.Table {
	t := &table.Table{Names: make([]string, len(x[0])), Y: y, W: w}
	for _, row := range x {
		for _, v := range row {
			if v == nil {
				t.X = append(t.X, math.NaN())
			} else {
				t.X = append(t.X, *v)
			}
		}
	}
	return t
}

func (c *Classifier) decisions(x []float64) []float64 {
	s := newScratch(c.model)
	c.decide(x, s)
	return s.decisions
}

// libsvm orders the pairs (0,1), (0,2) … (1,2). Both solvers stop at a tolerance of 1e-7
// and cache kernel values in float32, whose relative rounding error of 6e-8 occurs once per support vector. The accepted
// difference of 1e-5 is for decision values of magnitude 1.
func TestDecisionValuesEqualLibsvm(t *testing.T) {
	for k, o := range oracle[struct {
		Bins      int
		C, Gamma  float64
		X         [][]*float64
		Y, W      []float64
		Decisions [][]float64
	}](t, "decisions.json") {
		rows := tableOf(o.X, o.Y, o.W)
		c, err := Fit(rows, o.Bins, Config{C: o.C, Gamma: o.Gamma, Tolerance: 1e-7}, 1)
		require.NoError(t, err)
		worst := 0.0
		for i, want := range o.Decisions {
			ours, at := c.decisions(rows.Row(i)), 0
			for a := range o.Bins {
				for b := a + 1; b < o.Bins; b++ {
					worst = max(worst, math.Abs(want[at]-ours[pairOf(a, b)]))
					at++
				}
			}
		}
		t.Logf("case %d: largest difference %.1e", k, worst)
		assert.LessOrEqual(t, worst, 1e-5, "case %d", k)
	}
}

// The other optimiser is BFGS of SciPy, followed by a search for the root of the gradient.
func TestSigmoidsAgreeWithAnotherOptimiser(t *testing.T) {
	for k, o := range oracle[struct {
		F, Y, W      []float64
		Slope, Level float64
	}](t, "sigmoids.json") {
		s := fitSigmoid(o.F, o.Y, o.W)
		assert.InDelta(t, o.Slope, s.slope, 1e-6, "case %d", k)
		assert.InDelta(t, o.Level, s.level, 1e-6, "case %d", k)
	}
}

// The other optimiser, SLSQP of SciPy, is accurate to about 1e-8.
func TestCouplingsAgreeWithAnotherOptimiser(t *testing.T) {
	for k, o := range oracle[struct {
		Pairwise [][]float64
		P        []float64
	}](t, "couplings.json") {
		var r []float64
		for _, row := range o.Pairwise {
			r = append(r, row...)
		}
		p := make([]float64, len(o.P))
		couple(r, p)
		assert.InDeltaSlice(t, o.P, p, 1e-6, "case %d", k)
	}
}

// A row with twice the weight and a row that occurs twice give the same boundaries. The test compares no probabilities,
// because the folds differ.
func TestAWeightOfTwoEqualsADuplicateRow(t *testing.T) {
	for seed := range uint64(5) {
		rows, signs, penalties := problem(60, 1, seed)
		weighted := &table.Table{Names: make([]string, 3), X: rows.z, W: penalties}
		var again []int
		for i, sign := range signs {
			weighted.Y = append(weighted.Y, (sign+1)/2+float64(i%5/4)) // three bins
			again = append(again, i)
			if i%3 == 0 {
				again = append(again, i)
			}
		}
		twice := weighted.Select(again)
		for i := range penalties {
			if i%3 == 0 {
				weighted.W[i] *= 2
			}
		}
		cfg := Config{Tolerance: 1e-7}
		a, err := Fit(weighted, 3, cfg, 1)
		require.NoError(t, err)
		b, err := Fit(twice, 3, cfg, 1)
		require.NoError(t, err)
		for i := range weighted.Rows() {
			assert.InDeltaSlice(t, b.decisions(weighted.Row(i)), a.decisions(weighted.Row(i)), 1e-5)
		}
	}
}
