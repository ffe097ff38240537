package sizing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestAmountInATextIsANumber(t *testing.T) {
	for text, want := range map[string]float64{
		"37.5GB": 37.5e9, "512 MiB": 512 << 20, "16Gi": 16 << 30, "0B": 0, "1 byte": 1, "10k": 1e4, "3.2M": 3.2e6,
		"90 min": 5400, "2h": 7200, "250ms": 0.25, "3 days": 259200, "80%": 0.8,
		"1253": 1253, "1,234,567": 1234567, "-1,234.5": -1234.5, "1e6": 1e6, "2.5E-3": 0.0025, "0": 0, "0.25": 0.25, "-3": -3, "999999999999999": 999999999999999, "1234567890123.456": 1234567890123.456, "1e+99": 1e99,
		" 1000000 ": 1e6, "\n\t37.5GB\r\n": 37.5e9, "\u00a01,234\u00a0": 1234, "1_000_000": 1e6, "-1_234.5": -1234.5, " 12_345\n": 12345, "3GB ": 3e9, "1 234 567": 1234567, "-1 234.5": -1234.5, "1\u00a0234\u00a0567": 1234567, "1\u202f234": 1234, "1\u2009234": 1234, " PT45M ": 2700,
	} {
		v := sizing.TextValue(text)
		assert.Equal(t, sizing.Number, v.Kind, text)
		assert.InEpsilon(t, 1+want, 1+v.Num, 1e-9, text)
		assert.Equal(t, text, v.Text)
	}
	for _, text := range []string{"", "GB", "-", ".5", "007", "1e99", "1.5e999", "1e", "1,23", "12,34,567", "0,123", "1,234x", "1.2.3", "1.2.3GB", "+3", "--3", "12345678901234567890", "9007199254740993", "1,234,567,890,123,456", "3  GB", "1  234", "1 23", "0 123", "12 34 567", "1 234,567", "1 234\u202f567", "2025 01", "1 234 567 890 123 456", "3e5d2", " 007 ", "1_00", "1__000", "_1_000", "1_000_", "1_000,000", "1_000GB", "0_123", "2025_01", "2025_01_03", "1_234_567_890_123_456", " 12345678901234567890 ", "  ", " emea ", "r5.2xlarge", "2xlarge", "45 files", "1920x1080", "5GB/s", "7B-chat"} {
		assert.Equal(t, sizing.Value{Kind: sizing.Category, Text: text}, sizing.TextValue(text))
	}
}

func TestSchemaStoresAnAmountAsANumberAndACategory(t *testing.T) {
	var s sizing.Schema
	amount := sizing.Features{"size": sizing.TextValue("2GB")}
	require.True(t, s.Extend(amount))
	assert.Equal(t, []sizing.Field{{Name: "size", Kind: sizing.Number}, {Name: "size", Kind: sizing.Category, Categories: []string{"2GB"}}}, s.Fields)
	row := s.Row(amount, nil)
	assert.InDelta(t, 2e9, row[0], 0)
	assert.Equal(t, sizing.Features{"size": sizing.TextValue("2GB")}, s.Features(row))
	assert.False(t, s.Extend(amount))
	for i := range 1000 {
		s.Extend(sizing.Features{"size": sizing.TextValue(fmt.Sprint(i))})
	}
	assert.Len(t, s.Fields[1].Categories, 256, "a field must keep at most 256 numbers as categories")
	require.True(t, s.Extend(sizing.Features{"size": sizing.TextValue("unknown")}))
	assert.Len(t, s.Fields, 2)
}

func TestJSONReturnsAValueAsItWasSent(t *testing.T) {
	for _, sent := range []any{7.5, true, false, "emea", "", "1253", "True", "2025-01-03", nil} {
		var v sizing.Value
		switch sent := sent.(type) {
		case float64:
			v = sizing.NumberValue(sent)
		case bool:
			v = sizing.BoolValue(sent)
		case string:
			v = sizing.TextValue(sent)
		}
		assert.Equal(t, sent, v.JSON())
	}
	assert.Equal(t, "1970-01-03", sizing.Value{Kind: sizing.Date, Num: 2}.JSON(), "a stored date, which has no text, must be formatted")
}

func TestTextValueReadsBoolsAndCompactDates(t *testing.T) {
	for text, want := range map[string]sizing.Value{
		"True": {Kind: sizing.Bool, Num: 1, Text: "True"}, "false": {Kind: sizing.Bool, Text: "false"}, "yes": {Kind: sizing.Category, Text: "yes"},
		"19700102": {Kind: sizing.Date, Num: 1, Text: "19700102"}, "19700101T120000": {Kind: sizing.Date, Num: 0.5, Text: "19700101T120000"},
		" True\n": {Kind: sizing.Bool, Num: 1, Text: " True\n"}, " 1970-01-02 ": {Kind: sizing.Date, Num: 1, Text: " 1970-01-02 "},
		"19700101T120000+0600": {Kind: sizing.Date, Num: 0.25, Offset: 24, Text: "19700101T120000+0600"}, "20251301": {Kind: sizing.Number, Num: 20251301, Text: "20251301"},
	} {
		assert.Equal(t, want, sizing.TextValue(text))
	}
	var s sizing.Schema
	s.Extend(sizing.Features{"full": {Kind: sizing.Category, Text: "auto"}})
	require.True(t, s.Extend(sizing.Features{"full": sizing.TextValue("True")}), "a bool must get a field of its own")
	require.Len(t, s.Fields, 2)
	assert.Equal(t, []float64{1, 1}, s.Row(sizing.Features{"full": sizing.TextValue("True")}, nil))
	assert.Equal(t, sizing.BoolValue(true), s.Fields[1].Read(sizing.BoolValue(true)))
	assert.Equal(t, sizing.TextValue("true"), s.Fields[1].ReadStored(sizing.Value{Kind: sizing.Category, Text: "true"}))
}

