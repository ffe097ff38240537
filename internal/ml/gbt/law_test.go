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

// fits are the two regression losses, which share most laws. Gradients at the 0.75
// quantile add up without rounding, so equal gains stay equal.
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

// coarse is rows of few distinct values, so that binning is exact, some missing.
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

// Forty rows: y is 0 up to size 19 and 10 from 20 on. The mean is 5, the first
// residual ±5; a leaf of 20 rows takes 0.1·100/(20+1) of it, a tenth less every
// round: after 100 rounds 5·(1−0.1·20/21)^100 = 0.0002 is left.
func TestAStepIsFoundAndApproached(t *testing.T) {
	step := &table.Table{Names: []string{"size"}}
	for i := range 40 {
		step.X, step.Y = append(step.X, float64(i)), append(step.Y, float64(i/20*10))
	}
	r, err := gbt.FitRegression(step, nil, gbt.Config{})
	require.NoError(t, err)
	left := 5 * math.Pow(1-0.1*20/21, 100)
	assert.InDelta(t, left, r.Predict([]float64{19}), 1e-9)
	assert.InDelta(t, 10-left, r.Predict([]float64{20}), 1e-9)
	assert.InDelta(t, left, r.Predict([]float64{19.5}), 1e-9, "the cut is midway, and belongs to the left")
	assert.InDelta(t, 10-left, r.Predict([]float64{19.51}), 1e-9)
}

