package linear_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
)

func named(p int) []string {
	names := make([]string, p)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	return names
}

func TestRidgeMatchesHandCalculation(t *testing.T) {
	// x = 1, 3 has mean 2 and deviation 1, so β = Σzy/(Σz² + λ) = 4/(2 + λ), standardised or not.
	for penalty, slope := range map[float64]float64{2: 1, 6: 0.5, 1e-12: 2} {
		r, err := linear.Fit(&table.Table{Names: named(1), X: []float64{1, 3}, Y: []float64{5, 9}}, linear.Config{Penalty: penalty})
		require.NoError(t, err)
		assert.InDelta(t, slope, r.Coefficients()[0], 1e-9)
		assert.InDelta(t, 7+slope*2, r.Predict([]float64{4}), 1e-9)
		assert.InDelta(t, 7, r.Predict([]float64{math.NaN()}), 1e-12, "the prediction for a missing value is that for the mean")
	}
}

// oracleTolerance is the tolerated difference between predictions of magnitude 1 from scikit-learn and from this package.
// Both solve the same normal equations, with different libraries.
const oracleTolerance = 1e-7

func TestRidgeAgreesWithScikitLearn(t *testing.T) {
	raw, err := os.ReadFile("../../../testdata/oracle/linear/ridge.json")
	require.NoError(t, err)
	var oracle struct {
		Cases []struct {
			Penalty   float64
			X         [][]*float64
			Y, W      []float64
			Predicted []float64
		}
	}
	require.NoError(t, json.Unmarshal(raw, &oracle))
	require.Len(t, oracle.Cases, 4)
	for k, c := range oracle.Cases {
		tab := &table.Table{Names: named(len(c.X[0])), Y: c.Y, W: c.W}
		for _, row := range c.X {
			for _, v := range row {
				if v == nil {
					tab.X = append(tab.X, math.NaN())
				} else {
					tab.X = append(tab.X, *v)
				}
			}
		}
		r, err := linear.Fit(tab, linear.Config{Penalty: c.Penalty})
		require.NoError(t, err)
		for i, want := range c.Predicted {
			assert.InDelta(t, want, r.Predict(tab.Row(i)), oracleTolerance, "case %d row %d", k, i)
		}
	}
}

func TestAWeightOfTwoEqualsADuplicateRow(t *testing.T) {
	x, y := []float64{1, 2, 2, 5, 7, 1}, []float64{1, 4, 2}
	weighted, err := linear.Fit(&table.Table{Names: named(2), X: x, Y: y, W: []float64{1, 2, 1}}, linear.Config{})
	require.NoError(t, err)
	twice, err := linear.Fit((&table.Table{Names: named(2), X: x, Y: y}).Select([]int{0, 1, 1, 2}), linear.Config{})
	require.NoError(t, err)
	assert.InDeltaSlice(t, twice.Coefficients(), weighted.Coefficients(), 1e-12)
}

func TestRidgeHandlesDegenerateTables(t *testing.T) {
	nan := math.NaN()
	for claim, c := range map[string]struct {
		tab  table.Table
		want float64 // at x = 2
	}{
		"no columns gives the mean":          {table.Table{Y: []float64{1, 3}}, 2},
		"one row gives its target":           {table.Table{Names: named(1), X: []float64{9}, Y: []float64{5}}, 5},
		"a constant column is ignored":       {table.Table{Names: named(1), X: []float64{1e9, 1e9, 1e9}, Y: []float64{1, 2, 3}}, 2},
		"a wholly missing column is ignored": {table.Table{Names: named(1), X: []float64{nan, nan}, Y: []float64{1, 3}}, 2},
		"an infinite value is a missing one": {table.Table{Names: named(1), X: []float64{math.Inf(1), 2, 3}, Y: []float64{1, 2, 3}}, 1.625}, // slope ½/(½ + ⅙) = ¾, so 2 − ½·¾
		"a rounding error is no variation":   {table.Table{Names: named(1), X: []float64{1e9, 1e9 + 1e-6}, Y: []float64{1, 3}}, 2},
	} {
		r, err := linear.Fit(&c.tab, linear.Config{})
		require.NoError(t, err, claim)
		assert.InDelta(t, c.want, r.Predict([]float64{2}[:c.tab.Cols()]), 1e-9, claim)
	}
}

