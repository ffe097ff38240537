package tune_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/tune"
)

type searcher func(tune.Space, int, uint64, func([]float64) (float64, error)) ([]tune.Trial, error)

var searchers = map[string]searcher{"random": tune.Random, "bayes": tune.Bayes}

type function struct {
	space tune.Space
	f     func(x []float64) float64
	at    []float64 // a point with the minimum
	least float64   // the minimum
}

func (f function) loss(x []float64) (float64, error) { return f.f(x), nil }

func cube(d int, low, high float64) tune.Space {
	space := make(tune.Space, d)
	for i := range space {
		space[i] = tune.Dimension{Name: fmt.Sprint("x", i), Low: low, High: high}
	}
	return space
}

// functions lists test functions. Definitions and minima: Dixon & Szegő (1978), "The global optimization problem".
var functions = map[string]function{
	"branin": {
		space: tune.Space{{Name: "x0", Low: -5, High: 10}, {Name: "x1", Low: 0, High: 15}},
		f: func(x []float64) float64 {
			a := x[1] - 5.1/(4*math.Pi*math.Pi)*x[0]*x[0] + 5/math.Pi*x[0] - 6
			return a*a + 10*(1-1/(8*math.Pi))*math.Cos(x[0]) + 10
		},
		at: []float64{math.Pi, 2.275}, least: 0.397887,
	},
	"hartmann3": {
		space: cube(3, 0, 1),
		f: hartmann(
			[][]float64{{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}},
			[][]float64{{0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470}, {0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828}}),
		at: []float64{0.114614, 0.555649, 0.852547}, least: -3.86278,
	},
	"hartmann6": {
		space: cube(6, 0, 1),
		f: hartmann(
			[][]float64{{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}},
			[][]float64{{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886}, {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991}, {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650}, {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}}),
		at: []float64{0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}, least: -3.32237,
	},
	"goldstein-price": {
		space: cube(2, -2, 2),
		f: func(x []float64) float64 {
			a, b := x[0], x[1]
			return (1 + (a+b+1)*(a+b+1)*(19-14*a+3*a*a-14*b+6*a*b+3*b*b)) * (30 + (2*a-3*b)*(2*a-3*b)*(18-32*a+12*a*a+48*b-36*a*b+27*b*b))
		},
		at: []float64{0, -1}, least: 3,
	},
}

func hartmann(a, p [][]float64) func([]float64) float64 {
	return func(x []float64) float64 {
		sum := 0.0
		for i, height := range []float64{1, 1.2, 3, 3.2} {
			far := 0.0
			for j, v := range x {
				far += a[i][j] * (v - p[i][j]) * (v - p[i][j])
			}
			sum -= height * math.Exp(-far)
		}
		return sum
	}
}

func TestFunctionsHaveTheirPublishedMinima(t *testing.T) {
	for name, f := range functions {
		assert.InDelta(t, f.least, f.f(f.at), 1e-5, name)
	}
}

// regret returns the mean over 20 seeds of the distance between the best of 30 trials and the
// minimum.
func regret(tb testing.TB, f function, search searcher) float64 {
	sum := 0.0
	for seed := range uint64(20) {
		trials, err := search(f.space, 30, seed, f.loss)
		require.NoError(tb, err)
		sum += tune.Best(trials).Loss - f.least
	}
	return sum / 20
}

func TestBayesHasLessRegretThanRandom(t *testing.T) {
	for name, f := range functions {
		random, bayes := regret(t, f, tune.Random), regret(t, f, tune.Bayes)
		t.Logf("%-16s random %8.4f  bayes %8.4f", name, random, bayes)
		assert.Less(t, bayes, random/2, name)
	}
}

func TestBayesConvergesToTheMinimum(t *testing.T) {
	bowl := function{space: cube(3, -1, 1), f: func(x []float64) float64 {
		return (x[0]-0.3)*(x[0]-0.3) + (x[1]+0.2)*(x[1]+0.2) + (x[2]-0.7)*(x[2]-0.7)
	}}
	assert.Less(t, regret(t, bowl, tune.Bayes), 2e-4)
}

func TestTheSameSeedGivesTheSameTrials(t *testing.T) {
	f := functions["hartmann3"]
	for name, search := range searchers {
		first, err := search(f.space, 20, 7, f.loss)
		require.NoError(t, err)
		before := runtime.GOMAXPROCS(1)
		again, err := search(f.space, 20, 7, f.loss)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		assert.Equal(t, first, again, name)
		other, err := search(f.space, 20, 8, f.loss)
		require.NoError(t, err)
		assert.NotEqual(t, first, other, name)
	}
}

