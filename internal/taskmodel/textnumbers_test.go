package taskmodel

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestNumbersOfATextAreRead(t *testing.T) {
	for text, want := range map[string][]float64{
		"45 files":                        {45},
		"1920x1080":                       {1920, 1080},
		"s3://in/rows=1253/part-007.csv":  {3, 1253, 7},
		"v1.25.3":                         {1.25, 3},
		"a1b2c3d4":                        {1, 2, 3, 4},
		"no number":                       nil,
		"a1b2c3d4e5f6g7h8i9j10k11l12m13":  nil, // too many
		"id 1234567890123456":             nil, // a number has too many digits
		"load 2025-01-03T04:05:06 partly": {2025, 1, 3, 4, 5, 6},
	} {
		n := textNumbers{Between: splitNumbers(text)}
		assert.Equal(t, len(want), n.count(), text)
		if want != nil {
			got, ok := n.read(text, nil)
			assert.True(t, ok, text)
			assert.Equal(t, want, got, text)
		}
	}
	n := textNumbers{Between: splitNumbers("45 files")}
	for _, other := range []string{"", "files", "45", "45 file", "45 files!", "x45 files", "4x5 files", "1234567890123456 files"} {
		_, ok := n.read(other, nil)
		assert.False(t, ok, other)
	}
}

func TestNumberOfATextIsReplaced(t *testing.T) {
	texts := column{Numbers: textNumbers{Between: splitNumbers("s3://in/day-3/rows=1253.5.csv")}}
	rows := textInput{Field: 1, Number: 2, column: &texts}
	for text, want := range map[string]string{
		"s3://in/day-07/rows=12.csv": "s3://in/day-7/rows=0.25.csv",
		"another":                    "another",
	} {
		cells := []sizing.Value{{}, {Kind: sizing.Category, Text: text}}
		rows.write(cells, 0.25)
		assert.Equal(t, want, cells[1].Text)
		x, known := rows.read(cells)
		assert.Equal(t, want != text, known, text)
		if known {
			assert.InDelta(t, 0.25, x, 0)
		}
	}
}

func TestNumbersOfATextHaveAUnit(t *testing.T) {
	schema := &sizing.Schema{Fields: []sizing.Field{{Name: "size", Kind: sizing.Category}}}
	var rows [][]sizing.Value
	for i := range 30 {
		rows = append(rows, []sizing.Value{{Kind: sizing.Category, Text: "load of 0." + strconv.Itoa(10+i)}})
	}
	c := &newEncoder(schema, rows, make([]float64, len(rows))).Columns[0]
	logOf := func(x float64) float64 {
		line, _ := appendNumbers([]float64{x}, c.Numbers.Units, c.Numbers.Means, nil, nil)
		return line[1]
	}
	assert.InDelta(t, math.Log(2), logOf(.2)-logOf(.1), .01, "the logarithm must show the ratio of small numbers")
}

func TestTextNumbersAreColumns(t *testing.T) {
	text := func(s string) []sizing.Value { return []sizing.Value{{Kind: sizing.Category, Text: s}} }
	var rows, recurring, mixed [][]sizing.Value
	for i := range 30 {
		digits := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
		name := "part-" + digits[i/10] + digits[i%10] + ".csv"
		rows, recurring, mixed = append(rows, text(name)), append(recurring, text("part-"+digits[i%3])), append(mixed, text(name+digits[i%10][:i%2]))
	}
	schema := &sizing.Schema{Fields: []sizing.Field{{Name: "file", Kind: sizing.Category}}}
	y := make([]float64, len(rows))
	widths := func(rows [][]sizing.Value) (int, int) {
		e := newEncoder(schema, rows, y)
		return e.LineWidth, e.TreeWidth
	}
	e := newEncoder(schema, rows, y)
	line, tree := e.encode(text("part-17.csv"), nil, nil)
	assert.Equal(t, []float64{17, math.Log1p(17)}, line[len(line)-2:])
	assert.InDelta(t, 17, tree[len(tree)-1], 0)
	line, tree = e.encode(text("another"), nil, nil)
	assert.InDelta(t, 14.5, line[len(line)-2], 1e-12, "a text of another form must get the mean of the rows")
	assert.True(t, math.IsNaN(tree[len(tree)-1]))

	assert.Zero(t, newEncoder(schema, mixed, y).Columns[0].Numbers.count(), "texts of different forms must get no columns for numbers")
	lineWidth, treeWidth := widths(recurring)
	assert.Equal(t, []int{3, 4}, []int{lineWidth, treeWidth}, "three levels and, for the trees, their statistic")
}
