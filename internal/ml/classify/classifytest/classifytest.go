// Package classifytest is the exam that every family of classifiers sits: the
// promises of classify.Classifier and classify.LevelFamily, and that it learns.
//
// A family of bins sits it as classify.Binned. What is fitted is seeded: the exam
// passes or fails alike every time.
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

// Run holds a family to the laws, and to learning what can be learned.
func Run(t *testing.T, f classify.LevelFamily) {
	Laws(t, f)
	t.Run("beats the prior where the features tell", func(t *testing.T) { learns(t, f) })
}

// Laws holds a family to the contract alone, for one that does not learn from
// features.
func Laws(t *testing.T, f classify.LevelFamily) {
	assert.NotEmpty(t, f.Name())
	for claim, lesson := range lessons() {
		t.Run(claim, func(t *testing.T) {
			c := fit(t, f, lesson.table, lesson.edges, 1)
			assert.Equal(t, len(lesson.edges), c.Bins())
			for i := range lesson.table.Rows() {
				legal(t, c, lesson.table.Row(i))
			}
			for _, odd := range []float64{math.NaN(), 0, -1e9, 1e9} {
				x := make([]float64, lesson.table.Cols())
				for j := range x {
					x[j] = odd
				}
				legal(t, c, x)
			}
		})
	}
	t.Run("refuses what cannot be learned", func(t *testing.T) { refuses(t, f) })
	t.Run("the same seed gives the same classifier", func(t *testing.T) { repeats(t, f) })
	t.Run("allocates nothing", func(t *testing.T) { allocates(t, f) })
	t.Run("answers many goroutines alike", func(t *testing.T) { concurrent(t, f) })
	t.Run("comes back from its bytes", func(t *testing.T) { returns(t, f) })
}

type lesson struct {
	table *table.Table
	edges []float64
}

// lessons are tables that a young or odd task brings.
func lessons() map[string]lesson {
	three := []float64{1, 2, 9}
	sparse := Learnable(60, 5)
	for i := range sparse.X {
		if i%3 == 0 {
			sparse.X[i] = math.NaN()
		}
	}
	return map[string]lesson{
		"an ordinary table":   {Learnable(200, 1), three},
		"bins without a row":  {Learnable(80, 2), []float64{-50, -40, 1, 40, 50}},
		"all rows in one bin": {Learnable(80, 3), []float64{40, 50}},
		"a single bin":        {Learnable(80, 3), []float64{40}},
		"levels above the top": {
			&table.Table{Names: []string{"a"}, X: []float64{1, 2, 3}, Y: []float64{0, 99, 99}}, three},
		"one row":             {&table.Table{Names: []string{"a"}, X: []float64{4}, Y: []float64{1.5}}, three},
		"two rows":            {&table.Table{Names: []string{"a"}, X: []float64{4, 5}, Y: []float64{0, 1.5}}, three},
		"no columns":          {&table.Table{Y: []float64{0, 1, 1.5, 8}}, three},
		"a constant column":   {&table.Table{Names: []string{"a"}, X: []float64{7, 7, 7, 7}, Y: []float64{0, 1, 1.5, 8}}, three},
		"an all-missing one":  {&table.Table{Names: []string{"a"}, X: []float64{math.NaN(), math.NaN()}, Y: []float64{0, 8}}, three},
		"a third missing":     {sparse, three},
		"uneven weights":      {weighted(Learnable(100, 4)), three},
		"the same row, often": {Learnable(50, 6).Select(make([]int, 40)), three},
	}
}

// Learnable is a seeded table of n rows: level = 1.5·a + (b > ½) + noise/4, where a
// tenth of the cells are missing and c says nothing.
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

func legal(t *testing.T, c classify.Classifier, x []float64) {
	t.Helper()
	p, sum := ask(c, x), 0.0
	for _, v := range p {
		require.True(t, v >= 0 && v <= 1, "P(bin | %v) = %v", x, p)
		sum += v
	}
	require.InDelta(t, 1, sum, 1e-9, "P(bin | %v) = %v", x, p)
}