func TestTrialsStayInTheSpace(t *testing.T) {
	space := tune.Space{
		{Name: "rounds", Low: 20, High: 400, Log: true, Integer: true}, {Name: "depth", Low: 2, High: 8, Integer: true},
		{Name: "rate", Low: 0.001, High: 1, Log: true}, {Name: "share", Low: 0.4, High: 1}, {Name: "fixed", Low: 3, High: 3},
	}
	loss := func(x []float64) (float64, error) {
		return math.Pow(math.Log(x[0]*x[2]/10), 2) + math.Abs(x[1]-5), nil
	}
	for name, search := range searchers {
		trials, err := search(space, 40, 1, loss)
		require.NoError(t, err)
		require.Len(t, trials, 40)
		slow := 0
		for _, trial := range trials {
			require.Len(t, trial.Params, len(space))
			for i, d := range space {
				v := trial.Params[i]
				assert.True(t, v >= d.Low && v <= d.High && (!d.Integer || v == math.Trunc(v)), "%s: %s is %v", name, d.Name, v)
			}
			want, _ := loss(trial.Params)
			assert.Equal(t, want, trial.Loss)
			if trial.Params[2] < 0.032 { // the middle of the logarithms
				slow++
			}
		}
		if name == "random" {
			assert.InDelta(t, 20, slow, 8, "rates are drawn on a logarithmic scale")
		}
	}
}

func TestTheBoundsOfAnIntegerDimensionAreAsLikelyAsTheRest(t *testing.T) {
	seen := map[float64]int{}
	_, err := tune.Random(tune.Space{{Name: "n", Low: 1, High: 4, Integer: true}}, 4000, 1, func(x []float64) (float64, error) {
		seen[x[0]]++
		return 0, nil
	})
	require.NoError(t, err)
	require.Len(t, seen, 4)
	for n, count := range seen {
		assert.InDelta(t, 1000, count, 150, "%v", n)
	}
}

func TestBayesPrefersNewPointsAndThenRepeatsTheBest(t *testing.T) {
	space := tune.Space{{Name: "depth", Low: 1, High: 9, Integer: true}}
	trials, err := tune.Bayes(space, 14, 3, func(x []float64) (float64, error) { return math.Abs(x[0] - 6), nil })
	require.NoError(t, err)
	seen := map[float64]bool{}
	for _, trial := range trials[:9] {
		seen[trial.Params[0]] = true
	}
	assert.GreaterOrEqual(t, len(seen), 8, "the first four trials may contain a duplicate")
	for _, trial := range trials[10:] {
		assert.Equal(t, 6.0, trial.Params[0], "afterwards the best point is repeated")
	}
}

func TestSearchInOneOrNoFreeDimension(t *testing.T) {
	for name, search := range searchers {
		one, err := search(cube(1, -3, 3), 15, 1, func(x []float64) (float64, error) { return (x[0] - 1) * (x[0] - 1), nil })
		require.NoError(t, err, name)
		assert.Less(t, tune.Best(one).Loss, map[string]float64{"random": 0.5, "bayes": 1e-4}[name], name)
		fixed, err := search(cube(2, 5, 5), 8, 1, func(x []float64) (float64, error) { return x[0] + x[1], nil })
		require.NoError(t, err, name)
		require.Len(t, fixed, 8)
		assert.Equal(t, tune.Trial{Params: []float64{5, 5}, Loss: 10}, fixed[7], name)
	}
}

func TestAFailedTrialIsTheWorstAndTheSearchContinues(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		loss := func(x []float64) (float64, error) { // half of the space fails
			if x[0] > 0 {
				return bad, nil
			}
			return (x[0] + 1) * (x[0] + 1), nil
		}
		for name, search := range searchers {
			trials, err := search(cube(1, -3, 3), 20, 2, loss)
			require.NoError(t, err)
			failed := 0
			for _, trial := range trials {
				assert.Equal(t, trial.Params[0] > 0, math.IsInf(trial.Loss, 1))
				if trial.Params[0] > 0 {
					failed++
				}
			}
			if name == "bayes" {
				assert.Less(t, tune.Best(trials).Loss, 1e-3, name)
				assert.Less(t, failed, 7, "the search avoids the failing half")
			}
		}
	}
	trials, err := tune.Bayes(cube(2, 0, 1), 12, 1, func([]float64) (float64, error) { return math.NaN(), nil })
	require.NoError(t, err)
	assert.Len(t, trials, 12, "the search continues if all trials fail")
}

