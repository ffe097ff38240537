package sizing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestUntypedValues(t *testing.T) {
	for text, want := range map[string]sizing.Value{
		"": {}, "7": sizing.NumberValue(7), " 8 ": sizing.NumberValue(8), "-1e3": sizing.NumberValue(-1000), "105.0": sizing.NumberValue(105),
		"007": {Kind: sizing.Category, Text: "007"}, "+5": {Kind: sizing.Category, Text: "+5"}, "-": {Kind: sizing.Category, Text: "-"},
		"20250401": sizing.TextValue("20250401"), `"7"`: sizing.TextValue("7"), `"007"`: sizing.TextValue("007"), `"open`: sizing.TextValue(`"open`), `"`: sizing.TextValue(`"`),
		"true": sizing.BoolValue(true), "False": sizing.TextValue("False"), "37.5GB": sizing.TextValue("37.5GB"), "NaN": sizing.TextValue("NaN"),
		" 20250401 ": sizing.TextValue("20250401"), `" 8 "`: {Kind: sizing.Number, Num: 8, Text: " 8 "}, " 1_000 ": {Kind: sizing.Number, Num: 1000, Text: " 1_000 "}, " 007 ": {Kind: sizing.Category, Text: " 007 "},
		"9007199254740993": {Kind: sizing.Category, Text: "9007199254740993"},
	} {
		got, ok := sizing.UntypedValue(text)
		require.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	_, ok := sizing.UntypedValue("1e999")
	assert.False(t, ok)
}

// A history may contain a code such as 007 as the number 7, because earlier versions read the cells of CSV files so.
func TestNumberFieldReadsACodeAsItsNumber(t *testing.T) {
	var s sizing.Schema
	s.Extend(sizing.Features{"store": sizing.NumberValue(7)})
	f := sizing.Features{"store": sizing.TextValue("012")}
	s.Extend(f)
	require.Equal(t, []float64{12, 0}, s.Row(f, nil), "the code is stored as a number and as a category")
	assert.Equal(t, "012", s.Features(s.Row(f, nil))["store"].JSON(), "the text is restored")
	for text, want := range map[string]float64{"+5": 5, ".5": 0.5, "007.50": 7.5, " 007\n": 7} {
		assert.Equal(t, sizing.NumberValue(want), s.Fields[0].Read(sizing.TextValue(text)), text)
	}
	for _, text := range []string{"", "0x10", "inf", "1e999", "12-e", "007a"} {
		assert.Equal(t, sizing.Missing, s.Fields[0].Read(sizing.Value{Kind: sizing.Category, Text: text}).Kind, text)
	}
}
