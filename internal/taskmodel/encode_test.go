package taskmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

var (
	number  = sizing.NumberValue
	text    = sizing.TextValue
	nothing = sizing.Value{}
	nan     = math.NaN()
)

// encoded returns the encoder of rows with the log peaks y; without y, the log peaks are zero.
func encoded(rows [][]sizing.Value, y ...float64) *encoder {
	var schema sizing.Schema
	for j := range rows[0] {
		field := sizing.Field{Name: fmt.Sprint("f", j)}
		for i := range rows {
			if v := rows[i][j]; v.Kind != sizing.Missing {
				field.Kind = v.Kind
			}
		}
		schema.Fields = append(schema.Fields, field)
	}
	if len(y) == 0 {
		y = make([]float64, len(rows))
	}
	return newEncoder(&schema, rows, y)
}

// requireSame requires equal numbers, and treats NaN as equal to NaN.
func requireSame(t *testing.T, want, got []float64, about string) {
	t.Helper()
	require.Len(t, got, len(want), about)
	for i := range want {
		if math.IsNaN(want[i]) {
			require.True(t, math.IsNaN(got[i]), "%s: %v", about, got)
			continue
		}
		require.InDelta(t, want[i], got[i], 1e-12, "%s: %v", about, got)
	}
}

func TestEncodingOfOneFeature(t *testing.T) {
	for name, c := range map[string]struct {
		rows       []sizing.Value
		value      sizing.Value // to encode
		line, tree []float64    // the columns of the linear models, and those of the trees
	}{
		"a number has its value and its logarithm":             {[]sizing.Value{number(1), number(5), number(9)}, number(3), []float64{3, math.Log1p(3000)}, []float64{3}},
		"the log column of a count is log1p":                   {[]sizing.Value{number(0), number(5), number(9)}, number(3), []float64{3, math.Log1p(3)}, []float64{3}},
		"with zeros, the unit is a low quantile of the others": {[]sizing.Value{number(0), number(.5), number(9)}, number(3), []float64{3, math.Log1p(6)}, []float64{3}},
		"the unit is at most 1":                                {[]sizing.Value{number(2000), number(5000), number(9000)}, number(3000), []float64{3000, math.Log1p(3000)}, []float64{3000}},
		"the log column is 0 for a number of another sign":     {[]sizing.Value{number(1), number(5), number(9)}, number(-3), []float64{-3, 0}, []float64{-3}},
		"numbers of both signs have no logarithm":              {[]sizing.Value{number(-1), number(5), number(9)}, number(3), []float64{3}, []float64{3}},
		"two different numbers have no logarithm":              {[]sizing.Value{number(1), number(5), number(5)}, number(5), []float64{5}, []float64{5}},
		"a feature that may be missing has a flag":             {[]sizing.Value{number(1), nothing, number(5)}, nothing, []float64{0, 1}, []float64{nan}},
		"the flag of a present feature is zero":                {[]sizing.Value{number(1), nothing, number(5)}, number(5), []float64{5, 0}, []float64{5}},
		"a feature that was never missing has no flag":         {[]sizing.Value{number(1), number(5), number(9)}, nothing, []float64{0, 0}, []float64{nan}},
		"a constant has no column":                             {[]sizing.Value{number(7), number(7)}, number(8), nil, nil},
		"a constant that may be missing has a column":          {[]sizing.Value{number(7), nothing}, number(7), []float64{7, 0}, []float64{7}},
		"a feature that is always missing has no column":       {[]sizing.Value{nothing, nothing}, number(8), nil, nil},
		"a bool is 0 or 1":                                     {[]sizing.Value{sizing.BoolValue(true), sizing.BoolValue(false)}, sizing.BoolValue(true), []float64{1}, []float64{1}},
		"two categories get a column each, by frequency":       {[]sizing.Value{text("a"), text("b"), text("b")}, text("b"), []float64{1, 0}, []float64{1, 0}},
		"a missing category is a level":                        {[]sizing.Value{text("a"), nothing}, nothing, []float64{1, 0}, []float64{1, 0}},
		"an unseen category has no level":                      {[]sizing.Value{text("a"), text("b"), text("c")}, text("d"), []float64{0, 0, 0}, []float64{0, 0, 0, 0}},
		"dates of one year have no month":                      {[]sizing.Value{text("2020-01-03"), text("2020-01-05")}, text("2020-01-04"), []float64{1, 0}, []float64{6, nan}},
		"a missing date is NaN for the trees":                  {[]sizing.Value{text("2020-01-03"), text("2020-01-05")}, nothing, []float64{0, 0}, []float64{nan, nan}},
	} {
		var rows [][]sizing.Value
		for _, v := range c.rows {
			rows = append(rows, []sizing.Value{v})
		}
		e := encoded(rows)
		line, tree := e.encode([]sizing.Value{c.value}, nil, nil)
		requireSame(t, c.line, line, name)
		requireSame(t, c.tree, tree, name)
	}
}