func TestAnErrorStopsTheSearchAndKeepsTheTrials(t *testing.T) {
	broken := errors.New("out of rows")
	for name, search := range searchers {
		calls := 0
		trials, err := search(cube(2, 0, 1), 20, 1, func([]float64) (float64, error) {
			if calls++; calls == 11 {
				return 0, broken
			}
			return 1, nil
		})
		require.ErrorIs(t, err, broken, name)
		assert.ErrorContains(t, err, "trial 11")
		assert.Len(t, trials, 10)
	}
}

func TestBestIsTheLowestAndEarliest(t *testing.T) {
	trials := []tune.Trial{{[]float64{1}, math.Inf(1)}, {[]float64{2}, 5}, {[]float64{3}, 4}, {[]float64{4}, 4}}
	assert.Equal(t, []float64{3}, tune.Best(trials).Params)
	assert.Equal(t, []float64{1}, tune.Best(trials[:1]).Params)
	assert.True(t, math.IsInf(tune.Best(nil).Loss, 1))
}

func TestALossFunctionCannotChangeTheTrials(t *testing.T) {
	trials, err := tune.Random(cube(1, 1, 2), 3, 1, func(x []float64) (float64, error) {
		x[0] = 99
		return 0, nil
	})
	require.NoError(t, err)
	for _, trial := range trials {
		assert.LessOrEqual(t, trial.Params[0], 2.0)
	}
}

func TestAnInvalidDimensionIsNamed(t *testing.T) {
	nan := math.NaN()
	for claim, d := range map[string]tune.Dimension{
		"a lower bound above the upper one":    {Low: 2, High: 1},
		"a bound of NaN":                       {Low: nan, High: 1},
		"an infinite upper bound":              {Low: 0, High: math.Inf(1)},
		"two infinite bounds":                  {Low: math.Inf(1), High: math.Inf(1)},
		"an infinite difference of the bounds": {Low: -math.MaxFloat64, High: math.MaxFloat64},
		"a logarithmic scale from zero":        {Low: 0, High: 1, Log: true},
		"a fractional lower bound of integers": {Low: 0.5, High: 3, Integer: true},
		"a fractional upper bound of integers": {Low: 0, High: 3.5, Integer: true},
	} {
		for name, search := range searchers {
			d.Name = "invalid"
			trials, err := search(append(cube(1, 0, 1), d), 5, 0, nil)
			assert.ErrorIs(t, err, tune.ErrSpace, "%s: %s", name, claim)
			assert.ErrorContains(t, err, ": invalid from")
			assert.Empty(t, trials)
		}
	}
	for name, search := range searchers {
		_, err := search(nil, 5, 0, nil)
		assert.ErrorIs(t, err, tune.ErrSpace, name)
		_, err = search(cube(1, 0, 1), 0, 0, nil)
		assert.ErrorIs(t, err, tune.ErrSpace, name)
	}
}

func FuzzBayes(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		space := make(tune.Space, 1+rng.IntN(4))
		for i := range space {
			low := math.Trunc(rng.ExpFloat64()*10) + 1
			space[i] = tune.Dimension{Name: "x", Low: low, High: low + math.Trunc(rng.ExpFloat64()*10), Log: rng.IntN(2) == 0, Integer: rng.IntN(2) == 0}
		}
		scale := math.Pow(10, float64(rng.IntN(600)-300))
		loss := func([]float64) (float64, error) { // losses that no kernel can model
			if rng.IntN(5) == 0 {
				return math.NaN(), nil
			}
			return math.Trunc(rng.NormFloat64()*2) * scale, nil
		}
		trials, err := tune.Bayes(space, 12, seed, loss)
		require.NoError(t, err)
		require.Len(t, trials, 12)
		for _, trial := range trials {
			for i, d := range space {
				v := trial.Params[i]
				require.True(t, v >= d.Low && v <= d.High && (!d.Integer || v == math.Trunc(v)), "%v in %+v", v, d)
			}
		}
	})
}

// The evaluations are cheap, so the benchmark measures the overhead of the search.
func BenchmarkBayes30TrialsOf6Dimensions(b *testing.B) {
	f := functions["hartmann6"]
	for b.Loop() {
		if _, err := tune.Bayes(f.space, 30, 1, f.loss); err != nil {
			b.Fatal(err)
		}
	}
}
