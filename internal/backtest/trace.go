package backtest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// minCap is the smallest cap of a trace: the memory of a common node.
const minCap sizing.Bytes = 128e9

// Trace is a history that can be replayed: successes with a measured peak and duration,
// ordered by their StartedAt.
type Trace struct {
	Name    string
	LeftOut int // tries that are not a success with a measured peak and duration

	Rejected []error // of type *file.RowError: rows that cannot be read

	Repeated     int // rows that repeat the try of an earlier row
	Contradicted int // repeated rows that are ignored, because they contradict the earlier row

	Cap  sizing.Bytes // 1.0001 times the largest peak, and at least minCap
	rows []row
}

// row is one successful try of the history. A replay treats it as one run, with its own tries.
type row struct {
	sizing.Observation
	x            float64 // see Question.X
	startUnknown bool    // StartedAt is not the start of the try, so that the end in simulated time is unknown
}

// Selection restricts the rows of a trace, and describes its file.
type Selection struct {
	Tasks []string // task ids; all if empty
	Limit int      // number of rows, from the oldest on; all if zero

	Layout file.Layout // columns and units of a CSV
}

// Read reads a history in any format of package source/file. Peaks that are probably in another unit than bytes (see
// file.UnitCheck) are an error of kind sizing.Invalid; so is a history without a row to replay.
func Read(name string, r io.Reader, only Selection) (*Trace, error) {
	t := &Trace{Name: name}
	order, err := t.read(r, only)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	slices.SortStableFunc(t.rows, func(a, b row) int { return a.StartedAt.Compare(b.StartedAt) })
	if only.Limit > 0 && len(t.rows) > only.Limit {
		t.rows = t.rows[:only.Limit]
	}
	if len(t.rows) == 0 && len(t.Rejected) > 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: nothing to replay; rejected rows that cannot be read: %d; the first one: %w", name, len(t.Rejected), t.Rejected[0])
	}
	if len(t.rows) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: nothing to replay: no row of the chosen tasks is a success with a measured peak and a duration", name)
	}
	t.chooseX(order)
	t.Cap = minCap
	for i := range t.rows {
		t.Cap = max(t.Cap, t.rows[i].MemoryMax.Times(1.0001))
	}
	return t, nil
}

// read adds the rows of the selected tasks that can be replayed. It returns the names of the features in the order of the
// columns; none for JSON lines.
func (t *Trace) read(r io.Reader, only Selection) (features []string, err error) {
	reader, err := file.OpenAs(r, only.Layout)
	if err != nil {
		return nil, err
	}
	units := file.NewUnitCheck(&only.Layout, reader)
	var all tries
	for line, err := range reader.All() {
		var rejected *file.RowError
		if errors.As(err, &rejected) {
			t.Rejected = append(t.Rejected, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		units.Add(&line.Observation)
		if o := line.Observation; len(only.Tasks) == 0 || slices.Contains(only.Tasks, o.Try.Task) {
			all.add(o)
		}
	}
	if units.SmallPeaks() > 0 {
		return nil, sizing.Errorf(sizing.Invalid, "every peak read is below 1 MiB, so the amounts are probably not in bytes; name the unit, such as --unit MiB, or --unit B if they are in bytes")
	}
	t.Repeated, t.Contradicted = all.repeated, all.contradicted
	for _, o := range all.rows {
		if _, known := o.Peak(); known != sizing.Exact || o.Duration <= 0 {
			t.LeftOut++
			continue
		}
		t.rows = append(t.rows, row{Observation: o})
	}
	return reader.Features(), nil
}

// chooseX sets x of every row to the first numeric feature: the first feature in `order` whose known
// values are all numbers. Without an order, the features are ordered by name.
func (t *Trace) chooseX(order []string) {
	if len(order) == 0 {
		order = t.featureNames()
	}
	for _, name := range order {
		if !t.numeric(name) {
			continue
		}
		for i := range t.rows {
			t.rows[i].x = t.rows[i].Features[name].Num
		}
		return
	}
}

func (t *Trace) featureNames() []string {
	all := sizing.Features{}
	for i := range t.rows {
		maps.Copy(all, t.rows[i].Features)
	}
	return all.Names()
}

func (t *Trace) numeric(name string) bool {
	known := false
	for i := range t.rows {
		switch t.rows[i].Features[name].Kind {
		case sizing.Missing:
		case sizing.Number:
			known = true
		default:
			return false
		}
	}
	return known
}

// question returns the question of the first try of row i. `fallback` is the static request of a row without one.
func (t *Trace) question(i int, fallback sizing.Bytes) Question {
	r := &t.rows[i]
	q := Question{
		Try: r.Try, StartedAt: r.StartedAt, Features: r.Features, Metadata: r.Metadata, X: r.x,
		Requested: r.Requested, Static: r.Requested.Memory, Cap: t.Cap,
	}
	q.Try.Number = 1
	if q.Static == 0 {
		q.Static = fallback
	}
	return q
}

// outcome returns the outcome of a try of row i. `timeToFailure` is the share of the duration after which a kill happens.
func (t *Trace) outcome(i int, q Question, allocated sizing.Bytes, timeToFailure float64) Outcome {
	r := &t.rows[i]
	o := Outcome{Question: q, Allocated: allocated, Killed: allocated < r.MemoryMax, Duration: r.Duration, ReportedAt: r.StartedAt}
	if o.Killed {
		o.Duration = time.Duration(float64(r.Duration) * timeToFailure)
		return o
	}
	o.Peak, o.CPUMax, o.Usage = r.MemoryMax, r.CPUMax, r.Usage
	return o
}
