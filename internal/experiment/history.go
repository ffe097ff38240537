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

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// minRows is the smallest number of rows of a dataset. A row is a success with a measured or sampled peak. With fewer rows
// the holdout is too small.
const minRows = 10

// minCap is the smallest Data.Cap, as in package backtest.
const minCap sizing.Bytes = 128e9

// Data is the history of an experiment. It has a dataset for each task with at least minRows rows.
type Data struct {
	Name        string
	LeftOut     int          // tries that are not a success with a measured or sampled peak
	Cap         sizing.Bytes // the largest possible grant: 1.0001 times the largest peak, and at least minCap
	Fingerprint string       // SHA-256 of the histories of the datasets, in hex

	datasets []*taskmodel.Dataset // ordered by task
}

// Read reads a history in any format of package source/file. An unreadable row is an error of kind sizing.Invalid that names
// the line. Peaks that are probably not in bytes are also an error of this kind; see file.UnitCheck.
func Read(name string, r io.Reader) (*Data, error) {
	reader, err := file.Open(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	units := file.NewUnitCheck(&file.Layout{}, reader)
	byTask := map[sizing.TaskKey][]sizing.Observation{}
	for line, err := range reader.All() {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		units.Add(&line.Observation)
		task := line.Observation.Try.TaskKey
		byTask[task] = append(byTask[task], line.Observation)
	}
	if units.SmallPeaks() > 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: every peak read is below 1 MiB, so the amounts are probably not in bytes; convert them to bytes", name)
	}
	histories := make([]*sizing.History, 0, len(byTask))
	for task, observations := range byTask {
		histories = append(histories, historyOf(task, observations))
	}
	setPairs(histories)
	return NewData(name, histories)
}

func historyOf(task sizing.TaskKey, observations []sizing.Observation) *sizing.History {
	slices.SortStableFunc(observations, func(a, b sizing.Observation) int { return at(&a).Compare(at(&b)) })
	h := &sizing.History{Task: task, Total: len(observations), LastSeq: int64(len(observations))}
	for i := range observations {
		o := &observations[i]
		h.Schema.Extend(o.Features)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: int64(i + 1), At: at(o), RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
			Outcome: o.Outcome, MemoryMax: o.MemoryMax, MemorySampled: o.MemorySampled, CPUMax: o.CPUMax,
			Duration: o.Duration, Allocated: o.Allocated, Requested: o.Requested, Features: h.Schema.Row(o.Features, nil), Weight: 1,
		})
	}
	return h
}

// setPairs sets, as a store does, the Pairs of each history that has a row with only a sampled peak. The pairs come from the
// newest successes of the namespace that have both a measured and a sampled peak, at most sizing.MaxPairs.
func setPairs(histories []*sizing.History) {
	type timedPair struct {
		row  *sizing.HistoryRow
		pair sizing.PeakPair
	}
	timed := map[string][]timedPair{} // by namespace
	for _, h := range histories {
		for i := range h.Rows {
			if r := &h.Rows[i]; r.Outcome == sizing.Success && r.MemoryMax > 0 && r.MemorySampled > 0 {
				pair := sizing.PeakPair{Task: h.Task, Exact: r.MemoryMax, Sampled: r.MemorySampled, Duration: r.Duration}
				timed[h.Task.Namespace] = append(timed[h.Task.Namespace], timedPair{r, pair})
			}
		}
	}
	pairs := map[string][]sizing.PeakPair{}
	for namespace, found := range timed {
		slices.SortFunc(found, func(a, b timedPair) int {
			return cmp.Or(b.row.At.Compare(a.row.At), cmp.Compare(b.pair.Task.String(), a.pair.Task.String()), cmp.Compare(b.row.Seq, a.row.Seq))
		})
		for _, p := range found[:min(len(found), sizing.MaxPairs)] {
			pairs[namespace] = append(pairs[namespace], p.pair)
		}
	}
	for _, h := range histories {
		if slices.ContainsFunc(h.Rows, onlySampled) {
			h.Pairs = pairs[h.Task.Namespace]
		}
	}
}

func onlySampled(r sizing.HistoryRow) bool {
	_, censoring := r.Peak()
	return censoring == sizing.Sampled
}

func at(o *sizing.Observation) time.Time {
	if o.EndedAt.IsZero() {
		return o.StartedAt
	}
	return o.EndedAt
}

