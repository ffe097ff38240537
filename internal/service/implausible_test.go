package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// warnedOf are the fields that a report drew warnings for.
func warnedOf(r sizing.RecordResult) (fields []string) {
	for _, w := range r.Warnings {
		fields = append(fields, w.Field)
	}
	return fields
}

// A report in the wrong unit changes no answer: not before a training, not after it,
// not in another process, and not once everything is learned anew.
func TestAnImplausibleReportChangesNoAnswer(t *testing.T) {
	for claim, c := range map[string]struct {
		runs  int
		wrong sizing.Bytes
	}{
		"a first one, a millionth":              {0, 2000},
		"a first one, a million times":          {0, 64 << 40},
		"one after sixty, a millionth":          {60, 600},
		"one after sixty, forty thousand times": {60, 40 << 40},
	} {
		t.Run(claim, func(t *testing.T) {
			r := newReplica(t).start()
			if c.runs > 0 {
				r.taught("load", c.runs)
			}
			question := ask("load", "")
			before := r.answer(question).Memory.Limit
			wrong := success("load", c.runs/2, max(c.runs, 1))
			wrong.Try.RunID, wrong.MemoryMax = "wrong", c.wrong
			recorded := r.tell(wrong)
			assert.Contains(t, warnedOf(recorded[0]), "memory_max_bytes")
			assert.Contains(t, recorded[0].Warnings[0].Detail, "; it changes no allocation")
			assert.Len(t, recorded[0].Warnings, 1, "one for each field")
			assert.Equal(t, before, r.answer(question).Memory.Limit, "at once")
			profile, err := r.Task(t.Context(), task("load"))
			require.NoError(t, err)
			require.Len(t, profile.Quarantined, 1)
			assert.Equal(t, c.wrong, profile.Quarantined[0].Memory)
			_, err = r.Train(t.Context(), task("load"))
			require.NoError(t, err)
			trained := r.answer(question).Memory.Limit
			assert.InEpsilon(t, float64(before), float64(trained), 0.01, "after a training")
			other := join(t, r.dsn, service.Config{}).start()
			assert.Equal(t, trained, other.answer(question).Memory.Limit, "in another process")
			profile, err = other.Task(t.Context(), task("load"))
			require.NoError(t, err)
			if c.runs > 0 { // before the first good run there is no model to hand over
				assert.Len(t, profile.Quarantined, 1, "in another process")
			}
			again := r.tell(wrong)
			assert.True(t, again[0].Duplicate)
			assert.Contains(t, warnedOf(again[0]), "memory_max_bytes", "told again, warned again")
			wrong.Try.RunID = "confirms"
			other.tell(wrong)
			_, err = other.Train(t.Context(), task("load"))
			require.NoError(t, err)
			profile, err = other.Task(t.Context(), task("load"))
			require.NoError(t, err)
			if c.wrong < sizing.MiB {
				assert.Len(t, profile.Quarantined, 2, "nothing confirms less than any container uses")
				return
			}
			assert.Empty(t, profile.Quarantined, "a second one releases it")
		})
	}
}

func TestReportsAreWarnedOfAndTaken(t *testing.T) {
	r := newReplica(t)
	now := time.Now()
	for claim, c := range map[string]struct {
		change func(*sizing.Observation)
		fields []string
	}{
		"an ordinary one": {func(*sizing.Observation) {}, nil},
		"a peak above the container": {func(o *sizing.Observation) {
			o.Allocated.Memory = 802 * sizing.MiB
			o.MemoryMax = 5 * gib
		}, []string{"memory_max_bytes"}},
		"a run in ten years":    {func(o *sizing.Observation) { o.EndedAt = now.AddDate(10, 0, 0) }, []string{"ended_at"}},
		"a run of the year one": {func(o *sizing.Observation) { o.StartedAt = time.Unix(0, 0) }, []string{"started_at"}},
		"a clock that is an hour ahead": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt = now.Add(55*time.Minute), now.Add(time.Hour)
		}, nil},
		"a duration of its own": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt, o.Duration = now.Add(-time.Hour), now, 20*time.Minute
		}, []string{"duration_seconds"}},
		"millicores": {func(o *sizing.Observation) { o.CPUMax, o.Allocated.CPU = 980, 1 }, []string{"cpu_max_cores"}},
	} {
		o := success("load", 3, 8)
		o.Try.RunID = claim
		c.change(&o)
		assert.Equal(t, c.fields, warnedOf(r.tell(o)[0]), claim)
	}
	h := r.history("load")
	assert.Len(t, h.Rows, 7)
	for _, row := range h.Rows {
		assert.WithinRange(t, row.At, now.AddDate(0, 0, -1), now.Add(2*time.Hour), "%s counts as of about now", row.RunID)
	}
}

// Retention goes by the time that a report counts as of.
func TestAnAmendedTimeIsBoundedToo(t *testing.T) {
	r := newReplica(t)
	o := success("load", 3, 8)
	r.tell(o)
	o.EndedAt = time.Now().AddDate(10, 0, 0)
	recorded := r.tell(o)
	assert.True(t, recorded[0].Amended)
	assert.Equal(t, []string{"ended_at"}, warnedOf(recorded[0]))
	h, err := r.store.History(t.Context(), task("load"), store.HistoryLimits{})
	require.NoError(t, err)
	assert.WithinRange(t, h.Rows[0].At, time.Now().AddDate(0, 0, -1), time.Now().Add(time.Hour))
}

func TestTheMinimumGrantIsGranted(t *testing.T) {
	const mib = sizing.MiB
	r := join(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib})
	for _, run := range []string{"a", "b", "c"} {
		o := success("load", 1, 8)
		o.Try.RunID, o.MemoryMax, o.Allocated, o.Requested = run, 2000, sizing.Resources{}, sizing.Resources{}
		assert.Equal(t, []string{"memory_max_bytes"}, warnedOf(r.tell(o)[0]))
	}
	question := ask("load", "")
	for claim, c := range map[string]struct {
		requested, most sizing.Bytes
		policy          sizing.Policy
		want            sizing.Bytes
	}{
		"a request above it":      {requested: 2 * gib, want: 64 * mib},
		"no request":              {want: 64 * mib},
		"the caller's cap":        {requested: 2 * gib, most: 16 * mib, want: 16 * mib},
		"a lower floor":           {requested: 2 * gib, policy: sizing.Policy{Floor: 8 * mib}, want: 8 * mib},
		"a higher floor":          {requested: 2 * gib, policy: sizing.Policy{Floor: 80 * mib}, want: 80 * mib},
		"a request that has held": {requested: 32 * mib, want: 32 * mib},
		"a cap of the policy":     {requested: 2 * gib, policy: sizing.Policy{Cap: 10 * mib}, want: 10 * mib},
		"never above the request": {requested: 1 * mib, policy: sizing.Policy{NeverAbove: true}, want: 1 * mib},
	} {
		require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
		question.Requested.Memory, question.MaxMemory = c.requested, c.most
		assert.Equal(t, c.want, r.answer(question).Memory.Limit, claim)
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{}))
	question.Requested.Memory, question.MaxMemory = 0, 0
	question.Try.RunID = "killed"
	lift := r.lift(question, 64*mib)
	assert.True(t, lift.Retry, "the derived cap leaves room above the minimum grant")
	assert.Greater(t, lift.Memory.Limit, 64*mib)
}
