package client

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseFeatures parses FEATURE=VALUE arguments into a JSON object; nil without arguments.
func ParseFeatures(args []string) (json.RawMessage, error) {
	features := map[string]any{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not FEATURE=VALUE", arg)
		}
		if _, exists := features[name]; exists {
			return nil, fmt.Errorf("feature %s: given twice", name)
		}
		value, err := parseFeature(text)
		if err != nil {
			return nil, fmt.Errorf("feature %s: %w", name, err)
		}
		features[name] = value
	}
	if len(features) == 0 {
		return nil, nil
	}
	return json.Marshal(features)
}

// parseFeature parses a value as a bool or a decimal number if possible, and otherwise as a text. A JSON string is a
// text, even if it contains a number. An empty text is a missing value. A number out of range is an error.
func parseFeature(text string) (any, error) {
	var quoted string
	switch {
	case text == "":
		return nil, nil
	case strings.EqualFold(text, "true"):
		return true, nil
	case strings.EqualFold(text, "false"):
		return false, nil
	case text[0] == '"' && json.Unmarshal([]byte(text), &quoted) == nil:
		return quoted, nil
	case strings.Trim(text, "0123456789+-.eE") != "":
		return text, nil // not a decimal number
	}
	v, isNumber := parseDecimal(text)
	switch {
	case math.IsInf(v, 0):
		return nil, fmt.Errorf("%s is out of range", text)
	case isNumber && json.Valid([]byte(text)):
		return json.Number(text), nil // keeps all digits, because the server may treat a long number as an id
	case isNumber:
		return v, nil
	}
	return text, nil // such as a date
}

// parseDecimal parses a number. For a number out of range it returns an infinity and false. For a text that is not a
// number it returns 0 and false.
func parseDecimal(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