// NewData builds Data from histories whose rows are in time order. It returns an error of kind
// sizing.Invalid if no dataset has minRows rows.
func NewData(name string, histories []*sizing.History) (*Data, error) {
	d := &Data{Name: name, Cap: minCap}
	sum := sha256.New()
	slices.SortFunc(histories, func(a, b *sizing.History) int { return cmp.Compare(a.Task.String(), b.Task.String()) })
	for _, h := range histories {
		dataset := taskmodel.NewDataset(h)
		d.LeftOut += len(h.Rows) - dataset.Len()
		if dataset.Len() < minRows {
			continue
		}
		d.datasets = append(d.datasets, dataset)
		for i := range dataset.Len() {
			d.Cap = max(d.Cap, dataset.Row(i).MemoryMax.Times(1.0001))
		}
		if err := digest(sum, h); err != nil {
			return nil, err
		}
	}
	if len(d.datasets) == 0 {
		return nil, sizing.Errorf(sizing.Invalid, "%s: no task has %d runs with a measured or sampled peak; add history", name, minRows)
	}
	d.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return d, nil
}

// digest writes the training data of a history in a fixed order. For a history without sampled peaks it must write the same
// bytes as earlier versions, because saved experiments are compared by their fingerprints.
func digest(w io.Writer, h *sizing.History) error {
	out := json.NewEncoder(w)
	if err := out.Encode([]any{h.Task, h.Schema.Fields}); err != nil {
		return fmt.Errorf("fingerprint of %s: %w", h.Task, err)
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		bits := make([]uint64, len(r.Features)) // JSON cannot represent NaN
		for j, v := range r.Features {
			bits[j] = math.Float64bits(v)
		}
		line := []any{r.RunID, r.MapIndex, r.Try, r.Outcome, r.MemoryMax, r.CPUMax, r.Duration, r.Requested, bits}
		if onlySampled(*r) {
			line = append(line, r.MemorySampled, r.Allocated)
		}
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("fingerprint of %s: %w", h.Task, err)
		}
	}
	if slices.ContainsFunc(h.Rows, onlySampled) {
		if err := out.Encode(h.Pairs); err != nil {
			return fmt.Errorf("fingerprint of %s: %w", h.Task, err)
		}
	}
	return nil
}

// nameOf returns the task id if it is unique, else the whole key.
func (d *Data) nameOf(task sizing.TaskKey) string {
	for _, dataset := range d.datasets {
		if dataset.Task.Task == task.Task && dataset.Task != task {
			return task.String()
		}
	}
	return task.Task
}

// A task is large if it has at least largeShare of the memory time (Σ peak · run time) of all tasks, and at least largeRows
// rows. Smaller values evaluate more tasks.
const (
	largeShare = 0.1
	largeRows  = 100
)

// large returns the large tasks or, if there are none, the task with the largest memory time.
func (d *Data) large() []*taskmodel.Dataset {
	all, use := 0.0, make([]float64, len(d.datasets))
	for n, dataset := range d.datasets {
		for i := range dataset.Len() {
			use[n] += dataset.Peak(i) * dataset.Seconds(i)
		}
		all += use[n]
	}
	var large []*taskmodel.Dataset
	for n, dataset := range d.datasets {
		if use[n] >= largeShare*all && dataset.Len() >= largeRows {
			large = append(large, dataset)
		}
	}
	if large == nil {
		large = d.datasets[slices.Index(use, slices.Max(use)):][:1]
	}
	return large
}

// named returns the datasets of tasks, in the order of the names, each once. A name is a task id or a whole
// key as formatted by sizing.TaskKey. An unknown name is an error of kind sizing.NotFound.
func (d *Data) named(names []string) ([]*taskmodel.Dataset, error) {
	var found []*taskmodel.Dataset
	for _, name := range names {
		isKnown := false
		for _, dataset := range d.datasets {
			if dataset.Task.Task != name && dataset.Task.String() != name {
				continue
			}
			isKnown = true
			if !slices.Contains(found, dataset) {
				found = append(found, dataset)
			}
		}
		if !isKnown {
			return nil, sizing.Errorf(sizing.NotFound, "%s: there is no task %q with at least %d runs with a measured or sampled peak; check the name", d.Name, name, minRows)
		}
	}
	return found, nil
}
