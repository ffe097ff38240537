package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// fewest is how many measured rows a task must have to be experimented on: with
// less, hardly any are held back.
const fewest = 10

// leastCap is the node that every history is given, however small its peaks: that
// of the replays.
const leastCap sizing.Bytes = 128e9

// Data is the history that is experimented on: a lesson for each task.
type Data struct {
	Name        string
	LeftOut     int          // tries that do not tell their peak
	Cap         sizing.Bytes // the most that may be granted: 128 GB, or the largest peak if that is more
	Fingerprint string       // SHA-256 of all that is learned from, in hex

	lessons []*fitting.Dataset // ordered by task
}

// Read reads history in any form that package trace takes. A row that cannot be
// read is an error of kind sizing.Invalid, with its line.
func Read(name string, r io.Reader) (*Data, error) {
	reader, err := file.Open(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	told := map[sizing.TaskKey][]sizing.Observation{}
	for line, err := range reader.All() {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		task := line.Observation.Try.TaskKey
		told[task] = append(told[task], line.Observation)
	}
	histories := make([]*sizing.History, 0, len(told))
	for task, observations := range told {
		histories = append(histories, historyOf(task, observations))
	}
	return Of(name, histories)
}

// historyOf is what the store would keep of a task.
func historyOf(task sizing.TaskKey, told []sizing.Observation) *sizing.History {
	slices.SortStableFunc(told, func(a, b sizing.Observation) int { return at(&a).Compare(at(&b)) })
	h := &sizing.History{Task: task, Total: len(told), LastSeq: int64(len(told))}
	for i := range told {
		o := &told[i]
		h.Schema.Extend(o.Features)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: at(o), RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
			Outcome: o.Outcome, MemoryMax: o.MemoryMax, CPUMax: o.CPUMax, Duration: o.Duration,
			Allocated: o.Allocated, Requested: o.Requested, Features: h.Schema.Row(o.Features, nil), Weight: 1,
		})
	}
	return h
}

// at is when a try ended, else started.
func at(o *sizing.Observation) time.Time {
	if o.EndedAt.IsZero() {
		return o.StartedAt
	}
	return o.EndedAt
}

// Of takes histories, whose rows are in order of time. sizing.Invalid where no task
// has enough measured rows.
func Of(name string, histories []*sizing.History) (*Data, error) {
	d := &Data{Name: name, Cap: leastCap}
	sum := sha256.New()
	slices.SortFunc(histories, func(a, b *sizing.History) int { return cmp.Compare(a.Task.String(), b.Task.String()) })
	for _, h := range histories {
		l := fitting.NewDataset(h)
		d.LeftOut += len(h.Rows) - l.Len()
		if l.Len() < fewest {
			continue
		}
		d.lessons = append(d.lessons, l)
		for i := range l.Len() {
			d.Cap = max(d.Cap, l.Row(i).MemoryMax.Times(1.0001))
		}
		if err := digest(sum, h); err != nil {
			return nil, err
		}
	}
	if len(d.lessons) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: no task has %d runs with a measured peak: there is nothing to learn from", name, fewest)
	}
	d.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// digest writes what is learned from a history, in an order of its own making.
func digest(w io.Writer, h *sizing.History) error {
	out := json.NewEncoder(w)
	if err := out.Encode([]any{h.Task, h.Schema.Fields}); err != nil {
		return fmt.Errorf("fingerprint of %s: %w", h.Task, err)
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		bits := make([]uint64, len(r.Features)) // NaN has no JSON
		for j, v := range r.Features {
			bits[j] = math.Float64bits(v)
		}
		line := []any{r.RunID, r.MapIndex, r.Try, r.Outcome, r.MemoryMax, r.CPUMax, r.Duration, r.Requested, bits}
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("fingerprint of %s: %w", h.Task, err)
		}
	}
	return nil
}

// nameOf is the task's id where no other task has the same, else its whole key.
func (d *Data) nameOf(task sizing.TaskKey) string {
	for _, l := range d.lessons {
		if l.Task.Task == task.Task && l.Task != task {
			return task.String()
		}
	}
	return task.Task
}

// A task is heavy that makes a tenth of the use in at least heavyRows rows.
const (
	heavyShare = 0.1
	heavyRows  = 100
)

// heavy are the tasks worth an experiment; where none is, the one that uses most.
func (d *Data) heavy() []*fitting.Dataset {
	all, use := 0.0, make([]float64, len(d.lessons))
	for n, l := range d.lessons {
		for i := range l.Len() {
			use[n] += l.Peak(i) * l.Seconds(i)
		}
		all += use[n]
	}
	var heavy []*fitting.Dataset
	for n, l := range d.lessons {
		if use[n] >= heavyShare*all && l.Len() >= heavyRows {
			heavy = append(heavy, l)
		}
	}
	if heavy == nil {
		heavy = d.lessons[slices.Index(use, slices.Max(use)):][:1]
	}
	return heavy
}

// named are the lessons of the named tasks, in the order of the names: ids, or
// whole keys as sizing.TaskKey writes them.
func (d *Data) named(names []string) ([]*fitting.Dataset, error) {
	var found []*fitting.Dataset
	for _, name := range names {
		before := len(found)
		for _, l := range d.lessons {
			if (l.Task.Task == name || l.Task.String() == name) && !slices.Contains(found, l) {
				found = append(found, l)
			}
		}
		if len(found) == before {
			return nil, sizing.Errorf(sizing.NotFound, "%s: there is no task %q with %d measured runs", d.Name, name, fewest)
		}
	}
	return found, nil
}