func TestAConstantAddedToTheTargetIsAddedToThePrediction(t *testing.T) {
	for name, fit := range fits {
		t.Run(name, func(t *testing.T) {
			low := coarse(300, 1)
			high := low.Select(rest(300))
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

func rest(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Every third row counts twice: by weight, or by standing there twice.
func TestWeightTwoIsTheRowTwice(t *testing.T) {
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

func TestProbabilitiesSumToOneEvenForAClassWithoutARow(t *testing.T) {
	train := wave(400, 4, 3, 1)
	c, err := gbt.FitClassifier(train, nil, 5, gbt.Config{}) // classes 3 and 4 have no row
	require.NoError(t, err)
	p := make([]float64, 5)
	for i := range train.Rows() {
		x := train.Row(i)
		x[i%4] = math.NaN() // never missing in training
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
	test := wave(2000, 4, 3, 8)
	c, err := gbt.FitClassifier(wave(2000, 4, 3, 7), nil, 3, gbt.Config{})
	require.NoError(t, err)
	p, hits := make([]float64, 3), 0
	for i := range test.Rows() {
		c.Probabilities(test.Row(i), p)
		if y := int(test.Y[i]); p[y] >= max(p[0], p[1], p[2]) {
			hits++
		}
	}
	require.Greater(t, hits, 1500) // 0.65 is what the best linear rule reaches
}

// 0.9 of new rows should lie below the 0.9 quantile: 3 standard errors of 2,000
// rows are 0.02, and the fit errs a little itself.
func TestTheQuantileIsExceededAsOftenAsItSays(t *testing.T) {
	test := wave(2000, 3, 0, 6)
	r, err := gbt.FitQuantile(wave(4000, 3, 0, 5), nil, 0.9, gbt.Config{MinLeafRows: 40})
	require.NoError(t, err)
	below := 0.0
	for i, y := range test.Y {
		if y <= r.Predict(test.Row(i)) {
			below++
		}
	}
	require.InDelta(t, 0.9, below/2000, 0.03)
}

func TestSmallAndStrangeTablesAreLearned(t *testing.T) {
	nan := math.NaN()
	for claim, c := range map[string]struct {
		table *table.Table
		x     []float64
		want  float64
	}{
		"one row is its own prediction":         {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{7}}, []float64{5}, 7},
		"a constant target is predicted as is":  {constant(50, 0.1), []float64{3}, 0.1},
		"a column without a value says nothing": {&table.Table{Names: []string{"a"}, X: []float64{nan, nan, nan}, Y: []float64{1, 1, 1}}, []float64{5}, 1},
		"no column at all":                      {&table.Table{Y: []float64{4, 4}}, nil, 4},
		"infinities are the largest numbers":    {infinite(), []float64{math.Inf(1)}, 10},
		"and the smallest":                      {infinite(), []float64{math.Inf(-1)}, 0},
	} {
		for name, fit := range fits {
			t.Run(claim+"/"+name, func(t *testing.T) {
				r, err := fit(c.table, nil, gbt.Config{})
				require.NoError(t, err)
				assert.InDelta(t, c.want, r.Predict(c.x), 1e-2)
				if c.x == nil || !math.IsInf(c.x[0], 0) {
					assert.Zero(t, r.Trees(), "a round that splits nothing is not kept")
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

// infinite has sizes −Inf with 0 and +Inf with 10, twenty rows each.
func infinite() *table.Table {
	t := &table.Table{Names: []string{"a"}}
	for range 20 {
		t.X, t.Y = append(t.X, math.Inf(-1), math.Inf(1)), append(t.Y, 0, 10)
	}
	return t
}

// y is 10 where the size is missing, 0 elsewhere, and the other way round.
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

// Of 100 rows 75 sit at size 1, so a size never missing in training follows them.
func TestAMissingValueNeverSeenFollowsTheLargerChild(t *testing.T) {
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
	train := wave(500, 6, 3, 1)
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

// The target is noise: every tree makes the validation loss worse or hardly better.
func TestBoostingStopsWhenValidationSaysSo(t *testing.T) {
	noise := func(seed uint64) *table.Table {
		t, rng := wave(200, 5, 0, seed), rand.New(rand.NewPCG(seed, 3))
		for i := range t.Y {
			t.Y[i] = rng.NormFloat64()
		}
		return t
	}
	given, err := gbt.FitRegression(noise(1), noise(2), gbt.Config{EarlyStop: 5})
	require.NoError(t, err)
	assert.Less(t, given.Trees(), 15)
	drawn, err := gbt.FitRegression(noise(1), nil, gbt.Config{EarlyStop: 5})
	require.NoError(t, err)
	assert.Less(t, drawn.Trees(), 15)
	patient, err := gbt.FitRegression(wave(200, 5, 0, 1), wave(200, 5, 0, 2), gbt.Config{Subsample: 0.2, EarlyStop: 50})
	require.NoError(t, err)
	hasty, err := gbt.FitRegression(wave(200, 5, 0, 1), wave(200, 5, 0, 2), gbt.Config{Subsample: 0.2, EarlyStop: 1})
	require.NoError(t, err)
	assert.Less(t, hasty.Trees(), patient.Trees(), "a later minimum is not waited for")
	all, err := gbt.FitRegression(noise(1), nil, gbt.Config{})
	require.NoError(t, err)
	assert.Equal(t, 100, all.Trees())
}

func TestMaxLeavesBoundsTheTree(t *testing.T) {
	train := wave(500, 3, 0, 1)
	r, err := gbt.FitRegression(train, nil, gbt.Config{Rounds: 1, MaxLeaves: 3, MaxDepth: 8})
	require.NoError(t, err)
	values := map[float64]bool{}
	for _, y := range predictions(r, train) {
		values[y] = true
	}
	assert.Len(t, values, 3)
}

// Of 40 rows the last 4, or the first, are dear: leaves of 5 cannot hold them
// alone, leaves of 4 can.
func TestALeafHoldsAsManyRowsAndAsMuchWeightAsAsked(t *testing.T) {
	dear := constant(40, 0)
	for i := 36; i < 40; i++ {
		dear.Y[i] = 100
	}
	for cfg, alone := range map[gbt.Config]bool{
		{MinLeafRows: 5}:                   false,
		{MinLeafRows: 4}:                   true,
		{MinLeafRows: 1, MinLeafWeight: 5}: false,
		{MinLeafRows: 1, MinLeafWeight: 4}: true,
	} {
		for _, sign := range []float64{1, -1} {
			for i := range dear.X {
				dear.X[i] = sign * float64(i)
			}
			r, err := gbt.FitRegression(dear, nil, cfg)
			require.NoError(t, err)
			assert.Equal(t, alone, r.Predict(dear.Row(36)) != r.Predict(dear.Row(35)), "%v %+v", sign, cfg)
		}
	}
}

// A sample that leaves rows out equals a table without them, given the same cuts.
func TestASampleLearnsItsTrainRowsOnly(t *testing.T) {
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

// A base score of 3·a leaves y − 3·a to be learned.
func TestABaseScoreIsCorrectedNotRepeated(t *testing.T) {
	whole := coarse(300, 4)
	binned, err := gbt.NewBinned(whole, 0)
	require.NoError(t, err)
	base, rest := make([]float64, 300), make([]float64, 300)
	for i := range base {
		base[i] = 3 * whole.Row(i)[1]
		rest[i] = whole.Y[i] - base[i]
	}
	for _, cfg := range []gbt.Config{{}, {EarlyStop: 5, Subsample: 0.7}} {
		a, err := gbt.Sample{Binned: binned, Y: whole.Y, Base: base}.Regression(cfg)
		require.NoError(t, err)
		b, err := gbt.Sample{Binned: binned, Y: rest}.Regression(cfg)
		require.NoError(t, err)
		require.InDeltaSlice(t, predictions(b, whole), predictions(a, whole), 1e-9)
	}
}

func TestWhatCannotBeLearnedIsRefused(t *testing.T) {
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
		"too deep":                  {func() error { return regression(good, gbt.Config{MaxDepth: 33}) }, gbt.ErrConfig},
		"a quantile of one":         {func() error { _, err := gbt.FitQuantile(good, nil, 1, gbt.Config{}); return err }, gbt.ErrTarget},
		"a class out of range":      {func() error { _, err := gbt.FitClassifier(good, nil, 1, gbt.Config{}); return err }, gbt.ErrTarget},
		"half a class":              {func() error { _, err := gbt.FitClassifier(constant(9, 0.5), nil, 2, gbt.Config{}); return err }, gbt.ErrTarget},
		"targets that overflow":     {func() error { return regression(&table.Table{Y: []float64{1e308, -1e308, -1e308}}, gbt.Config{}) }, gbt.ErrTarget},
		"a validation of other columns": {func() error {
			_, err := gbt.FitRegression(good, wave(10, 2, 0, 1), gbt.Config{})
			return err
		}, table.ErrShape},
		"a row beyond the table": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Train: []int{10}}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"a row twice": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Train: []int{1, 1}}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"everything held out": {func() error {
			_, err := gbt.Sample{Binned: binned, Y: good.Y, Valid: rest(10)}.Regression(gbt.Config{})
			return err
		}, table.ErrShape},
		"a weight of nothing": {func() error {
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
