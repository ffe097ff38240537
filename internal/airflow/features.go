package airflow

import (
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Of one try at most so many features are sent, as the provider of Airflow does.
const maxFeatures = 100

// secret names what is never sent: the same names that the provider leaves out.
var secret = regexp.MustCompile(`(?i)passw|secret|token|credential|api_?key|private_?key|access_?key|authorization`)

// Features are what the provider would have sent of a run before it knew of loadaware:
// the declared params, with what the run's conf puts in their place, and what else of
// conf is allowed by a glob. What is learned from them must be found again in later
// questions, so that names, kinds and limits are those of features.py.
func Features(declared, conf map[string]any, allowed []string) sizing.Features {
	found := maps.Clone(declared)
	if found == nil {
		found = map[string]any{}
	}
	for name, value := range conf {
		if _, is := declared[name]; is || matchesAny(allowed, name) {
			found[name] = value
		}
	}
	features := sizing.Features{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(features) == maxFeatures {
			break
		}
		if utf8.RuneCountInString(name) > sizing.MaxFeatureName || name == "" || secret.MatchString(name) {
			continue
		}
		if v := scalar(found[name]); v.Kind != sizing.Missing {
			features[name] = v
		}
	}
	return features
}

// scalar is a JSON value as a feature; missing if it is none.
func scalar(value any) sizing.Value {
	switch v := value.(type) {
	case bool:
		return sizing.BoolValue(v)
	case float64:
		if math.Abs(v) < 1e300 {
			return sizing.NumberValue(v)
		}
	case string:
		// Longer text is left out, not cut: a cut value would be another category.
		if v != "" && utf8.RuneCountInString(v) <= sizing.MaxFeatureString {
			return sizing.TextValue(v)
		}
	}
	return sizing.Value{}
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, name)
		return err == nil && matched
	})
}
