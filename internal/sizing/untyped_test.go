package sizing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestUntypedValueReadsTheKindFromTheText(t *testing.T) {
	for text, want := range map[string]sizing.Value{
		"": {}, "7": sizing.NumberValue(7), " 8 ": sizing.NumberValue(8), "-1e3": sizing.TextValue("-1e3"), "1e+3": sizing.NumberValue(1000), "105.0": sizing.NumberValue(105),
		"007": {Kind: sizing.Category, Text: "007"}, "+5": {Kind: sizing.Category, Text: "+5"}, "-": {Kind: sizing.Category, Text: "-"},
		"7e943102": {Kind: sizing.Category, Text: "7e943102"}, "1e12345": {Kind: sizing.Category, Text: "1e12345"}, "7e12": {Kind: sizing.Number, Num: 7e12, Text: "7e12"},
		"20250401": sizing.TextValue("20250401"), `"7"`: sizing.TextValue("7"), `"007"`: sizing.TextValue("007"), `"open`: sizing.TextValue(`"open`), `"`: sizing.TextValue(`"`),
		"true": sizing.BoolValue(true), "False": sizing.TextValue("False"), "37.5GB": sizing.TextValue("37.5GB"), "NaN": sizing.TextValue("NaN"),
		" 20250401 ": sizing.TextValue("20250401"), `" 8 "`: {Kind: sizing.Number, Num: 8, Text: " 8 "}, " 1_000 ": {Kind: sizing.Number, Num: 1000, Text: " 1_000 "}, " 007 ": {Kind: sizing.Category, Text: " 007 "},
		"9007199254740993": {Kind: sizing.Category, Text: "9007199254740993"},
	} {
		assert.Equal(t, want, sizing.UntypedValue(text), text)
	}
}

// An Airflow template renders a number as a text. Some callers send this text in quotes, others without. Both mean the same number.
func TestQuotesDoNotChangeTheKindOfANumber(t *testing.T) {
	for text, want := range map[string]sizing.ValueKind{
		"7e943102": sizing.Category, "1e12345": sizing.Category, "1e99": sizing.Category, "-1e99": sizing.Category, "0e12345": sizing.Category, "1234567890123456e3": sizing.Category,
		"1.5e999": sizing.Category, "1e+999": sizing.Category,
		"7e12": sizing.Number, "12345E1": sizing.Number, "1e+99": sizing.Number, "-1e-99": sizing.Number, "1.5e99": sizing.Number, "1e-999": sizing.Number,
		"0.30000000000000004": sizing.Number, // Python writes 0.1 + 0.2 with 17 digits
		"1234567890123456.5":  sizing.Number,
	} {
		assert.Equal(t, want, sizing.TextValue(text).Kind, text)
		assert.Equal(t, want, sizing.UntypedValue(text).Kind, text)
		assert.Equal(t, sizing.TextValue(text).Num, sizing.UntypedValue(text).Num, text)
	}
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
