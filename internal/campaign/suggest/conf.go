package suggest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// setConfs sets the conf of each run of a history to the features of the run. A feature belongs to the run if all rows of
// the run in which it is known have the same value. DifferingFeatures counts the other features.
func (a *Archive) setConfs() {
	features := make([]sizing.Features, len(a.Runs))
	a.eachFeature(func(run int, name string, v sizing.Value, differs bool) {
		if features[run] == nil {
			features[run] = sizing.Features{}
		}
		if features[run][name] = v; differs {
			features[run][name] = sizing.Value{}
		}
	})
	for i := range a.Runs {
		a.Runs[i].Conf = confOf(features[i])
	}
}

// DifferingFeatures returns, by name, the number of runs whose conf lacks a feature because its values differ between
// the rows of the run.
func (a *Archive) DifferingFeatures() map[string]int {
	differing := map[string]int{}
	a.eachFeature(func(_ int, name string, _ sizing.Value, differs bool) {
		if differs {
			differing[name]++
		}
	})
	return differing
}

// eachFeature calls visit once for each feature of each run, with its first known value, and whether other rows of the
// run have other values.
func (a *Archive) eachFeature(visit func(run int, name string, v sizing.Value, differs bool)) {
	type seen struct {
		value   sizing.Value
		differs bool
	}
	features := make([]map[string]seen, len(a.Runs))
	for i, run := range a.RunOf {
		if features[run] == nil {
			features[run] = map[string]seen{}
		}
		for name, v := range a.Rows[i].Features {
			first, known := features[run][name]
			switch {
			case v.Kind == sizing.Missing:
			case !known:
				features[run][name] = seen{value: v}
			case v.JSON() != first.value.JSON():
				features[run][name] = seen{first.value, true}
			}
		}
	}
	for run := range features {
		for name, f := range features[run] {
			visit(run, name, f.value, f.differs)
		}
	}
}

func confOf(features sizing.Features) json.RawMessage {
	conf := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if v := features[name]; v.Kind != sizing.Missing {
			conf[name] = v.JSON()
		}
	}
	text, _ := json.Marshal(conf) // strings, numbers and booleans can be encoded
	return text
}
