package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// triesImport sends tries that were put together from several sources, batch by
// batch. What somebody told of a try before stands: the try's own report knows better.
type triesImport struct {
	importing
	pending []sizing.Observation
	assumed map[sizing.TryKey]bool // pending tries of which nobody said that they succeeded
	yielded int                    // tries of which something was told otherwise before
	left    leftOut
}

func newTriesImport(con console, batch int) *triesImport {
	return &triesImport{
		importing: importing{con: con, batch: batch, tasks: map[sizing.TaskKey]bool{}},
		assumed:   map[sizing.TryKey]bool{}, left: leftOut{},
	}
}

// add sends o with the others once there are enough of them.
func (t *triesImport) add(ctx context.Context, o *sizing.Observation) error {
	t.sum.read++
	if bad := o.Validate(); len(bad) > 0 {
		t.refuse(fmt.Sprintf("%s: %s %s", sayTry(o.Try), bad[0].Field, bad[0].Detail))
		return nil
	}
	t.pending = append(t.pending, *o)
	if len(t.pending) < t.batch {
		return nil
	}
	return t.flush(ctx)
}

// flush sends what waits.
func (t *triesImport) flush(ctx context.Context) error {
	if t.into == nil {
		for n := range t.pending {
			t.warn(&t.pending[n], nil, sayTry(t.pending[n].Try))
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
		if t.assumed[o.Try] && contradicted(r.Err) == "outcome" {
			t.left.add("ended otherwise than by success, as was told before: the samples say nothing of the need", sayTry(o.Try))
			continue
		}
		t.count(o, r, sayTry(o.Try))
	}
	t.pending = t.pending[:0]
	clear(t.assumed)
	return nil
}

// mostYields is how many groups of fields forget knows, and one for features by each name.
const mostYields = 8 + sizing.MaxFeatures

// record sends the pending tries, and once more without what was told otherwise before.
func (t *triesImport) record(ctx context.Context) ([]sizing.RecordResult, error) {
	recorded, err := t.into.Record(ctx, t.pending)
	yielded := map[int]bool{}
	for range mostYields {
		if err != nil {
			return nil, err
		}
		var again []int
		var less []sizing.Observation
		for n := range recorded {
			if field := contradicted(recorded[n].Err); field != "" && forget(&t.pending[n], field) {
				again, less = append(again, n), append(less, t.pending[n])
				yielded[n] = true
			}
		}
		if len(again) == 0 {
			break
		}
		var answers []sizing.RecordResult
		answers, err = t.into.Record(ctx, less)
		for k := range answers {
			recorded[again[k]] = answers[k]
		}
	}
	t.yielded += len(yielded)
	return recorded, err
}

// contradicted is the field that was told otherwise before; empty if err is nothing of
// that kind.
func contradicted(err error) string {
	var byServer *toldOtherwise
	var byStore *sizing.Error
	switch {
	case errors.As(err, &byServer):
		return byServer.field
	case errors.As(err, &byStore) && byStore.Kind == sizing.Conflict && len(byStore.Fields) == 1:
		return byStore.Fields[0].Field
	}
	return ""
}

// forget takes a field out of o, with those that make sense only beside it; false where
// nothing would be left to tell.
func forget(o *sizing.Observation, field string) bool {
	switch field {
	case "started_at", "ended_at", "duration_seconds":
		o.StartedAt, o.EndedAt, o.Duration = sizing.Observation{}.StartedAt, sizing.Observation{}.EndedAt, 0
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
		name, is := strings.CutPrefix(field, "features.")
		if _, has := o.Features[name]; !is || !has {
			return false
		}
		o.Features = maps.Clone(o.Features)
		delete(o.Features, name)
	}
	return true
}

// sayTry names a try for people.
func sayTry(k sizing.TryKey) string {
	mapped := ""
	if k.MapIndex >= 0 {
		mapped = fmt.Sprintf("[%d]", k.MapIndex)
	}
	return fmt.Sprintf("%s%s run %s try %d", k.TaskKey, mapped, k.RunID, k.Number)
}

// finish says what it came to; broken is why reading ended early, if it did.
func (t *triesImport) finish(ctx context.Context, name string, broken error) error {
	if broken == nil {
		broken = t.flush(ctx)
	} else if ctx.Err() == nil {
		broken = errors.Join(broken, t.flush(ctx))
	}
	t.tellTroubles(name)
	fmt.Fprintln(t.con.out, strings.Replace(t.say(), "rows read", "tries read", 1))
	if t.yielded > 0 {
		fmt.Fprintf(t.con.out, "%d of them had been told in part with other values before, which stand\n", t.yielded)
	}
	t.left.say(t.con.out)
	return broken
}
