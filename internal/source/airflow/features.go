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

// maxFeatures is the maximum number of features that the Airflow provider sends for one try.
const maxFeatures = 100

// secretName matches the names of params that are omitted, because their values may be secrets. It equals the
// pattern in features.py of the provider.
var secretName = regexp.MustCompile(`(?i)passw|secret|token|credential|api_?key|private_?key|access_?key|authorization`)

// Features returns the features that the Airflow provider would have sent for a run: the
// declared params, overridden by the run's conf, and other entries of conf whose names
// match an allowed glob. Names, kinds and limits must be the same as in features.py of the provider,
// because later predictions send the same features.
func Features(declared, conf map[string]any, allowed []string) sizing.Features {
	found := maps.Clone(declared)
	if found == nil {
		found = map[string]any{}
	}
	for name, value := range conf {
		if _, isDeclared := declared[name]; isDeclared || matchesAny(allowed, name) {
			found[name] = value
		}
	}
	features := sizing.Features{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(features) == maxFeatures {
			break
		}
		if utf8.RuneCountInString(name) > sizing.MaxFeatureName || name == "" || secretName.MatchString(name) {
			continue
		}
		if v := featureValue(found[name]); v.Kind != sizing.Missing {
			features[name] = v
		}
	}
	return features
}

// featureValue converts a JSON value into a feature. It returns a missing value for a list, an object, null, an
// empty text, and a value that is too large or too long.
func featureValue(value any) sizing.Value {
	switch v := value.(type) {
	case bool:
		return sizing.BoolValue(v)
	case float64:
		if math.Abs(v) < 1e300 {
			return sizing.NumberValue(v)
		}
	case string:
		// Longer text is omitted, not truncated: a truncated value would be another category.
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
