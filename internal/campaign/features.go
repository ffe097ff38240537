package campaign

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxFeatures limits the features of one run, as the Airflow provider does.
const maxFeatures = 100

const executionDate = "execution_date"

// Features returns at most maxFeatures features of an archived run: its execution date, and the numbers, booleans
// and short texts of its conf, the first ones by name. An execution_date in the conf replaces the date of the run.
func (a *ArchivedRun) Features() sizing.Features {
	var conf map[string]any
	decoder := json.NewDecoder(bytes.NewReader(a.Conf))
	decoder.UseNumber()       // different long ids would be equal as float64
	_ = decoder.Decode(&conf) // conf stays nil if there is none; Validate rejects invalid JSON
	features := sizing.Features{executionDate: sizing.TextValue(a.ExecutionDate.UTC().Format("2006-01-02"))}
	for _, name := range slices.Sorted(maps.Keys(conf)) {
		if len(features) == maxFeatures {
			break
		}
		if name == "" || utf8.RuneCountInString(name) > sizing.MaxFeatureName {
			continue
		}
		switch v := conf[name].(type) {
		case bool:
			features[name] = sizing.BoolValue(v)
		case json.Number:
			if number, ok := sizing.ParseNumber(v.String()); ok && math.Abs(number.Num) < 1e300 {
				features[name] = number
			}
		case string:
			if v != "" && utf8.RuneCountInString(v) <= sizing.MaxFeatureString {
				features[name] = sizing.TextValue(v)
			}
		}
	}
	return features
}
