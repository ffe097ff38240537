package svm_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/svm"
	"github.com/loadaware/loadaware/internal/ml/table"
)

var _ classify.Classifier = (*svm.Classifier)(nil)

func fit(t testing.TB, rows *table.Table, bins int, cfg svm.Config, seed uint64) *svm.Classifier {
	t.Helper()
	c, err := svm.Fit(rows, bins, cfg, seed)
	require.NoError(t, err)
	return c
}

func probabilities(c *svm.Classifier, x ...float64) []float64 {
	p := make([]float64, c.Bins())
	c.Probabilities(x, p)
	return p
}

func bytesOf(t *testing.T, c *svm.Classifier) []byte {
	t.Helper()
	b, err := c.MarshalBinary()
	require.NoError(t, err)
	return b
}

func requireDistribution(t *testing.T, p []float64, of any) {
	t.Helper()
	sum := 0.0
	for _, v := range p {
		require.True(t, v > 0 && v <= 1, "every probability must be above 0 and at most 1: %v: %v", of, p)
		sum += v
	}
	require.InDelta(t, 1, sum, 1e-12, "the sum of the probabilities must be 1: %v: %v", of, p)
}

// No line separates a ring from its middle.
func TestARingIsSeparatedFromItsMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	ring := &table.Table{Names: []string{"a", "b"}}
	for i := range 200 {
		radius, angle := 1+2*float64(i%2)+0.2*rng.NormFloat64(), 2*math.Pi*rng.Float64()
		ring.X = append(ring.X, 1e9+radius*math.Cos(angle), radius*math.Sin(angle))
		ring.Y = append(ring.Y, float64(i%2))
	}
	c := fit(t, ring, 2, svm.Config{}, 1)
	assert.Greater(t, probabilities(c, 1e9, 0.5)[0], 0.95)
	assert.Greater(t, probabilities(c, 1e9, 3)[1], 0.95)
	assert.Greater(t, probabilities(c, 1e9-3, 0)[1], 0.95)
}

func TestAHeavierBinGetsMoreProbability(t *testing.T) {
	rows := wave(300, 4, 3, 2)
	heavy := *rows
	for _, y := range rows.Y {
		heavy.W = append(heavy.W, 1+4*math.Floor(y/2)) // bin 2 five times
	}
	unweighted, weighted := fit(t, rows, 3, svm.Config{}, 1), fit(t, &heavy, 3, svm.Config{}, 1)
	before, after := 0.0, 0.0
	for i := range rows.Rows() {
		before += probabilities(unweighted, rows.Row(i)...)[2] / 300
		after += probabilities(weighted, rows.Row(i)...)[2] / 300
	}
	assert.Greater(t, after, before+0.05)
}

// The rows weigh 4. One additional row of weight 1 has 1/(4+1) of the probability, and the four bins share it equally: ¼ of ⅕
// for each.
func TestABinWithoutRowsGetsItsShareOfOneRow(t *testing.T) {
	rows := &table.Table{Names: []string{"a"}, X: []float64{1, 2}, Y: []float64{1, 3}, W: []float64{3, 1}}
	p := probabilities(fit(t, rows, 4, svm.Config{}, 1), 1)
	assert.InDelta(t, 0.05, p[0], 1e-12)
	assert.InDelta(t, 0.05, p[2], 1e-12)
	requireDistribution(t, p, "two of four bins")

	alone := &table.Table{Names: []string{"a"}, X: []float64{1, 2}, Y: []float64{1, 1}, W: []float64{3, 1}}
	prior, err := classify.Prior{}.Fit(alone, 3, 1)
	require.NoError(t, err)
	want := make([]float64, 3)
	prior.Probabilities(nil, want)
	assert.InDeltaSlice(t, want, probabilities(fit(t, alone, 3, svm.Config{}, 1), 1), 1e-12, "if only one bin has rows, the probabilities are those of the prior")
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	rows := wave(200, 5, 3, 3)
	one := bytesOf(t, fit(t, rows, 3, svm.Config{}, 1))
	cores := runtime.GOMAXPROCS(1)
	two := bytesOf(t, fit(t, rows, 3, svm.Config{}, 1))
	runtime.GOMAXPROCS(cores)
	assert.Equal(t, one, two)
	assert.NotEqual(t, one, bytesOf(t, fit(t, rows, 3, svm.Config{}, 2)), "the seed determines the folds")
}

