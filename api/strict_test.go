package api_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/api"
)

func TestIntegersInAnyNotationAreReadExactly(t *testing.T) {
	for text, want := range map[string]int64{
		"7340032000":             7340032000,
		"7340032000.0":           7340032000,
		"7.340032e9":             7340032000,
		"7.340032E+09":           7340032000,
		"-1.50e1":                -15,
		"0.05e2":                 5,
		"1200e-2":                12,
		"1e18":                   1e18,
		"-0.0":                   0,
		"0e99999999999999999999": 0,
		"123456789012345678.0":   123456789012345678,
		"9007199254740993.0":     9007199254740993,
		"9223372036854775807.0":  9223372036854775807,
		"-9223372036854775808":   -9223372036854775808,
	} {
		var got int64
		assert.NoError(t, json.Unmarshal([]byte(text), &got, api.Strict()), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"1.5", "15e-2", "9007199254740993.5", "1.00000000000000000001", "1e-1000000000", "1e1000000000", "1e19",
		"9223372036854775808", "9223372036854775808.0", "1e99999999999999999999", "null",
	} {
		var got int64
		assert.ErrorContains(t, json.Unmarshal([]byte(text), &got, api.Strict()), "must be an integer", text)
	}
}

func TestFieldName(t *testing.T) {
	for pointer, want := range map[jsontext.Pointer]string{
		"":                           "",
		"/requested/memory":          "requested.memory",
		"/settings/2/floor":          "settings[2].floor",
		"/usage_series/cpu_cores/10": "usage_series.cpu_cores[10]",
		"/features/7":                "features.7",
		"/metadata/tags/0":           "metadata.tags[0]",
		"/7":                         "7",
		"/a~1b/c":                    "a/b.c",
	} {
		assert.Equal(t, want, api.FieldName(pointer))
	}
	assert.Len(t, []rune(api.FieldName(jsontext.Pointer("/"+strings.Repeat("é", 200)))), 121)
}