// Features include the first and the last day of a sale. A sale from 3 to 10 January lasts 7 days.
func TestDatePairsAreEncoded(t *testing.T) {
	e := encoded([][]sizing.Value{
		{text("2020-01-03"), text("2020-01-10"), number(1)},
		{text("2020-02-03"), text("2020-02-05"), number(2)},
	})
	line, tree := e.encode([]sizing.Value{text("2020-01-03"), text("2020-01-10"), number(1)}, nil, nil)
	requireSame(t, []float64{7, math.Log(8)}, line[len(line)-2:], "the line gets days and their log")
	assert.Equal(t, 7.0, tree[len(tree)-1])
	line, tree = e.encode([]sizing.Value{text("2020-01-10"), text("2020-01-03"), number(1)}, nil, nil)
	requireSame(t, []float64{-7, -math.Log(8)}, line[len(line)-2:], "a negative difference")
	assert.Equal(t, -7.0, tree[len(tree)-1])
	line, tree = e.encode([]sizing.Value{nothing, text("2020-01-03"), number(1)}, nil, nil)
	requireSame(t, []float64{0, 0}, line[len(line)-2:], "a missing date")
	assert.True(t, math.IsNaN(tree[len(tree)-1]))
}

// With a unit of one day, log(1 + x) of a difference x below one day would be almost x itself.
func TestShortDatePairsHaveASmallUnit(t *testing.T) {
	e := encoded([][]sizing.Value{
		{text("2020-01-03T00:00:00Z"), text("2020-01-03T03:00:00Z"), number(1)},
		{text("2020-02-03T00:00:00Z"), text("2020-02-04T00:00:00Z"), number(2)},
	})
	line, _ := e.encode([]sizing.Value{text("2020-01-03T00:00:00Z"), text("2020-01-04T00:00:00Z"), number(1)}, nil, nil)
	requireSame(t, []float64{1, math.Log(9)}, line[len(line)-2:], "eight times three hours")
}

// Of thirty levels, twenty-eight occur once and two occur ten times each. Only these two levels get a column of their own.
// The statistic, which is the smoothed mean log peak of a level, distinguishes the others.
func TestRareLevelsHaveOnlyAStatistic(t *testing.T) {
	var rows [][]sizing.Value
	var y []float64
	for i := range 28 {
		rows, y = append(rows, []sizing.Value{text(fmt.Sprint("rare", i))}), append(y, 20)
	}
	for i := range 20 {
		rows, y = append(rows, []sizing.Value{text(fmt.Sprint("often", i%2))}), append(y, 24)
	}
	e := encoded(rows, y...)
	assert.Equal(t, 2+1, e.LineWidth)
	assert.Equal(t, 2+1, e.TreeWidth)
	mean := (28*20.0 + 20*24) / 48
	assert.InDelta(t, mean, e.Mean, 1e-12)
	for i := range rows {
		e.learn(rows[i], y[i])
	}
	line, _ := e.encode([]sizing.Value{text("rare3")}, nil, nil)
	requireSame(t, []float64{0, 0, (20 + mean) / 2}, line, "one row of 20 and one of the mean")
	line, _ = e.encode([]sizing.Value{text("often1")}, nil, nil)
	requireSame(t, []float64{0, 1, (10*24 + mean) / 11}, line, "ten rows of 24 and one of the mean")
	line, _ = e.encode([]sizing.Value{text("never seen")}, nil, nil)
	requireSame(t, []float64{0, 0, mean}, line, "an unseen level has the task's mean")
}

