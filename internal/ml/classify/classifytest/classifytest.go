// Package classifytest is the conformance suite for families of classifiers. It checks the
// contracts of classify.Classifier and classify.LevelFamily, and that a family learns.
//
// Wrap a classify.Family in a classify.BinnedFamily to run the suite on it. All data are seeded, so the
// result is deterministic.
package classifytest

import (
	"encoding"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Run checks the contract of a family, and that the family learns.
func Run(t *testing.T, f classify.LevelFamily) {
	RunContract(t, f)
	t.Run("beats the prior on informative features", func(t *testing.T) { beatsPrior(t, f) })
}

// RunContract checks the contract only, for a family that does not learn from features.
func RunContract(t *testing.T, f classify.LevelFamily) {
	assert.NotEmpty(t, f.Name())
	for name, dataset := range datasets() {
		t.Run(name, func(t *testing.T) {
			c := fit(t, f, dataset.table, dataset.edges, 1)
			assert.Equal(t, len(dataset.edges), c.Bins())
			for i := range dataset.table.Rows() {
				requireDistribution(t, c, dataset.table.Row(i))
			}
			for _, unusual := range []float64{math.NaN(), 0, -1e9, 1e9} {
				x := make([]float64, dataset.table.Cols())
				for j := range x {
					x[j] = unusual
				}
				requireDistribution(t, c, x)
			}
		})
	}
	t.Run("rejects invalid training data", func(t *testing.T) { rejectsInvalid(t, f) })
	t.Run("the same seed gives the same classifier", func(t *testing.T) { isDeterministic(t, f) })
	t.Run("does not allocate", func(t *testing.T) { doesNotAllocate(t, f) })
	t.Run("gives the same result in concurrent calls", func(t *testing.T) { isConcurrencySafe(t, f) })
	t.Run("decodes to the same classifier", func(t *testing.T) { roundTrips(t, f) })
}

type dataset struct {
	table *table.Table
	edges []float64
}

func datasets() map[string]dataset {
	three := []float64{1, 2, 9}
	sparse := Learnable(60, 5)
	for i := range sparse.X {
		if i%3 == 0 {
			sparse.X[i] = math.NaN()
		}
	}
	return map[string]dataset{
		"an ordinary table":   {Learnable(200, 1), three},
		"bins without a row":  {Learnable(80, 2), []float64{-50, -40, 1, 40, 50}},
		"all rows in one bin": {Learnable(80, 3), []float64{40, 50}},
		"a single bin":        {Learnable(80, 3), []float64{40}},
		"levels above the top edge": {
			&table.Table{Names: []string{"a"}, X: []float64{1, 2, 3}, Y: []float64{0, 99, 99}}, three},
		"one row":               {&table.Table{Names: []string{"a"}, X: []float64{4}, Y: []float64{1.5}}, three},
		"two rows":              {&table.Table{Names: []string{"a"}, X: []float64{4, 5}, Y: []float64{0, 1.5}}, three},
		"no columns":            {&table.Table{Y: []float64{0, 1, 1.5, 8}}, three},
		"a constant column":     {&table.Table{Names: []string{"a"}, X: []float64{7, 7, 7, 7}, Y: []float64{0, 1, 1.5, 8}}, three},
		"an all-missing column": {&table.Table{Names: []string{"a"}, X: []float64{math.NaN(), math.NaN()}, Y: []float64{0, 8}}, three},
		"a third missing":       {sparse, three},
		"uneven weights":        {weighted(Learnable(100, 4)), three},
		"many copies of a row":  {Learnable(50, 6).Select(make([]int, 40)), three},
	}
}

// Learnable returns a seeded table of n rows: level (the target, a log peak) = 1.5·a + (1 if b > ½) + noise/4, where a
// is uniform from 0 to 2, b from 0 to 1, and the noise is standard normal. About a tenth of the features are missing,
// and feature c is uninformative.
func Learnable(n int, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	t := &table.Table{Names: []string{"a", "b", "c"}}
	for range n {
		a, b, c := 2*rng.Float64(), rng.Float64(), rng.Float64()
		level := 1.5*a + 0.25*rng.NormFloat64()
		if b > 0.5 {
			level++
		}
		for _, v := range []float64{a, b, c} {
			if rng.IntN(10) == 0 {
				v = math.NaN()
			}
			t.X = append(t.X, v)
		}
		t.Y = append(t.Y, level)
	}
	return t
}

func weighted(t *table.Table) *table.Table {
	for i := range t.Rows() {
		t.W = append(t.W, math.Pow(10, float64(i%5)-2))
	}
	return t
}

func fit(t *testing.T, f classify.LevelFamily, rows *table.Table, edges []float64, seed uint64) classify.Classifier {
	t.Helper()
	c, err := f.FitLevels(rows, edges, seed)
	require.NoError(t, err)
	return c
}

func requireDistribution(t *testing.T, c classify.Classifier, x []float64) {
	t.Helper()
	p, sum := probabilities(c, x), 0.0
	for _, v := range p {
		require.True(t, v >= 0 && v <= 1, "every P(bin | %v) must be from 0 to 1: %v", x, p)
		sum += v
	}
	require.InDelta(t, 1, sum, 1e-9, "the sum of P(bin | %v) must be 1: %v", x, p)
}

// probabilities returns P(bin | x). It fills the slice with invalid values first, because
// callers of a classifier reuse the slice.
func probabilities(c classify.Classifier, x []float64) []float64 {
	p := make([]float64, c.Bins())
	for bin := range p {
		p[bin] = math.NaN()
	}
	c.Probabilities(x, p)
	return p
}

func rejectsInvalid(t *testing.T, f classify.LevelFamily) {
	good := &table.Table{Names: []string{"a"}, X: []float64{1, 2}, Y: []float64{1, 2}}
	for name, invalid := range map[string]dataset{
		"no rows":             {&table.Table{Names: []string{"a"}}, []float64{1}},
		"shapes differ":       {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{1, 2}}, []float64{1}},
		"a missing level":     {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{math.NaN()}}, []float64{1}},
		"a weight of zero":    {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{1}, W: []float64{0}}, []float64{1}},
		"no bins":             {good, nil},
		"edges do not ascend": {good, []float64{2, 1}},
		"an edge is NaN":      {good, []float64{math.NaN(), 1}},
	} {
		c, err := f.FitLevels(invalid.table, invalid.edges, 1)
		assert.Error(t, err, name)
		assert.Nil(t, c, name)
	}
}