// One implausible report must not stop a task from learning.
func TestOnlyAColumnWhoseSquaresOverflowIsDropped(t *testing.T) {
	r, err := linear.Fit(&table.Table{Names: named(2), X: []float64{1, 1e200, 2, 3, 3, -1e300, 4, 1e308}, Y: []float64{1, 2, 3, 4}}, linear.Config{Penalty: 1e-9})
	require.NoError(t, err)
	assert.InDelta(t, 1, r.Coefficients()[0], 1e-6)
	assert.Zero(t, r.Coefficients()[1])
	assert.InDelta(t, 5, r.Predict([]float64{5, 1e200}), 1e-6)
}

// If two columns overflow with opposite signs, the prediction is the mean.
func TestARowThatOverflowsIsPredictedAsTheMean(t *testing.T) {
	r, err := linear.Fit(&table.Table{Names: named(2), X: []float64{1, 1, 2, -3, 3, 2, 4, 0}, Y: []float64{1e10, 2e10, 3e10, 4e10}}, linear.Config{})
	require.NoError(t, err)
	y := r.Predict([]float64{math.MaxFloat64, math.MaxFloat64 * -math.Copysign(1, r.Coefficients()[0]*r.Coefficients()[1])})
	assert.InDelta(t, 2.5e10, y, 1)
}

func TestFitRejectsUnsolvableInput(t *testing.T) {
	_, err := linear.Fit(&table.Table{Names: named(1)}, linear.Config{})
	assert.ErrorIs(t, err, table.ErrShape, "no rows")
	_, err = linear.Fit(&table.Table{Names: named(1), X: []float64{1}, Y: []float64{math.NaN()}}, linear.Config{})
	assert.ErrorIs(t, err, table.ErrShape, "a missing target")
	_, err = linear.Fit(&table.Table{Names: named(1), X: []float64{1, 2}, Y: []float64{1, 2}}, linear.Config{Penalty: -1})
	assert.ErrorContains(t, err, "penalty -1: must be positive")
}

// noisy returns a seeded table around y = 3 + x0 − 2·x1.
func noisy(seed uint64, n int) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	tab := &table.Table{Names: named(3), W: make([]float64, 0, n)}
	for range n {
		x := []float64{rng.NormFloat64(), 18000 + 100*rng.NormFloat64(), rng.NormFloat64()}
		tab.X = append(tab.X, x...)
		tab.Y = append(tab.Y, 3+x[0]-2*x[1]+0.1*rng.NormFloat64())
		tab.W = append(tab.W, 0.5+rng.Float64())
	}
	return tab
}

func TestOnlineWithoutForgettingEqualsFit(t *testing.T) {
	tab := noisy(1, 200)
	online, err := linear.NewOnline(3, 1, math.Inf(1), linear.Config{Penalty: 5})
	require.NoError(t, err)
	for i := range tab.Rows() {
		require.NoError(t, online.Add(tab.Row(i), tab.Y[i:i+1], tab.W[i]))
	}
	batch, err := linear.Fit(tab, linear.Config{Penalty: 5})
	require.NoError(t, err)
	solved, err := online.Solve()
	require.NoError(t, err)
	assert.InDeltaSlice(t, batch.Coefficients(), solved[0].Coefficients(), 1e-9)
	assert.InDelta(t, batch.Predict(tab.Row(7)), solved[0].Predict(tab.Row(7)), 1e-7)
}

func TestOnlineForgettingEqualsFitWithDecayingWeights(t *testing.T) {
	tab := noisy(2, 100)
	const memory = 20.0
	online, err := linear.NewOnline(3, 1, memory, linear.Config{})
	require.NoError(t, err)
	for i := range tab.Rows() {
		require.NoError(t, online.Add(tab.Row(i), tab.Y[i:i+1], tab.W[i]))
	}
	for i := range tab.W {
		tab.W[i] *= math.Pow(1-1/memory, float64(tab.Rows()-1-i))
	}
	batch, err := linear.Fit(tab, linear.Config{})
	require.NoError(t, err)
	solved, err := online.Solve()
	require.NoError(t, err)
	assert.InDeltaSlice(t, batch.Coefficients(), solved[0].Coefficients(), 1e-8)
	assert.InDelta(t, 20, online.Rows(), 4, "the remaining weight is about the memory")
}

