package backtest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trace"
)

// leastCap is the node that every trace is given, however small its peaks.
const leastCap sizing.Bytes = 128e9

// Trace is history that can be replayed: successes whose peak and duration were
// measured, in order of their start.
type Trace struct {
	Name    string
	LeftOut int // tries that do not tell what they needed

	Repeated     int // rows of a try that an earlier row told of
	Contradicted int // of Repeated: those that contradict it, and are left out

	Cap  sizing.Bytes // the largest peak, or 128 GB if that is more
	rows []row
}

// row is one try with its truth, which a Policy never sees whole.
type row struct {
	sizing.Observation
	x float64
}

// Selection narrows a trace.
type Selection struct {
	Tasks []string // task ids; all if empty
	Limit int      // the first rows; all if zero
}

// Read reads history in any form that package trace takes. A row that cannot be
// read is an error of kind sizing.Invalid, with its line.
func Read(name string, r io.Reader, only Selection) (*Trace, error) {
	whole, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	t := &Trace{Name: name}
	if err := t.read(whole, only); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	slices.SortStableFunc(t.rows, func(a, b row) int { return a.StartedAt.Compare(b.StartedAt) })
	if only.Limit > 0 && len(t.rows) > only.Limit {
		t.rows = t.rows[:only.Limit]
	}
	if len(t.rows) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: no row tells a peak and a duration of the chosen tasks: there is nothing to replay", name)
	}
	order, err := featureOrder(whole)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.chooseX(order)
	t.Cap = leastCap
	for i := range t.rows {
		t.Cap = max(t.Cap, t.rows[i].MemoryMax.Times(1.0001))
	}
	return t, nil
}

func (t *Trace) read(whole []byte, only Selection) error {
	reader, err := trace.Open(bytes.NewReader(whole))
	if err != nil {
		return err
	}
	var all tries
	for line, err := range reader.All() {
		if err != nil {
			return err
		}
		if o := line.Observation; len(only.Tasks) == 0 || slices.Contains(only.Tasks, o.Try.Task) {
			all.add(o)
		}
	}
	t.Repeated, t.Contradicted = all.repeated, all.contradicted
	for _, o := range all.rows {
		if _, known := o.Peak(); known != sizing.Exact || o.Duration <= 0 {
			t.LeftOut++
			continue
		}
		t.rows = append(t.rows, row{Observation: o})
	}
	return nil
}

// chooseX gives every row the value of the trace's first numeric feature: the
// first in order that is a number wherever it is known. Without an order it is that
// of the names.
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

// question is what may be known of the row before it starts.
func (t *Trace) question(i int, fallback sizing.Bytes) Question {
	r := &t.rows[i]
	q := Question{
		Try: r.Try, StartedAt: r.StartedAt, Features: r.Features, X: r.x,
		Requested: r.Requested, Static: r.Requested.Memory, Cap: t.Cap,
	}
	q.Try.Number = 1
	if q.Static == 0 {
		q.Static = fallback
	}
	return q
}

// outcome is how a try of the row ends that was allocated so much.
func (t *Trace) outcome(i int, q Question, allocated sizing.Bytes, timeToFailure float64) Outcome {
	r := &t.rows[i]
	o := Outcome{Question: q, Allocated: allocated, Killed: allocated < r.MemoryMax, Duration: r.Duration, ToldAt: r.StartedAt}
	if o.Killed {
		o.Duration = time.Duration(float64(r.Duration) * timeToFailure)
		return o
	}
	o.Peak, o.CPUMax = r.MemoryMax, r.CPUMax
	return o
}