// Of a hundred frequent levels 24 get a column of their own. One more column has the statistic.
func TestColumnsAreBounded(t *testing.T) {
	var rows [][]sizing.Value
	for i := range 300 {
		rows = append(rows, []sizing.Value{text(fmt.Sprint("level ", i%100))})
	}
	e := encoded(rows)
	assert.Equal(t, 24+1, e.LineWidth)
	assert.Equal(t, 24+1, e.TreeWidth)
}

// The statistic of a row contains earlier rows only. If it contained the peak of the row, the first row of a level would be
// predicted from its own peak.
func TestEncodingExcludesTheRowsOwnPeak(t *testing.T) {
	encodings := func(own float64) [][]float64 {
		rows := [][]sizing.Value{{text("a")}, {text("b")}, {text("c")}, {text("a")}, {text("a")}}
		y := []float64{20, 21, 22, own, 24}
		e := encoded(rows, y...)
		e.Mean = 21 // keep the mean fixed
		var all [][]float64
		for i := range rows {
			_, tree := e.encode(rows[i], nil, nil)
			all = append(all, tree)
			e.learn(rows[i], y[i])
		}
		return all
	}
	low, high := encodings(10), encodings(30)
	assert.Equal(t, low[:4], high[:4], "rows 0 to 3 must not depend on the peak of row 3")
	assert.NotEqual(t, low[4], high[4], "row 4 must depend on the peak of row 3")
}

func TestLearningDoesNotChangeTheWidthsOfTheEncoding(t *testing.T) {
	rows := [][]sizing.Value{{text("a"), number(1)}, {text("b"), number(2)}, {text("c"), number(7)}}
	e := encoded(rows)
	before, _ := e.encode(rows[0], nil, nil)
	for i := range 100 {
		e.learn([]sizing.Value{text(fmt.Sprint("new", i)), number(float64(i))}, 20)
	}
	after, tree := e.encode([]sizing.Value{text("new3"), number(3)}, nil, nil)
	assert.Len(t, after, len(before))
	assert.Len(t, after, e.LineWidth)
	assert.Len(t, tree, e.TreeWidth)
	lineNames, treeNames := e.columnNames()
	assert.Len(t, lineNames, e.LineWidth)
	assert.Len(t, treeNames, e.TreeWidth)
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	rows := [][]sizing.Value{{text("a"), number(1), text("2020-01-03"), text("2020-01-09")}, {text("b"), number(2), nothing, text("2020-01-09")}}
	e := encoded(rows)
	line, tree := e.encode(rows[0], nil, nil)
	assert.Zero(t, testing.AllocsPerRun(20, func() { line, tree = e.encode(rows[0], line[:0], tree[:0]) }))
}

