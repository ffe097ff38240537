package gbt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

var _ classify.Classifier = (*gbt.Classifier)(nil)

// fits holds the fit functions of the two regression losses, which share most properties. Sums
// of gradients at the 0.75 quantile have no rounding errors, so equal gains stay equal.
var fits = map[string]func(t, valid *table.Table, cfg gbt.Config) (*gbt.Regressor, error){
	"squared": gbt.FitRegression,
	"quantile": func(t, valid *table.Table, cfg gbt.Config) (*gbt.Regressor, error) {
		return gbt.FitQuantile(t, valid, 0.75, cfg)
	},
}

func predictions(r *gbt.Regressor, t *table.Table) []float64 {
	var out []float64
	for i := range t.Rows() {
		out = append(out, r.Predict(t.Row(i)))
	}
	return out
}

// coarse returns rows with few distinct values, so that binning is exact. Some values of column a are missing.
func coarse(n int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 2))
	t := &table.Table{Names: []string{"a", "b", "c"}}
	for range n {
		a, b, c := float64(rng.IntN(20)), float64(rng.IntN(5)), float64(rng.IntN(2))
		t.Y = append(t.Y, a*b+10*c+rng.NormFloat64())
		if rng.IntN(5) == 0 {
			a = math.NaN()
		}
		t.X = append(t.X, a, b, c)
	}
	return t
}

// The columns `constant` and `missing` have one value each and are never drawn, so each round draws `rare` or `size`. In `rare`
// one row is 1, which is too few for a leaf. So a round that draws `rare` has no split. It must not end the boosting.
func TestColumnsWithoutASplitDoNotEndTheBoosting(t *testing.T) {
	step := &table.Table{Names: []string{"constant", "missing", "rare", "size"}}
	for i := range 40 {
		rare := 0.0
		if i == 7 {
			rare = 1
		}
		step.X, step.Y = append(step.X, 3, math.NaN(), rare, float64(i)), append(step.Y, float64(i/20*10))
	}
	r, err := gbt.FitRegression(step, nil, gbt.Config{Rounds: 400, LearningRate: 0.1, ColSample: 0.25, MinLeafRows: 5, Seed: 1})
	require.NoError(t, err)
	assert.InDelta(t, 0, r.Predict(step.Row(3)), 0.01)
	assert.InDelta(t, 10, r.Predict(step.Row(33)), 0.01)
}

// In forty rows, y is 0 up to size 19 and 10 from size 20. The mean is 5 and the first
// residual is ±5. A leaf of 20 rows removes the share 0.1·20/(20+1) per round: after 100
// rounds the residual is 5·(1−0.1·20/21)^100 = 0.0002.
func TestAStepFunctionIsLearned(t *testing.T) {
	step := &table.Table{Names: []string{"size"}}
	for i := range 40 {
		step.X, step.Y = append(step.X, float64(i)), append(step.Y, float64(i/20*10))
	}
	r, err := gbt.FitRegression(step, nil, gbt.Config{})
	require.NoError(t, err)
	left := 5 * math.Pow(1-0.1*20/21, 100)
	assert.InDelta(t, left, r.Predict([]float64{19}), 1e-9)
	assert.InDelta(t, 10-left, r.Predict([]float64{20}), 1e-9)
	assert.InDelta(t, left, r.Predict([]float64{19.5}), 1e-9, "the cut is midway and belongs to the left side")
	assert.InDelta(t, 10-left, r.Predict([]float64{19.51}), 1e-9)
}

func TestAShiftOfTheTargetShiftsThePrediction(t *testing.T) {
	for name, fit := range fits {
		t.Run(name, func(t *testing.T) {
			low := coarse(300, 1)
			high := low.Select(allRows(300))
			for i := range high.Y {
				high.Y[i] += 1000
			}
			a, err := fit(low, nil, gbt.Config{})
			require.NoError(t, err)
			b, err := fit(high, nil, gbt.Config{})
			require.NoError(t, err)
			for i, want := range predictions(a, low) {
				require.InDelta(t, want+1000, b.Predict(low.Row(i)), 1e-8)
			}
		})
	}
}

