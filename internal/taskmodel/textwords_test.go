package taskmodel

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestWordsOfATextAreRead(t *testing.T) {
	for text, want := range map[string][]string{
		`{"mode": "full", "rows": 12.5}`: {"mode", "full", "rows", "12.5"},
		"s3://b/größe=7/a_1.csv":         {"s3", "b", "größe", "7", "a", "1", "csv"},
		"limit 10.":                      {"limit", "10"},
		"--":                             nil,
		"\xff1":                          {"1"},
	} {
		var words []string
		eachWord(text, func(from, to int) { words = append(words, text[from:to]) })
		assert.Equal(t, want, words, text)
	}
}

func TestAnchorsAreTheWordsOfNearlyAllTexts(t *testing.T) {
	texts := []string{"", "--mode a --rows 1", "--mode b --rows 2 --all", "--mode a --rows 3 --all", "--mode mode --rows 3"}
	for i := range 16 {
		texts = append(texts, []string{"--mode b --rows 1", "--mode c --all --rows 1"}[i%2])
	}
	assert.Equal(t, []string{"mode", "rows"}, findAnchors(texts))
	assert.Empty(t, findAnchors([]string{"a 1", "b 1"}))
}

func TestPartsWithAnOptionalFlagAreAligned(t *testing.T) {
	p := textParts{Separators: byWord, Anchors: []string{"mode", "rows"}}
	for text, want := range map[string]map[int]string{
		"--mode a --rows 17":       {maxGapParts: "a", 2 * maxGapParts: "17"},
		"--mode a --all --rows 17": {maxGapParts: "a", maxGapParts + 1: "all", 2 * maxGapParts: "17"},
	} {
		got := map[int]string{}
		assert.True(t, p.each(text, func(k, from, to int) { got[k] = text[from:to] }))
		assert.Equal(t, want, got)
	}
	assert.False(t, p.each("--rows 17", func(int, int, int) {}))
}

func TestNumberInAPartIsReplaced(t *testing.T) {
	c := column{Parts: textParts{Separators: byWord, Count: 4, At: []int{1, 3}, Columns: []column{
		{}, {Numbers: textNumbers{Between: []string{"", "rows"}}},
	}}}
	rows := textInput{column: &c}
	for text, want := range map[string]string{
		`{"mode": "full", "n": "7rows"}`: `{"mode": "full", "n": "0.25rows"}`,
		`{"mode": "inc", "n": "rows"}`:   `{"mode": "inc", "n": "rows"}`,
		"7rows":                          "7rows",
	} {
		cells := []sizing.Value{{Kind: sizing.Category, Text: text}}
		_, known := rows.read(cells)
		assert.Equal(t, text != want, known)
		rows.write(cells, .25)
		assert.Equal(t, want, cells[0].Text)
	}
	schema := &sizing.Schema{Fields: []sizing.Field{{Name: "conf"}}}
	assert.Equal(t, "conf", rows.describe(schema, []sizing.Value{{Text: `{"mode": "full", "n": "7rows"}`}}))
	assert.Equal(t, "number 2 in conf", rows.describe(schema, []sizing.Value{{Text: `{"mode": "f1", "n": "7rows"}`}}))
}
