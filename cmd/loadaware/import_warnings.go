package main

import (
	"fmt"
	"io"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// warningsSaid bounds what is printed of one file: a column in the wrong unit draws a
// warning for every row.
const warningsSaid = 20

// importWarnings collects what looks wrong about rows that were taken.
type importWarnings struct {
	rows   int // of the whole import, with at least one warning
	said   []string
	unsaid int // rows whose warnings are not in said
	kinds  featureKinds
	units  unitRows
	zones  zonelessTimes
}

func (w *importWarnings) add(place string, all []sizing.FieldError) {
	if len(all) == 0 {
		return
	}
	w.rows++
	if len(w.said) >= warningsSaid {
		w.unsaid++
		return
	}
	for _, one := range all {
		w.said = append(w.said, fmt.Sprintf("%s: warning: %s: %s", place, one.Field, one.Detail))
	}
}

// print writes the warnings of one file, and forgets them.
func (w *importWarnings) print(to io.Writer, name string) {
	for _, one := range w.said {
		fmt.Fprintf(to, "%s: %s\n", name, one)
	}
	if w.unsaid > 0 {
		fmt.Fprintf(to, "%s: and %d more rows with warnings\n", name, w.unsaid)
	}
	kinds := w.kinds.warnings()
	for _, one := range kinds[:min(len(kinds), warningsSaid)] {
		fmt.Fprintf(to, "%s: %s\n", name, one)
	}
	if more := len(kinds) - warningsSaid; more > 0 {
		fmt.Fprintf(to, "%s: and %d more features with values of several kinds\n", name, more)
	}
	for _, warning := range []string{w.zones.warning(), w.units.warning()} {
		if warning != "" {
			fmt.Fprintf(to, "%s: %s\n", name, warning)
		}
	}
	w.said, w.unsaid, w.kinds, w.units, w.zones = nil, 0, nil, unitRows{}, zonelessTimes{}
}

// warn takes in what looks wrong about one observation. A server says so itself; it
// knows the task.
func (i *importing) warn(o *sizing.Observation, r *sizing.Recorded, place string) {
	if i.warnings.kinds == nil {
		i.warnings.kinds = featureKinds{}
	}
	i.warnings.kinds.add(o, place)
	i.warnings.units.add(o)
	if _, byServer := i.into.(*serverRecorder); byServer {
		i.warnings.add(place, r.Warnings)
		return
	}
	i.warnings.add(place, o.Warnings(time.Now()))
}
