package classify_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/classify/classifytest"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

func TestCutGivesTheBinOfTheFirstEdgeAtOrAboveTheLevel(t *testing.T) {
	rows := &table.Table{Y: []float64{-3, 1, 1.5, 2, 7}}
	assert.Equal(t, []float64{0, 0, 1, 1, 1}, classify.Cut(rows, []float64{1, 2}).Y)
	assert.Equal(t, []float64{-3, 1, 1.5, 2, 7}, rows.Y, "the table keeps its levels")
}

func TestCheckNamesTheInvalidRow(t *testing.T) {
	for claim, y := range map[string]float64{"a negative bin": -1, "a bin out of range": 2, "a fractional bin": 0.5} {
		err := classify.Check(&table.Table{Y: []float64{0, y}}, 2)
		require.ErrorIs(t, err, classify.ErrTraining, claim)
		assert.ErrorContains(t, err, "row 1", claim)
	}
	assert.NoError(t, classify.Check(&table.Table{Y: []float64{0, 1}}, 2))
}

func TestPriorSmoothsByOneRow(t *testing.T) {
	c, err := classify.Prior{}.Fit(&table.Table{Y: []float64{0, 0, 2}, W: []float64{1, 1, 3}}, 4, 1)
	require.NoError(t, err)
	p := make([]float64, 4)
	c.Probabilities(nil, p)
	assert.InDeltaSlice(t, []float64{2.25 / 6, .25 / 6, 3.25 / 6, .25 / 6}, p, 1e-12)
}

func TestOneRowIsUncertain(t *testing.T) {
	for claim, weights := range map[string][]float64{"without weights": nil, "with a weight": {2}} {
		c, err := classify.Regression{}.FitLevels(&table.Table{Y: []float64{1.5}, W: weights}, []float64{1, 2, 3}, 1)
		require.NoError(t, err, claim)
		p := make([]float64, 3)
		c.Probabilities(nil, p)
		assert.Equal(t, []float64{.5, 0, .5}, p, claim)
	}
}

func TestRegressionNeedsTwoFolds(t *testing.T) {
	for _, folds := range []int{-1, 1} {
		_, err := classify.Regression{Folds: folds}.FitLevels(classifytest.Learnable(20, 1), []float64{1}, 1)
		require.ErrorIs(t, err, classify.ErrTraining)
		assert.ErrorContains(t, err, "use at least two")
	}
}

// The largest input is often the newest. Trees cannot extrapolate beyond it; a ridge regression can.
func TestRegressionExtrapolates(t *testing.T) {
	rng, rows := rand.New(rand.NewPCG(1, 0)), &table.Table{Names: []string{"log size"}}
	for range 300 {
		x := 4 * rng.Float64()
		rows.X, rows.Y = append(rows.X, x), append(rows.Y, x+0.1*rng.NormFloat64())
	}
	edges := []float64{4.2, 5.5, 9}
	top := func(f classify.LevelFamily) float64 {
		c, err := f.FitLevels(rows, edges, 1)
		require.NoError(t, err)
		p := make([]float64, 3)
		c.Probabilities([]float64{6}, p)
		return p[2]
	}
	assert.Greater(t, top(classify.Regression{}), 0.95)
	assert.Less(t, top(softmax), 0.1)
}

func TestRegressionIsUncertainWhereErrorsAreLarge(t *testing.T) {
	rng, rows := rand.New(rand.NewPCG(2, 0)), &table.Table{Names: []string{"x"}}
	for range 1000 {
		x := 10 * rng.Float64()
		rows.X, rows.Y = append(rows.X, x), append(rows.Y, x+0.1*x*rng.NormFloat64())
	}
	c, err := classify.Regression{Near: 200}.FitLevels(rows, []float64{1.5, 8.8, 99}, 1)
	require.NoError(t, err)
	p := make([]float64, 3)
	c.Probabilities([]float64{1}, p)
	assert.Greater(t, p[0], 0.97, "the first bin is almost certain, because its edge is 5 standard deviations away")
	c.Probabilities([]float64{8}, p)
	// The edge is 0.8 above the level, and the standard deviation is 0.8: P = 1 − Φ(1) = 0.16.
	assert.InDelta(t, 0.16, p[2], 0.06)
}

// Trees that overfit noise have tiny residuals on their training rows. Out-of-sample
// residuals show the real error: here the noise, which is N(0, 1), plus the error of the model.
func TestResidualsAreOutOfSample(t *testing.T) {
	rng, rows := rand.New(rand.NewPCG(3, 0)), &table.Table{Names: []string{"a", "b", "c", "d"}}
	for range 300 {
		rows.X = append(rows.X, rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64())
		rows.Y = append(rows.Y, rng.NormFloat64())
	}
	greedy := gbt.Config{Rounds: 200, LearningRate: 0.3, MaxDepth: 6, MinLeafRows: 1}
	c, err := classify.Regression{Trees: greedy, Near: 300}.FitLevels(rows, []float64{-1, 1, 99}, 1)
	require.NoError(t, err)
	outside, p := 0.0, make([]float64, 3)
	for range 200 {
		c.Probabilities([]float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()}, p)
		outside += (p[0] + p[2]) / 200
	}
	assert.Greater(t, outside, 0.32, "P(|residual| > 1) must be above P(|N(0, 1)| > 1) = .32, because the noise of the model adds to it")
}

func TestAverageReturnsTheMean(t *testing.T) {
	rows, edges := classifytest.Learnable(200, 1), []float64{1, 2, 9}
	one, other := make([]float64, 3), make([]float64, 3)
	both := make([]float64, 3)
	regression := classify.Regression{Trees: fewRounds}
	for p, f := range map[*[]float64]classify.LevelFamily{&one: regression, &other: softmax, &both: classify.Average{regression, softmax}} {
		c, err := f.FitLevels(rows, edges, 3)
		require.NoError(t, err)
		c.Probabilities(rows.Row(5), *p)
	}
	for bin := range both {
		assert.InDelta(t, (one[bin]+other[bin])/2, both[bin], 1e-12)
	}
	assert.Equal(t, "regression+softmax-trees", classify.Average{regression, softmax}.Name())
}

func TestAverageNamesTheFamilyThatFailed(t *testing.T) {
	_, err := classify.Average{}.FitLevels(&table.Table{Y: []float64{1}}, []float64{1}, 1)
	assert.ErrorIs(t, err, classify.ErrTraining, "no families")
	bad := classify.Regression{}
	bad.Ridge.Penalty = math.NaN()
	_, err = classify.Average{softmax, bad}.FitLevels(classifytest.Learnable(20, 1), []float64{1}, 1)
	assert.ErrorContains(t, err, "regression: linear: penalty")
}