func allRows(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Every third row counts twice, by weight or by duplication.
func TestAWeightOfTwoEqualsADuplicateRow(t *testing.T) {
	light := coarse(300, 3)
	var twice []int
	for i := range 300 {
		light.W = append(light.W, 1+float64(max(0, 1-i%3)))
		twice = append(twice, i)
		if i%3 == 0 {
			twice = append(twice, i)
		}
	}
	heavy := light.Select(twice)
	heavy.W = nil
	cfg := gbt.Config{MinLeafRows: 1, MinLeafWeight: 4}
	for name, fit := range fits {
		t.Run(name, func(t *testing.T) {
			a, err := fit(light, nil, cfg)
			require.NoError(t, err)
			b, err := fit(heavy, nil, cfg)
			require.NoError(t, err)
			require.InDeltaSlice(t, predictions(a, light), predictions(b, light), 1e-9)
		})
	}
}

func TestProbabilitiesSumToOneWithEmptyClasses(t *testing.T) {
	train := synthetic(400, 4, 3, 1)
	c, err := gbt.FitClassifier(train, nil, 5, gbt.Config{}) // classes 3 and 4 have no row
	require.NoError(t, err)
	p := make([]float64, 5)
	for i := range train.Rows() {
		x := train.Row(i)
		x[i%4] = math.NaN() // no value was missing in training
		c.Probabilities(x, p)
		sum := 0.0
		for _, v := range p {
			require.True(t, v > 0 && v <= 1)
			sum += v
		}
		require.InDelta(t, 1, sum, 1e-12)
		require.Less(t, p[4], 0.05)
	}
}

func TestClassesAreLearned(t *testing.T) {
	test := synthetic(2000, 4, 3, 8)
	c, err := gbt.FitClassifier(synthetic(2000, 4, 3, 7), nil, 3, gbt.Config{})
	require.NoError(t, err)
	p, hits := make([]float64, 3), 0
	for i := range test.Rows() {
		c.Probabilities(test.Row(i), p)
		if y := int(test.Y[i]); p[y] >= max(p[0], p[1], p[2]) {
			hits++
		}
	}
	require.Greater(t, hits, 1600) // the best two thresholds of the first column reach 1530
}

// A share of 0.9 of new rows should be below the 0.9 quantile. Three standard errors of
// 2,000 rows are 0.02; the rest of the tolerance is for the error of the fit.
func TestTheQuantileIsCalibrated(t *testing.T) {
	test := synthetic(2000, 3, 0, 6)
	r, err := gbt.FitQuantile(synthetic(4000, 3, 0, 5), nil, 0.9, gbt.Config{MinLeafRows: 40})
	require.NoError(t, err)
	below := 0.0
	for i, y := range test.Y {
		if y <= r.Predict(test.Row(i)) {
			below++
		}
	}
	require.InDelta(t, 0.9, below/2000, 0.03)
}

func TestSmallAndUnusualTablesAreLearned(t *testing.T) {
	nan := math.NaN()
	for claim, c := range map[string]struct {
		table *table.Table
		x     []float64
		want  float64
	}{
		"one row predicts its target":             {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{7}}, []float64{5}, 7},
		"a constant target is predicted exactly":  {constant(50, 0.1), []float64{3}, 0.1},
		"a column without values is ignored":      {&table.Table{Names: []string{"a"}, X: []float64{nan, nan, nan}, Y: []float64{1, 1, 1}}, []float64{5}, 1},
		"no column at all":                        {&table.Table{Y: []float64{4, 4}}, nil, 4},
		"positive infinity is the largest number": {infinite(), []float64{math.Inf(1)}, 10},
		"negative infinity is the smallest":       {infinite(), []float64{math.Inf(-1)}, 0},
	} {
		for name, fit := range fits {
			t.Run(claim+"/"+name, func(t *testing.T) {
				r, err := fit(c.table, nil, gbt.Config{})
				require.NoError(t, err)
				assert.InDelta(t, c.want, r.Predict(c.x), 1e-2)
				if c.x == nil || !math.IsInf(c.x[0], 0) {
					assert.Zero(t, r.Trees(), "a round without a split is removed")
				}
			})
		}
	}
}

func constant(n int, y float64) *table.Table {
	t := &table.Table{Names: []string{"a"}}
	for i := range n {
		t.X, t.Y = append(t.X, float64(i)), append(t.Y, y)
	}
	return t
}

func infinite() *table.Table {
	t := &table.Table{Names: []string{"a"}}
	for range 20 {
		t.X, t.Y = append(t.X, math.Inf(-1), math.Inf(1)), append(t.Y, 0, 10)
	}
	return t
}

// The rows with a missing size have the target 0 and all other rows 10, or the other way round.
func TestMissingnessIsLearned(t *testing.T) {
	for _, atMissing := range []float64{0, 10} {
		train := &table.Table{Names: []string{"size"}}
		for i := range 40 {
			x, y := float64(i), 10-atMissing
			if i%4 == 0 {
				x, y = math.NaN(), atMissing
			}
			train.X, train.Y = append(train.X, x), append(train.Y, y)
		}
		r, err := gbt.FitRegression(train, nil, gbt.Config{})
		require.NoError(t, err)
		assert.InDelta(t, atMissing, r.Predict([]float64{math.NaN()}), 0.05)
		assert.InDelta(t, 10-atMissing, r.Predict([]float64{-7}), 0.05)
		assert.InDelta(t, 10-atMissing, r.Predict([]float64{math.Inf(1)}), 0.05)
	}
}