// The default γ is 1/columns, and constant columns do not count.
func TestGammaIsScaledByTheColumnsThatVary(t *testing.T) {
	rows := wave(120, 4, 2, 4)
	for i := range rows.Rows() {
		rows.Row(i)[3] = 1e9
	}
	assert.Equal(t, bytesOf(t, fit(t, rows, 2, svm.Config{Gamma: 1. / 3}, 1)), bytesOf(t, fit(t, rows, 2, svm.Config{}, 1)))
}

func TestAnInfiniteValueIsAMissingOne(t *testing.T) {
	missing, infinite := wave(60, 3, 2, 7), wave(60, 3, 2, 7)
	missing.X[4], infinite.X[4] = math.NaN(), math.Inf(-1)
	a, b := fit(t, missing, 2, svm.Config{}, 1), fit(t, infinite, 2, svm.Config{}, 1)
	assert.Equal(t, bytesOf(t, a), bytesOf(t, b))
	assert.Equal(t, probabilities(a, 1, math.NaN(), 0), probabilities(a, 1, math.Inf(1), 0))
}

func TestUnitsDoNotMatter(t *testing.T) {
	rows := wave(150, 3, 3, 5)
	scaled := rows.Select(nil)
	for i := range rows.Rows() {
		x := rows.Row(i)
		scaled.X, scaled.Y = append(scaled.X, x[0]*1024, x[1]/4096, x[2]*1e12+5e12), append(scaled.Y, rows.Y[i])
	}
	a, b := fit(t, rows, 3, svm.Config{Tolerance: 1e-6}, 1), fit(t, scaled, 3, svm.Config{Tolerance: 1e-6}, 1)
	for i := range rows.Rows() {
		assert.InDeltaSlice(t, probabilities(a, rows.Row(i)...), probabilities(b, scaled.Row(i)...), 1e-5)
	}
}

func TestExtremesGiveValidProbabilities(t *testing.T) {
	extreme := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 1e-320, -1e200, 3e150}
	rng := rand.New(rand.NewPCG(6, 5))
	for round := range 200 {
		rows := &table.Table{Names: make([]string, 2)}
		for range 2 + rng.IntN(12) {
			rows.X = append(rows.X, extreme[rng.IntN(len(extreme))], extreme[rng.IntN(len(extreme))])
			rows.Y = append(rows.Y, float64(rng.IntN(4)))
			if round%2 == 1 {
				rows.W = append(rows.W, math.Pow(10, float64(rng.IntN(600)-300)))
			}
		}
		for _, cfg := range []svm.Config{{}, {C: 1e300}, {C: 1e-300, Gamma: 1e300}, {Gamma: 1e-300}} {
			c := fit(t, rows, 4, cfg, 1)
			for _, a := range extreme {
				for _, b := range extreme {
					requireDistribution(t, probabilities(c, a, b), []any{rows, cfg, a, b})
				}
			}
			var back svm.Classifier
			require.NoError(t, back.UnmarshalBinary(bytesOf(t, c)), "every fitted classifier can be decoded")
		}
	}
}

func TestFitRejectsInvalidInput(t *testing.T) {
	good := &table.Table{Names: []string{"a"}, X: []float64{1, 2}, Y: []float64{0, 1}}
	for claim, c := range map[string]struct {
		rows *table.Table
		bins int
		cfg  svm.Config
		want error
	}{
		"no rows":              {&table.Table{Names: []string{"a"}}, 2, svm.Config{}, table.ErrShape},
		"a row without values": {&table.Table{Names: []string{"a"}, Y: []float64{1}}, 2, svm.Config{}, table.ErrShape},
		"no bins":              {good, 0, svm.Config{}, svm.ErrTarget},
		"too many bins":        {good, 1001, svm.Config{}, svm.ErrTarget},
		"a bin out of range":   {good, 1, svm.Config{}, svm.ErrTarget},
		"a fractional bin":     {&table.Table{Y: []float64{0.5}}, 1, svm.Config{}, svm.ErrTarget},
		"weights overflow":     {&table.Table{Y: []float64{0, 0}, W: []float64{1e308, 1e308}}, 1, svm.Config{}, svm.ErrTarget},
		"a negative penalty":   {good, 2, svm.Config{C: -1}, svm.ErrConfig},
		"an infinite γ":        {good, 2, svm.Config{Gamma: math.Inf(1)}, svm.ErrConfig},
		"a tolerance of one":   {good, 2, svm.Config{Tolerance: 1}, svm.ErrConfig},
		"a γ of NaN":           {good, 2, svm.Config{Gamma: math.NaN()}, svm.ErrConfig},
	} {
		_, err := svm.Fit(c.rows, c.bins, c.cfg, 1)
		assert.ErrorIs(t, err, c.want, claim)
	}
}