func TestEqualFeaturesHaveEqualKeys(t *testing.T) {
	columns := []column{{Name: "kind", Kind: sizing.Category}, {Name: "size", Kind: sizing.Number}}
	key := func(kind, size sizing.Value) uint64 { return groupKey(columns, []sizing.Value{kind, size}, nil) }
	assert.Equal(t, key(text("a"), number(1)), key(text("a"), number(1)))
	assert.NotEqual(t, key(text("a"), number(1)), key(text("b"), number(1)))
	assert.NotEqual(t, key(text("a"), number(1)), key(text("a"), number(2)))
	assert.NotEqual(t, key(text("a"), nothing), key(text("a"), number(0)))
	before := key(text("a"), number(1))
	wider := append(columns, column{Name: "new", Kind: sizing.Bool})
	assert.Equal(t, before, groupKey(wider, []sizing.Value{text("a"), number(1), nothing}, nil), "a missing new feature must not change the key")
	columns[0].Kind = sizing.Missing // the feature is constant, so it has no column
	assert.Equal(t, before, key(text("a"), number(1)))
	assert.NotEqual(t, before, key(text("b"), number(1)), "the first other value of a constant must change the key")
}

func anyCells(rng *rand.Rand, kinds []sizing.ValueKind) []sizing.Value {
	var cells []sizing.Value
	for _, kind := range kinds {
		v := sizing.Value{Kind: kind}
		switch kind {
		case sizing.Number:
			v.Num = []float64{0, -1, 1e308, -1e308, 5e-324, rng.NormFloat64() * 1e6}[rng.IntN(6)]
		case sizing.Bool:
			v.Num = float64(rng.IntN(2))
		case sizing.Date:
			v.Num = float64(rng.IntN(4_000_000) - 1_000_000)
		case sizing.Category:
			v.Text = fmt.Sprint(rng.IntN(40))
		}
		if rng.IntN(5) == 0 {
			v = nothing
		}
		cells = append(cells, v)
	}
	return cells
}

// FuzzEncoding checks that the widths of any encoding stay the same and that the columns of the linear models
// (line) are finite.
func FuzzEncoding(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(10))
	f.Add(uint64(2), uint8(0), uint8(1))
	f.Add(uint64(3), uint8(9), uint8(200))
	f.Fuzz(func(t *testing.T, seed uint64, fields, n uint8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var schema sizing.Schema
		var kinds []sizing.ValueKind
		for j := range int(fields % 12) {
			kinds = append(kinds, sizing.ValueKind(1+rng.IntN(4)))
			schema.Fields = append(schema.Fields, sizing.Field{Name: fmt.Sprint("f", j), Kind: kinds[j]})
		}
		var rows [][]sizing.Value
		var y []float64
		for range 1 + int(n)%60 {
			rows, y = append(rows, anyCells(rng, kinds)), append(y, 20*rng.Float64())
		}
		e := newEncoder(&schema, rows, y)
		lineNames, treeNames := e.columnNames()
		require.Len(t, lineNames, e.LineWidth)
		require.Len(t, treeNames, e.TreeWidth)
		for range 20 {
			cells := anyCells(rng, kinds)
			line, tree := e.encode(cells, nil, nil)
			require.Len(t, line, e.LineWidth)
			require.Len(t, tree, e.TreeWidth)
			for _, v := range line {
				require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "the columns of the line must be finite: %v for %v", line, cells)
			}
			e.learn(cells, 20)
		}
	})
}

// The row and the donor row are from different years. The imputed second date must follow the row's first date after as many
// days as in the donor row.
func TestImputedDateKeepsTheDifferenceOfTheDonorRowDates(t *testing.T) {
	row := func(days ...string) (cells []sizing.Value) {
		for _, day := range days {
			cells = append(cells, text(day))
		}
		return cells
	}
	var rows [][]sizing.Value
	for i := range minMissingShare {
		rows = append(rows, row("2020-01-03", fmt.Sprintf("2020-01-%02d", 10+i)))
	}
	e := encoded(rows)
	incomplete := []sizing.Value{text("2021-05-01"), nothing}
	assert.True(t, e.isIncomplete(incomplete))
	assert.True(t, e.lacksFeature(1, incomplete))
	assert.False(t, e.lacksFeature(0, incomplete))
	filled := e.fillFrom(incomplete, row("2020-02-03", "2020-02-20"), nil)
	assert.Equal(t, 17.0, filled[1].Num-filled[0].Num)
}
