package airflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxFeatures is the maximum number of features that the Airflow provider sends for one try.
const maxFeatures = 100

// Features returns the features that the Airflow provider would have sent for a run: the
// declared params, overridden by the run's conf, and other entries of conf whose names
// match an allowed pattern. Names, kinds and limits must be the same as in features.py of the provider,
// because later predictions send the same features. They differ in rare cases: features.py omits a name with a control
// character, and Features keeps it; features.py replaces NUL in a text by U+FFFD, and Features keeps NUL; features.py omits an
// integer whose magnitude is 1e300 or more, and Features makes it a category (see sizing.ParseNumber).
func Features(declared, conf map[string]any, allowed Patterns) sizing.Features {
	found := maps.Clone(declared)
	if found == nil {
		found = map[string]any{}
	}
	for name, value := range conf {
		if _, isDeclared := declared[name]; isDeclared || allowed.match(name) {
			found[name] = value
		}
	}
	features := sizing.Features{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(features) == maxFeatures {
			break
		}
		if utf8.RuneCountInString(name) > sizing.MaxFeatureName || name == "" || isSecret(name, found[name]) {
			continue
		}
		if v := featureValue(found[name]); v.Kind != sizing.Missing {
			features[name] = v
		}
	}
	return features
}

func featureValue(value any) sizing.Value {
	switch v := value.(type) {
	case bool:
		return sizing.BoolValue(v)
	case float64:
		if math.Abs(v) < 1e300 {
			return sizing.NumberValue(v)
		}
	case json.Number:
		if number, ok := sizing.ParseNumber(v.String()); ok && math.Abs(number.Num) < 1e300 {
			return number
		}
	case string:
		// Longer text is omitted, not truncated: a truncated value would be another category.
		if v != "" && utf8.RuneCountInString(v) <= sizing.MaxFeatureString {
			return sizing.TextValue(v)
		}
	}
	return sizing.Value{}
}

// Patterns are compiled globs.
type Patterns []*regexp.Regexp

// CompileGlobs compiles globs once for many names.
func CompileGlobs(globs []string) Patterns {
	patterns := make(Patterns, len(globs))
	for i, glob := range globs {
		patterns[i] = globPattern(glob)
	}
	return patterns
}

func (p Patterns) match(name string) bool {
	return slices.ContainsFunc(p, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name) })
}

// globPattern returns the pattern of the names that a glob matches by the rules of Python's fnmatch, which the provider
// uses: * is any text, ? one character, [a-z] one of a set, and [!a-z] one outside it. No character is an escape.
func globPattern(glob string) *regexp.Regexp {
	pattern := `(?s)^`
	for rest := []rune(glob); len(rest) > 0; {
		length := 1
		switch rest[0] {
		case '*':
			pattern += `.*`
		case '?':
			pattern += `.`
		case '[':
			if length = setLength(rest); length > 1 {
				pattern += setPattern(rest[1 : length-1])
				break
			}
			fallthrough
		default:
			pattern += regexp.QuoteMeta(string(rest[0]))
		}
		rest = rest[length:]
	}
	return regexp.MustCompile(pattern + `$`)
}

// setLength returns the length, with brackets, of the set at the start of glob. It returns 1 if the bracket is not closed.
func setLength(glob []rune) int {
	first := 1
	if first < len(glob) && glob[first] == '!' {
		first++
	}
	// A closing bracket at the first place is a member of the set and does not end it.
	if first < len(glob) {
		if end := slices.Index(glob[first+1:], ']'); end >= 0 {
			return first + 1 + end + 1
		}
	}
	return 1
}

// setPattern returns the regular expression of a set, which is given without its brackets. A range whose end is below its
// start is empty.
func setPattern(set []rune) string {
	negated := set[0] == '!'
	if negated {
		set = set[1:]
	}
	ranges := ""
	for len(set) > 0 {
		low, high, length := set[0], set[0], 1
		if len(set) > 2 && set[1] == '-' {
			high, length = set[2], 3
		}
		if low <= high {
			ranges += fmt.Sprintf(`\x{%x}-\x{%x}`, low, high)
		}
		set = set[length:]
	}
	switch {
	case negated && ranges == "":
		return `.`
	case negated:
		return `[^` + ranges + `]`
	case ranges == "":
		return `[^\x00-\x{10FFFF}]`
	}
	return `[` + ranges + `]`
}