// 75 of 100 rows have size 1, and no size is missing, so a missing size follows these rows.
func TestANewMissingValueFollowsTheLargerChild(t *testing.T) {
	train := &table.Table{Names: []string{"size"}}
	for i := range 100 {
		x := min(1, float64(i%4))
		train.X, train.Y = append(train.X, x), append(train.Y, 10*x)
	}
	r, err := gbt.FitRegression(train, nil, gbt.Config{})
	require.NoError(t, err)
	assert.Equal(t, r.Predict([]float64{1}), r.Predict([]float64{math.NaN()}))
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	train := synthetic(500, 6, 3, 1)
	encoded := func(seed uint64) []byte {
		c, err := gbt.FitClassifier(train, nil, 3, gbt.Config{Rounds: 20, Subsample: 0.6, ColSample: 0.5, EarlyStop: 5, Seed: seed})
		require.NoError(t, err)
		data, err := c.MarshalBinary()
		require.NoError(t, err)
		return data
	}
	assert.Equal(t, encoded(1), encoded(1))
	assert.NotEqual(t, encoded(1), encoded(2))
}

// If the target is noise, no tree improves the validation loss much.
func TestEarlyStopping(t *testing.T) {
	noise := func(seed uint64) *table.Table {
		t, rng := synthetic(200, 5, 0, seed), rand.New(rand.NewPCG(seed, 3))
		for i := range t.Y {
			t.Y[i] = rng.NormFloat64()
		}
		return t
	}
	given, err := gbt.FitRegression(noise(1), noise(2), gbt.Config{EarlyStop: 5})
	require.NoError(t, err)
	assert.Less(t, given.Trees(), 15)
	sampled, err := gbt.FitRegression(noise(1), nil, gbt.Config{EarlyStop: 5})
	require.NoError(t, err)
	assert.Less(t, sampled.Trees(), 15)
	patient, err := gbt.FitRegression(synthetic(200, 5, 0, 1), synthetic(200, 5, 0, 2), gbt.Config{Subsample: 0.2, EarlyStop: 50})
	require.NoError(t, err)
	impatient, err := gbt.FitRegression(synthetic(200, 5, 0, 1), synthetic(200, 5, 0, 2), gbt.Config{Subsample: 0.2, EarlyStop: 1})
	require.NoError(t, err)
	assert.Less(t, impatient.Trees(), patient.Trees(), "an EarlyStop of 1 must stop before a later minimum")
	all, err := gbt.FitRegression(noise(1), nil, gbt.Config{})
	require.NoError(t, err)
	assert.Equal(t, 100, all.Trees())
}

func TestMaxLeavesBoundsTheTree(t *testing.T) {
	train := synthetic(500, 3, 0, 1)
	r, err := gbt.FitRegression(train, nil, gbt.Config{Rounds: 1, MaxLeaves: 3, MaxDepth: 8})
	require.NoError(t, err)
	values := map[float64]bool{}
	for _, y := range predictions(r, train) {
		values[y] = true
	}
	assert.Len(t, values, 3)
}

// The rows with the 4 largest of 40 sizes, or with the 4 smallest, have a large target. Leaves of 4 rows can separate these
// rows from the others, but leaves of at least 5 rows cannot.
func TestMinLeafRowsAndMinLeafWeight(t *testing.T) {
	large := constant(40, 0)
	for i := 36; i < 40; i++ {
		large.Y[i] = 100
	}
	for cfg, alone := range map[gbt.Config]bool{
		{MinLeafRows: 5}:                   false,
		{MinLeafRows: 4}:                   true,
		{MinLeafRows: 1, MinLeafWeight: 5}: false,
		{MinLeafRows: 1, MinLeafWeight: 4}: true,
	} {
		for _, sign := range []float64{1, -1} {
			for i := range large.X {
				large.X[i] = sign * float64(i)
			}
			r, err := gbt.FitRegression(large, nil, cfg)
			require.NoError(t, err)
			assert.Equal(t, alone, r.Predict(large.Row(36)) != r.Predict(large.Row(35)), "%v %+v", sign, cfg)
		}
	}
}