func TestAmountsOfOldCategoriesAreReadAsNumbers(t *testing.T) {
	s := sizing.Schema{Version: 1, Fields: []sizing.Field{{Name: "size", Kind: sizing.Category, Categories: []string{"2GB", "unknown"}}}}
	require.True(t, s.Extend(sizing.Features{"size": sizing.TextValue("3GB")}), "an amount must get a field of its own")
	require.Equal(t, sizing.Number, s.Fields[1].Kind)
	assert.Equal(t, sizing.TextValue("2GB"), s.Fields[1].ReadStored(s.Fields[0].Value(0)))
	assert.Equal(t, sizing.Missing, s.Fields[1].ReadStored(s.Fields[0].Value(1)).Kind)
}

// Earlier versions read a number with white space around it, or with underscores, as a category.
func TestOldCategoriesOfNumbersStayKnown(t *testing.T) {
	for old, next := range map[string]string{" 1000000 ": " 1000001 ", "1_000_000": "1_000_001"} {
		s := sizing.Schema{Version: 1, Fields: []sizing.Field{{Name: "n", Kind: sizing.Category, Categories: []string{old}}}}
		f := sizing.Features{"n": sizing.TextValue(old)}
		require.Equal(t, []float64{0}, s.Row(f, nil), "a model with the old schema knows the category")
		require.True(t, s.Extend(sizing.Features{"n": sizing.TextValue(next)}), "a number must get a field of its own")
		require.Equal(t, sizing.Number, s.Fields[1].Kind)
		require.Equal(t, []float64{0, 1e6}, s.Row(f, nil))
		require.Equal(t, f, s.Features(s.Row(f, nil)), "the text is restored")
		require.Equal(t, sizing.TextValue(old), s.Fields[1].ReadStored(s.Fields[0].Value(0)), "an old row has the number")
	}
}

func TestIntegersThatAreNotExactAreCategories(t *testing.T) {
	for text, want := range map[string]sizing.Value{
		"123456789012345":      sizing.NumberValue(123456789012345),
		"-123456789012345":     sizing.NumberValue(-123456789012345),
		"9007199254740991":     sizing.NumberValue(1<<53 - 1),
		"-9007199254740991":    sizing.NumberValue(1 - 1<<53),
		"9007199254740992":     {Kind: sizing.Category, Text: "9007199254740992"},
		"9007199254740993":     {Kind: sizing.Category, Text: "9007199254740993"},
		"-1234567890123456789": {Kind: sizing.Category, Text: "-1234567890123456789"},
		"1234567890123456.5":   sizing.NumberValue(1234567890123456.5),
		"0.12345678901234567":  sizing.NumberValue(.12345678901234567),
		"1234567890123456e3":   sizing.NumberValue(1234567890123456e3),
	} {
		got, ok := sizing.ParseNumber(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
	}
	_, ok := sizing.ParseNumber("1e999")
	require.False(t, ok)
	_, ok = sizing.ParseNumber(strings.Repeat("1", sizing.MaxFeatureString+1))
	require.False(t, ok)
}

func TestIntegersInTheFormOfADateAreDates(t *testing.T) {
	got, ok := sizing.ParseNumber("20250401")
	require.True(t, ok)
	require.Equal(t, sizing.TextValue("20250401"), got)
	require.Equal(t, sizing.Date, got.Kind)
	for _, text := range []string{"20251301", "20250230", "19691231", "21000101", "2025040", "202504010", "20250401.0", "-2025040", "2.025e7"} {
		got, ok := sizing.ParseNumber(text)
		require.True(t, ok, text)
		require.Equal(t, sizing.Number, got.Kind, text)
	}
}

// Some counts of about 20 million have the form of a date. A number field stores them as numbers.
func TestCompactDateInANumberFieldIsANumber(t *testing.T) {
	var s sizing.Schema
	s.Extend(sizing.Features{"rows": sizing.NumberValue(7)})
	count, _ := sizing.ParseNumber("20250401")
	f := sizing.Features{"rows": count}
	s.Extend(f)
	require.Len(t, s.Fields, 2)
	row := s.Row(f, nil)
	require.Equal(t, []float64{20250401, 20179}, row)
	require.Equal(t, f, s.Features(row), "the number and the date must both be restored")
	require.Equal(t, sizing.Missing, s.Fields[0].Read(sizing.TextValue("2025-04-01")).Kind)
	require.Equal(t, sizing.NumberValue(20250401), s.Fields[0].Read(sizing.TextValue(" 20250401 ")))
}

// A task that has learned long integers as numbers stores a new long integer both as a number and as a category.
func TestLongIntegerIsStoredAsANumberAndACategory(t *testing.T) {
	var s sizing.Schema
	s.Extend(sizing.Features{"id": sizing.NumberValue(1234567890123456789)})
	id, _ := sizing.ParseNumber("1234567890123456790")
	s.Extend(sizing.Features{"id": id})
	require.Len(t, s.Fields, 2)
	row := s.Row(sizing.Features{"id": id}, nil)
	require.Equal(t, 1234567890123456790.0, row[0])
	require.Equal(t, "1234567890123456790", s.Fields[1].Value(row[1]).Text)
}
