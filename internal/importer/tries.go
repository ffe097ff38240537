package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TriesImporter imports tries from Airflow (joined with their usage), Prometheus or usage logs, batch by batch. If a try has
// an earlier report, the values of the earlier report stay, and the import only adds values that the earlier report lacks.
type TriesImporter struct {
	*Importer
	pending []sizing.Observation
	assumed map[sizing.TryKey]bool // pending tries without a known outcome, which are sent as successes
	reduced int                    // number of tries that were sent without the fields that contradict an earlier report
	notes   noteCounts
}

// NewTries returns a TriesImporter for a dry run; set Target to import.
func NewTries(con Console, batchSize int) *TriesImporter {
	return &TriesImporter{Importer: New(con, batchSize), assumed: map[sizing.TryKey]bool{}, notes: noteCounts{}}
}

func (t *TriesImporter) add(ctx context.Context, o *sizing.Observation) error {
	t.counts.read++
	if bad := o.Validate(); len(bad) > 0 {
		t.reject(fmt.Sprintf("%s: %s %s", formatTry(o.Try), bad[0].Field, bad[0].Detail))
		return nil
	}
	t.pending = append(t.pending, *o)
	if len(t.pending) < t.batchSize {
		return nil
	}
	return t.flush(ctx)
}

func (t *TriesImporter) flush(ctx context.Context) error {
	if t.Target == nil {
		for n := range t.pending {
			t.warn(&t.pending[n], nil, formatTry(t.pending[n].Try))
		}
		t.pending = t.pending[:0]
	}
	if len(t.pending) == 0 {
		return ctx.Err()
	}
	recorded, err := t.record(ctx)
	if err != nil {
		return err
	}
	for n := range t.pending {
		o, r := &t.pending[n], &recorded[n]
		if t.assumed[o.Try] && contradictedField(r.Err) == "outcome" {
			t.notes.add("skipped: an earlier report has another outcome than success, so the samples do not show how much memory the task needs", formatTry(o.Try))
			continue
		}
		t.count(o, r, formatTry(o.Try))
	}
	t.pending = t.pending[:0]
	clear(t.assumed)
	return nil
}

// maxContradictions bounds the repetitions in record. It is larger than the number of removals by removeField that one
// observation allows: six groups of fields, and each feature.
const maxContradictions = 8 + sizing.MaxFeatures

// record sends the queue. If a try contradicts an earlier report, record removes the contradicting
// field and sends the try again, until no contradicting field can be removed.
func (t *TriesImporter) record(ctx context.Context) ([]sizing.RecordResult, error) {
	recorded, err := t.Target.Record(ctx, t.pending)
	reduced := map[int]bool{} // by index in pending
	for range maxContradictions {
		if err != nil {
			return nil, err
		}
		var indexes []int
		var retries []sizing.Observation
		for n := range recorded {
			if field := contradictedField(recorded[n].Err); field != "" && removeField(&t.pending[n], field) {
				indexes, retries = append(indexes, n), append(retries, t.pending[n])
				reduced[n] = true
			}
		}
		if len(indexes) == 0 {
			break
		}
		var results []sizing.RecordResult
		results, err = t.Target.Record(ctx, retries)
		for k := range results {
			recorded[indexes[k]] = results[k]
		}
	}
	t.reduced += len(reduced)
	return recorded, err
}

// contradictedField returns the field that contradicts an earlier report, or "" if err is
// another error.
func contradictedField(err error) string {
	var byServer *client.ContradictionError
	var byStore *sizing.Error
	switch {
	case errors.As(err, &byServer):
		return byServer.Field
	case errors.As(err, &byStore) && byStore.Kind == sizing.Conflict && len(byStore.Fields) == 1:
		return byStore.Fields[0].Field
	}
	return ""
}

// removeField removes a field from o, together with the other fields of its group. It returns false if the
// field cannot be removed, such as the outcome.
func removeField(o *sizing.Observation, field string) bool {
	switch field {
	case "started_at", "ended_at", "duration_seconds":
		o.StartedAt, o.EndedAt, o.Duration = time.Time{}, time.Time{}, 0
	case "allocated.memory_bytes", "allocated.cpu_cores":
		o.Allocated = sizing.Resources{}
	case "requested.memory_bytes", "requested.cpu_cores":
		o.Requested = sizing.Resources{}
	case "memory_max_bytes":
		o.MemoryMax = 0
	case "memory_sampled_bytes":
		o.MemorySampled = 0
	case "cpu_max_cores":
		o.CPUMax = 0
	default:
		name, isFeature := strings.CutPrefix(field, "features.")
		if _, exists := o.Features[name]; !isFeature || !exists {
			return false
		}
		o.Features = maps.Clone(o.Features)
		delete(o.Features, name)
	}
	return true
}

func formatTry(k sizing.TryKey) string {
	mapped := ""
	if k.MapIndex >= 0 {
		mapped = fmt.Sprintf("[%d]", k.MapIndex)
	}
	return fmt.Sprintf("%s%s run %s try %d", k.TaskKey, mapped, k.RunID, k.Number)
}

// finish sends the rest of the queue, unless ctx ended the reading, and prints the counts. readErr is the error that ended the
// reading, or nil.
func (t *TriesImporter) finish(ctx context.Context, name string, readErr error) error {
	err := readErr
	if err == nil {
		err = t.flush(ctx)
	} else if ctx.Err() == nil {
		err = errors.Join(err, t.flush(ctx))
	}
	t.printProblems(name)
	fmt.Fprintln(t.con.Out, strings.NewReplacer("row read", "try read", "rows read", "tries read").Replace(t.summary()))
	if t.reduced > 0 {
		fmt.Fprintf(t.con.Out, "tries with an earlier report that has other values: %d; the earlier values stay\n", t.reduced)
	}
	t.notes.print(t.con.Out)
	return err
}

// noteCounts counts, by reason, what an import skipped, could not join or sent incomplete.
type noteCounts map[string]*noteCount

type noteCount struct {
	count    int
	examples []string // the first maxExamples different examples
}

const maxExamples = 3

func (s noteCounts) add(reason, example string) {
	r := s[reason]
	if r == nil {
		r = &noteCount{}
		s[reason] = r
	}
	r.count++
	if len(r.examples) < maxExamples && !slices.Contains(r.examples, example) {
		r.examples = append(r.examples, example)
	}
}

func (s noteCounts) print(w io.Writer) {
	reasons := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(s[b].count, s[a].count), cmp.Compare(a, b))
	})
	for _, reason := range reasons {
		r := s[reason]
		more := ""
		if r.count > len(r.examples) {
			more = ", …"
		}
		fmt.Fprintf(w, "%d × %s: %s%s\n", r.count, reason, strings.Join(r.examples, ", "), more)
	}
}
