package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on the features of one prediction or report.
const (
	MaxFeatures      = 200 // entries
	MaxFeatureName   = 100 // characters
	MaxFeatureString = 500 // characters
)

// ValueKind is the kind of one feature value.
type ValueKind uint8

// The kinds of values. Training gives each feature name the most frequent kind of its values. A value
// that cannot be converted to this kind counts as missing, with one exception: if the texts in a feature of numbers or
// bools recur, each in three rows or more on average, they stay a category beside the numbers or bools.
const (
	Missing ValueKind = iota
	Number
	Category
	Date
	Bool
)

var valueKinds = [...]string{"missing", "number", "category", "date", "bool"}

// String returns the name of the kind.
func (k ValueKind) String() string { return valueKinds[k] }

// Value is the value of one feature, known before the launch. The zero Value is missing.
type Value struct {
	Kind   ValueKind
	Offset int8    `json:",omitempty"` // of a date: local time minus UTC in quarter hours; 0 if the text has no offset
	Num    float64 // the number; days since 1970-01-01 UTC for a date; 0 or 1 for a bool
	Text   string  // the category, or the text that was read as a bool, a date or a number; empty otherwise, and for a stored date
}

// NumberValue returns a number. NaN and infinities become a missing value.
func NumberValue(v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Value{}
	}
	return Value{Kind: Number, Num: v}
}

// BoolValue returns a bool.
func BoolValue(v bool) Value {
	if v {
		return Value{Kind: Bool, Num: 1}
	}
	return Value{Kind: Bool}
}

// TextValue returns a bool if s is true or false in any common spelling (true, True, TRUE), a date if s
// has the form of a date or a time (see parseDate), a number if s is a decimal number (1253) or an amount
// with a unit (37.5GB, 90 min, 80%) or a duration (PT45M, or "1 day, 2:00:00"), else a category. It ignores white space
// around these forms, because templates of several lines leave such space.
func TextValue(s string) Value {
	v := parseText(strings.TrimSpace(s))
	v.Text = s
	return v
}

func parseText(s string) Value {
	switch s {
	case "true", "True", "TRUE":
		return Value{Kind: Bool, Num: 1}
	case "false", "False", "FALSE":
		return Value{Kind: Bool}
	}
	if date, ok := parseDate(s); ok {
		return date
	}
	if amount, ok := parseAmount(s); ok {
		return Value{Kind: Number, Num: amount}
	}
	if seconds, ok := parseDuration(s); ok {
		return Value{Kind: Number, Num: seconds}
	}
	return Value{Kind: Category}
}

// compactDateDigits is the number of digits of a compact date, such as 20200103. Other dates have more characters.
const compactDateDigits = 8

func dateText(v Value) string {
	t := time.UnixMilli(int64(math.Round(v.Num * millisecondsPerDay))).UTC()
	switch {
	case v.Offset != 0:
		t = t.In(time.FixedZone("", int(v.Offset)*secondsPerQuarter))
	case v.Num == math.Floor(v.Num):
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}

// JSON returns the value for encoding/json: a number, a bool or a text, as the caller sent it; nil if v is missing. A number
// that ParseNumber read as a date or a category becomes a text. A value that was decoded from a stored number has lost its
// text: an amount becomes a number, and a date gets a new text.
func (v Value) JSON() any {
	switch {
	case v.Text != "" || v.Kind == Category:
		return v.Text
	case v.Kind == Number:
		return v.Num
	case v.Kind == Bool:
		return v.Num != 0
	case v.Kind == Date: // decoded from a stored number
		return dateText(v)
	}
	return nil
}

// Features maps names to the values that are known before the launch of a try.
type Features map[string]Value

// Validate returns an error for each invalid name (field "features") and each invalid text (field
// "features.<name>"). If there are too many features, it returns only an error about their number.
func (f Features) Validate() []FieldError {
	if len(f) > MaxFeatures {
		return []FieldError{{"features", fmt.Sprintf("has %d entries, and %d are allowed: send those that drive usage", len(f), MaxFeatures)}}
	}
	for name, v := range f {
		if !validName(name) || !validText(v.Text) {
			return f.fieldErrors()
		}
	}
	return nil
}

func (f Features) fieldErrors() (bad []FieldError) {
	for _, name := range f.Names() {
		if !validName(name) {
			bad = append(bad, FieldError{"features", fmt.Sprintf("has the name %.40q: names are 1 to %d characters of valid UTF-8 without control characters", name, MaxFeatureName)})
		}
		if !validText(f[name].Text) {
			bad = append(bad, FieldError{"features." + name, fmt.Sprintf("must be at most %d characters of valid UTF-8 without NUL", MaxFeatureString)})
		}
	}
	return bad
}

func validName(s string) bool {
	if isPrintable(s) {
		return s != "" && len(s) <= MaxFeatureName
	}
	return utf8.RuneCountInString(s) <= MaxFeatureName && !strings.ContainsFunc(s, isControl) && utf8.ValidString(s)
}

func validText(s string) bool {
	if isPrintable(s) {
		return len(s) <= MaxFeatureString
	}
	return utf8.RuneCountInString(s) <= MaxFeatureString && !strings.ContainsRune(s, 0) && utf8.ValidString(s)
}

// isPrintable reports whether s is printable ASCII. Nearly all names and texts are, and then one scan
// of s replaces three.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Names returns the feature names in ascending order.
func (f Features) Names() []string {
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// FormatNumber formats a number for people: with six significant digits, or as a whole number from a million on. Only
// numbers from 10¹⁵ on and fractions below 10⁻⁴ have an exponent.
func FormatNumber(v float64) string {
	const digits = 6
	if size := math.Abs(v); size < 1e15 && (v == math.Trunc(v) || size >= 1e6-0.5) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// FormatFactor formats a factor for people: with three significant digits, or as a whole number from a thousand on.
func FormatFactor(v float64) string {
	if math.Abs(v) >= 1000-0.5 {
		return FormatNumber(math.Round(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