// A fit on a sample of some rows equals a fit on a table of these rows if the cuts are equal.
func TestASampleLearnsOnlyItsTrainingRows(t *testing.T) {
	whole := coarse(300, 9)
	binned, err := gbt.NewBinned(whole, 0)
	require.NoError(t, err)
	var train, valid []int
	for i := range 300 {
		if i%5 == 0 {
			valid = append(valid, i)
		} else {
			train = append(train, i)
		}
	}
	want, err := gbt.FitRegression(whole.Select(train), whole.Select(valid), gbt.Config{EarlyStop: 3})
	require.NoError(t, err)
	for _, rows := range [][]int{train, nil} { // nil: all but Valid
		got, err := gbt.Sample{Binned: binned, Y: whole.Y, Train: rows, Valid: valid}.Regression(gbt.Config{EarlyStop: 3})
		require.NoError(t, err)
		require.Equal(t, want.Trees(), got.Trees())
		require.InDeltaSlice(t, predictions(want, whole), predictions(got, whole), 1e-9)
	}
}

// With a base score of 3·b the trees learn y − 3·b.
func TestTreesLearnTheResidualOfTheBaseScore(t *testing.T) {
	whole := coarse(300, 4)
	binned, err := gbt.NewBinned(whole, 0)
	require.NoError(t, err)
	base, residual := make([]float64, 300), make([]float64, 300)
	for i := range base {
		base[i] = 3 * whole.Row(i)[1]
		residual[i] = whole.Y[i] - base[i]
	}
	for _, cfg := range []gbt.Config{{}, {EarlyStop: 5, Subsample: 0.7}} {
		a, err := gbt.Sample{Binned: binned, Y: whole.Y, Base: base}.Regression(cfg)
		require.NoError(t, err)
		b, err := gbt.Sample{Binned: binned, Y: residual}.Regression(cfg)
		require.NoError(t, err)
		require.InDeltaSlice(t, predictions(b, whole), predictions(a, whole), 1e-9)
	}
}

func TestInvalidTrainingDataIsRejected(t *testing.T) {
	good := constant(10, 1)
	binned, err := gbt.NewBinned(good, 0)
	require.NoError(t, err)
	regression := func(t *table.Table, cfg gbt.Config) error { _, err := gbt.FitRegression(t, nil, cfg); return err }
	for claim, c := range map[string]struct {
		fit  func() error
		want error
	}{
		"no rows":                   {func() error { return regression(&table.Table{Names: []string{"a"}}, gbt.Config{}) }, table.ErrShape},
		"a learning rate above one": {func() error { return regression(good, gbt.Config{LearningRate: 2}) }, gbt.ErrConfig},
		"too many bins":             {func() error { return regression(good, gbt.Config{MaxBins: 256}) }, gbt.ErrConfig},
		"a depth above the maximum": {func() error { return regression(good, gbt.Config{MaxDepth: 33}) }, gbt.ErrConfig},
		"a quantile of one":         {func() error { _, err := gbt.FitQuantile(good, nil, 1, gbt.Config{}); return err }, gbt.ErrTarget},
		"a class out of range":      {func() error { _, err := gbt.FitClassifier(good, nil, 1, gbt.Config{}); return err }, gbt.ErrTarget},
		"a fractional class":        {func() error { _, err := gbt.FitClassifier(constant(9, 0.5), nil, 2, gbt.Config{}); return err }, gbt.ErrTarget},
		"targets that overflow":     {func() error { return regression(&table.Table{Y: []float64{1e308, -1e308, -1e308}}, gbt.Config{}) }, gbt.ErrTarget},
		"validation rows with other columns": {func() error {
			_, err := gbt.FitRegression(good, synthetic(10, 2, 0, 1), gbt.Config{})
			return err
		}, table.ErrShape},
		"a row number out of range": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Train: []int{10}}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"a duplicate row": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Train: []int{1, 1}}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"no training rows left": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Valid: allRows(10)}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"a weight of zero": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, W: make([]float64, 10)}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"a base score of a classifier": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Base: good.Y}.Classifier(2, gbt.Config{})
			return err
		}, gbt.ErrConfig},
	} {
		t.Run(claim, func(t *testing.T) { require.ErrorIs(t, c.fit(), c.want) })
	}
}

func TestShiftedPredictionsAreHigherByTheShift(t *testing.T) {
	tab := coarse(200, 3)
	r, err := gbt.FitRegression(tab, nil, gbt.Config{Rounds: 5})
	require.NoError(t, err)
	before, shifted := predictions(r, tab), predictions(r.Shifted(0.5), tab)
	for i := range before {
		require.InDelta(t, before[i]+0.5, shifted[i], 1e-12)
	}
	require.Equal(t, before, predictions(r, tab), "the original must not change")
}