// ask starts from rubbish, since a caller reuses p.
func ask(c classify.Classifier, x []float64) []float64 {
	p := make([]float64, c.Bins())
	for bin := range p {
		p[bin] = math.NaN()
	}
	c.Probabilities(x, p)
	return p
}

func refuses(t *testing.T, f classify.LevelFamily) {
	good := &table.Table{Names: []string{"a"}, X: []float64{1, 2}, Y: []float64{1, 2}}
	for claim, l := range map[string]lesson{
		"no rows":             {&table.Table{Names: []string{"a"}}, []float64{1}},
		"shapes differ":       {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{1, 2}}, []float64{1}},
		"a missing level":     {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{math.NaN()}}, []float64{1}},
		"a weight of zero":    {&table.Table{Names: []string{"a"}, X: []float64{1}, Y: []float64{1}, W: []float64{0}}, []float64{1}},
		"no bins":             {good, nil},
		"edges do not ascend": {good, []float64{2, 1}},
		"an edge is missing":  {good, []float64{math.NaN(), 1}},
	} {
		c, err := f.FitLevels(l.table, l.edges, 1)
		assert.Error(t, err, claim)
		assert.Nil(t, c, claim)
	}
}

func repeats(t *testing.T, f classify.LevelFamily) {
	rows, edges := Learnable(300, 7), []float64{1, 2, 9}
	before := append([]float64(nil), rows.X...)
	one, two := fit(t, f, rows, edges, 5), fit(t, f, rows, edges, 5)
	for i := range rows.Rows() {
		require.Equal(t, ask(one, rows.Row(i)), ask(two, rows.Row(i)))
	}
	for i, v := range rows.X {
		require.Equal(t, math.Float64bits(before[i]), math.Float64bits(v), "fitting left the table alone")
	}
}

func allocates(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(300, 8)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	x, p := rows.Row(0), make([]float64, 3)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { c.Probabilities(x, p) }))
}

func concurrent(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(100, 9)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	var alone, together [100][]float64
	for i := range alone {
		alone[i] = ask(c, rows.Row(i))
	}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range together {
				p := ask(c, rows.Row(i))
				if worker == i%8 {
					together[i] = p
				}
			}
		})
	}
	all.Wait()
	assert.Equal(t, alone, together)
}

// returns holds a classifier that can be stored to coming back bit for bit, and to
// refusing bytes that were harmed.
func returns(t *testing.T, f classify.LevelFamily) {
	rows := Learnable(200, 10)
	c := fit(t, f, rows, []float64{1, 2, 9}, 1)
	if _, storable := c.(encoding.BinaryMarshaler); !storable {
		_, err := classify.Encode(c)
		assert.ErrorIs(t, err, classify.ErrFormat, "what has no bytes says so")
		return
	}
	b, err := classify.Encode(c)
	require.NoError(t, err)
	back, err := classify.Decode(b)
	require.NoError(t, err)
	for i := range rows.Rows() {
		require.Equal(t, ask(c, rows.Row(i)), ask(back, rows.Row(i)))
	}
	again, err := classify.Encode(back)
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

// learns asks for a clear gain over the prior on rows it has not seen, in log
// loss: a family that never says "impossible" cannot fail by a single row.
func learns(t *testing.T, f classify.LevelFamily) {
	edges := []float64{1, 2, 9}
	train, test := Learnable(500, 11), Learnable(500, 12)
	loss := func(f classify.LevelFamily) (total float64) {
		c := fit(t, f, train, edges, 1)
		bins := classify.Cut(test, edges)
		for i := range test.Rows() {
			total -= math.Log(ask(c, test.Row(i))[int(bins.Y[i])])
		}
		return total / float64(test.Rows())
	}
	assert.Less(t, loss(f), 0.7*loss(classify.Binned{Family: classify.Prior{}}))
}