func isDeterministic(t *testing.T, f classify.LevelFamily) {
	rows, edges := Learnable(300, 7), []float64{1, 2, 9}
	before := append([]float64(nil), rows.X...)
	one, two := fit(t, f, rows, edges, 5), fit(t, f, rows, edges, 5)
	for i := range rows.Rows() {
		require.Equal(t, probabilities(one, rows.Row(i)), probabilities(two, rows.Row(i)))
	}
	for i, v := range rows.X {
		require.Equal(t, math.Float64bits(before[i]), math.Float64bits(v), "fitting must not change the table")
	}
}

func doesNotAllocate(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(300, 8)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	x, p := rows.Row(0), make([]float64, 3)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Probabilities(x, p) }))
}

func isConcurrencySafe(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(100, 9)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	var alone, together [100][]float64
	for i := range alone {
		alone[i] = probabilities(c, rows.Row(i))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range together {
				p := probabilities(c, rows.Row(i))
				if worker == i%8 {
					together[i] = p
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, alone, together)
}

func roundTrips(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(200, 10)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	if _, storable := c.(encoding.BinaryMarshaler); !storable {
		_, err := classify.Encode(c)
		assert.ErrorIs(t, err, classify.ErrFormat, "Encode must return ErrFormat for a classifier without an encoding")
		return
	}
	b, err := classify.Encode(c)
	require.NoError(t, err)
	decoded, err := classify.Decode(b)
	require.NoError(t, err)
	for i := range rows.Rows() {
		require.Equal(t, probabilities(c, rows.Row(i)), probabilities(decoded, rows.Row(i)))
	}
	again, err := classify.Encode(decoded)
	require.NoError(t, err)
	assert.Equal(t, b, again)
	for i := 0; i < len(b); i += 1 + len(b)/200 {
		b[i] ^= 1
		_, err := classify.Decode(b)
		require.ErrorIs(t, err, classify.ErrFormat, "byte %d flipped", i)
		b[i] ^= 1
		_, err = classify.Decode(b[:i])
		require.ErrorIs(t, err, classify.ErrFormat, "cut at byte %d", i)
	}
}

func beatsPrior(t *testing.T, f classify.LevelFamily) {
	edges := []float64{1, 2, 9}
	train, test := Learnable(500, 11), Learnable(500, 12)
	loss := func(f classify.LevelFamily) (total float64) {
		c := fit(t, f, train, edges, 1)
		bins := classify.Cut(test, edges)
		for i := range test.Rows() {
			total -= math.Log(probabilities(c, test.Row(i))[int(bins.Y[i])])
		}
		return total / float64(test.Rows())
	}
	assert.Less(t, loss(f), 0.7*loss(classify.BinnedFamily{Family: classify.Prior{}}))
}
