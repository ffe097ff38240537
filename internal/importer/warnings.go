package importer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxPrintedWarnings limits the output for one file, because a column in a wrong unit causes a warning for every row.
const maxPrintedWarnings = 20

// warnings collects the warnings about the rows of one file. Only its field "rows" is about the whole import.
type warnings struct {
	rows      int // number of rows of the whole import with at least one warning
	lines     []string
	unprinted int // number of rows whose warnings are not in lines
	kinds     featureKinds
	units     unitRows
	zones     zonelessTimes
}

func (w *warnings) add(location string, all []sizing.FieldError) {
	if len(all) == 0 {
		return
	}
	w.rows++
	if len(w.lines) >= maxPrintedWarnings {
		w.unprinted++
		return
	}
	for _, one := range all {
		w.lines = append(w.lines, fmt.Sprintf("%s: warning: %s: %s", location, one.Field, one.Detail))
	}
}

func (w *warnings) print(to io.Writer, name string) {
	for _, line := range w.lines {
		fmt.Fprintf(to, "%s: %s\n", name, line)
	}
	if w.unprinted > 0 {
		fmt.Fprintf(to, "%s: and %s with warnings\n", name, render.Count(w.unprinted, "more row"))
	}
	kinds := w.kinds.warnings()
	for _, line := range kinds[:min(len(kinds), maxPrintedWarnings)] {
		fmt.Fprintf(to, "%s: %s\n", name, line)
	}
	if more := len(kinds) - maxPrintedWarnings; more > 0 {
		fmt.Fprintf(to, "%s: and %s about the kinds of values\n", name, render.Count(more, "more warning"))
	}
	for _, line := range []string{w.zones.warning(), w.units.warning()} {
		if line != "" {
			fmt.Fprintf(to, "%s: %s\n", name, line)
		}
	}
	w.lines, w.unprinted, w.kinds, w.units, w.zones = nil, 0, nil, unitRows{}, zonelessTimes{}
}

// warn adds one observation to the statistics of kinds and units, and adds its own warnings. If Target is a server, the latter
// come from `r`, the result that the server returned, because the server knows the history of the task. Otherwise they come
// from `o`, and `r` may be nil.
func (i *Importer) warn(o *sizing.Observation, r *sizing.RecordResult, location string) {
	if i.warnings.kinds == nil {
		i.warnings.kinds = featureKinds{}
	}
	i.warnings.kinds.add(o, location)
	i.warnings.units.add(o)
	if _, isServer := i.Target.(*client.Client); isServer {
		i.warnings.add(location, r.Warnings)
		return
	}
	i.warnings.add(location, o.Warnings(time.Now()))
}

// maxFeatureKinds limits the memory of featureKinds if feature names contain ids.
const maxFeatureKinds = 10_000

// featureKinds counts the kinds of values of each feature of each task in one file. A
// model uses the most frequent kind; a value that cannot be converted to that kind counts as missing, unless it is a text that
// recurs among numbers or bools (the model then has a category for such texts).
type featureKinds map[taskFeature]map[sizing.ValueKind]*kindCount

type taskFeature struct {
	task sizing.TaskKey
	name string
}

type kindCount struct {
	rows     int          // number of rows with a value of the kind
	first    sizing.Value // the first of these values
	location string       // line or try of `first`
}

func (k featureKinds) add(o *sizing.Observation, location string) {
	for name, v := range o.Features {
		if v.Kind == sizing.Missing {
			continue
		}
		key := taskFeature{o.Try.TaskKey, name}
		kinds := k[key]
		if kinds == nil {
			if len(k) >= maxFeatureKinds {
				continue
			}
			kinds = map[sizing.ValueKind]*kindCount{}
			k[key] = kinds
		}
		if kinds[v.Kind] == nil {
			kinds[v.Kind] = &kindCount{first: v, location: location}
		}
		kinds[v.Kind].rows++
	}
}

// warnings returns sorted lines: one for each kind of values of a feature except the most frequent kind. A kind has no line
// if its first value can be converted to the most frequent kind (007 among numbers is a number), or the first value of the
// most frequent kind to this kind.
func (k featureKinds) warnings() []string {
	var lines []string
	for key, kinds := range k {
		if len(kinds) < 2 {
			continue
		}
		majority, rows := sizing.Missing, 0
		for kind, count := range kinds {
			if rows += count.rows; majority == sizing.Missing || cmp.Or(cmp.Compare(count.rows, kinds[majority].rows), cmp.Compare(majority, kind)) > 0 {
				majority = kind
			}
		}
		field := sizing.Field{Name: key.name, Kind: majority}
		for kind, count := range kinds {
			other := sizing.Field{Name: key.name, Kind: kind}
			if kind != majority && field.Read(count.first).Kind == sizing.Missing && other.Read(kinds[majority].first).Kind == sizing.Missing {
				lines = append(lines, fmt.Sprintf("%s: warning: feature.%s of %s: %d of %d values are of kind %v, but the most frequent kind is %v: they count as missing, except texts that recur among numbers or bools",
					count.location, key.name, key.task, count.rows, rows, kind, majority))
			}
		}
	}
	slices.Sort(lines)
	return lines
}