func TestOnlineHandlesMissingValuesAndAnEarlySolve(t *testing.T) {
	online, err := linear.NewOnline(2, 1, math.Inf(1), linear.Config{Penalty: 1e-9})
	require.NoError(t, err)
	_, err = online.Solve()
	assert.ErrorIs(t, err, table.ErrShape, "no solution exists before the first row")
	require.NoError(t, online.Add([]float64{math.NaN(), 1}, []float64{2}, 1))
	r, err := online.Solve()
	require.NoError(t, err)
	assert.InDelta(t, 2, r[0].Predict([]float64{5, 5}), 1e-12, "one row gives its target")
	// A first value of 1e12 after a missing one must not look like a jump from 0.
	require.NoError(t, online.Add([]float64{1e12, 2}, []float64{4}, 1))
	require.NoError(t, online.Add([]float64{1e12, 3}, []float64{6}, 1))
	r, err = online.Solve()
	require.NoError(t, err)
	assert.InDelta(t, 8, r[0].Predict([]float64{1e12, 4}), 1e-6)
	assert.Zero(t, r[0].Coefficients()[0])

	for claim, bad := range map[string][2]float64{"a target of NaN": {math.NaN(), 1}, "a weight of zero": {1, 0}} {
		assert.ErrorIs(t, online.Add([]float64{1, 1}, bad[:1], bad[1]), table.ErrShape, claim)
	}
	assert.ErrorIs(t, online.Add([]float64{1}, []float64{1}, 1), table.ErrShape, "a row with too few columns must be rejected")
}

func TestOnlineTargetsAreIndependent(t *testing.T) {
	tab := noisy(4, 120)
	both, err := linear.NewOnline(3, 2, math.Inf(1), linear.Config{})
	require.NoError(t, err)
	second := tab.Select(nil)
	for i := range tab.Rows() {
		other := tab.Row(i)[2] * 4
		require.NoError(t, both.Add(tab.Row(i), []float64{tab.Y[i], other}, 1))
		second.X, second.Y = append(second.X, tab.Row(i)...), append(second.Y, other)
	}
	alone, err := linear.Fit(second, linear.Config{})
	require.NoError(t, err)

	reopened, err := linear.RestoreOnline(both.State())
	require.NoError(t, err)
	solved, err := reopened.Solve()
	require.NoError(t, err)
	require.Len(t, solved, 2)
	assert.InDeltaSlice(t, alone.Coefficients(), solved[1].Coefficients(), 1e-9)

	broken := both.State()
	broken.Co = broken.Co[1:]
	_, err = linear.RestoreOnline(broken)
	assert.ErrorIs(t, err, linear.ErrFormat)
}

func TestOnlineLearnsNothingFromAnInvalidRow(t *testing.T) {
	o, err := linear.NewOnline(1, 2, math.Inf(1), linear.Config{})
	require.NoError(t, err)
	empty := o.State()
	require.ErrorIs(t, o.Add([]float64{1}, []float64{7, math.NaN()}, 1), table.ErrShape)
	assert.Equal(t, empty, o.State())
}

func TestPredictDoesNotAllocate(t *testing.T) {
	tab := noisy(3, 50)
	r, err := linear.Fit(tab, linear.Config{})
	require.NoError(t, err)
	x := tab.Row(0)
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Predict(x) }))
}

func BenchmarkFit1460x30(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	tab := &table.Table{Names: named(30), X: make([]float64, 1460*30), Y: make([]float64, 1460)}
	for i := range tab.X {
		tab.X[i] = rng.NormFloat64()
	}
	for b.Loop() {
		if _, err := linear.Fit(tab, linear.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddAndSolve30(b *testing.B) {
	online, _ := linear.NewOnline(30, 1, 1000, linear.Config{})
	rng, x := rand.New(rand.NewPCG(1, 0)), make([]float64, 30)
	for b.Loop() {
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		_ = online.Add(x, x[:1], 1)
		if _, err := online.Solve(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestShiftedPredictionsAreHigherByTheShift(t *testing.T) {
	tab := noisy(4, 40)
	o, err := linear.NewOnline(3, 1, math.Inf(1), linear.Config{})
	require.NoError(t, err)
	for i := range tab.Rows() {
		require.NoError(t, o.Add(tab.Row(i), []float64{tab.Y[i]}, tab.Weight(i)))
	}
	before, err := o.Solve()
	require.NoError(t, err)
	o.Shift(0, 0.5)
	after, err := o.Solve()
	require.NoError(t, err)
	x := []float64{0.3, 18010, -1}
	assert.InDelta(t, before[0].Predict(x)+0.5, after[0].Predict(x), 1e-9)
	assert.InDelta(t, before[0].Predict(x)+0.5, before[0].Shifted(0.5).Predict(x), 1e-9)
}
