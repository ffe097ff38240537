package sizing

import (
	"encoding/json"
	"strings"
)

// UntypedValue reads a value whose sender states no type: a query parameter, a cell of a CSV file or an argument of a
// command. Empty text is a missing value. Text in quotes is read like a string in JSON (TextValue). Without quotes, true
// and false are bools, a number in JSON is read by ParseNumber, and any other text is read as if in quotes: 007 is a
// category. So every way into the server reads a value as JSON does. A number that ParseNumber rejects, and a number such
// as 7e12, which may be a git commit, are read as if in quotes, too.
func UntypedValue(text string) Value {
	quoted := strings.TrimPrefix(text, `"`)
	switch {
	case text == "":
		return Value{}
	case len(quoted) < len(text) && strings.HasSuffix(quoted, `"`):
		return TextValue(strings.TrimSuffix(quoted, `"`))
	case text == "true" || text == "false":
		return BoolValue(text == "true")
	case isJSONNumber(text):
		number := strings.TrimSpace(text) // JSON allows space around a value
		hasExponent := strings.ContainsAny(number, "eE")
		if v, ok := ParseNumber(number); ok && (!hasExponent || !mayBeID(number)) {
			return v
		}
	}
	return TextValue(text)
}

func isJSONNumber(text string) bool {
	digits := strings.TrimPrefix(strings.TrimSpace(text), "-")
	return digits != "" && digits[0] >= '0' && digits[0] <= '9' && json.Valid([]byte(text))
}
