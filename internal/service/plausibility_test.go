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

func warnedFields(r sizing.RecordResult) (fields []string) {
	for _, w := range r.Warnings {
		fields = append(fields, w.Field)
	}
	return fields
}

// A report in the wrong unit changes no answer before a training. The training changes the answer by at most 1 %, and
// another replica then gives the same answer.
func TestAnImplausibleReportHardlyChangesAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		runs  int
		wrong sizing.Bytes
	}{
		"the first report, 2000 bytes": {0, 2000},
		"the first report, 64 TiB":     {0, 64 << 40},
		"after sixty runs, 600 bytes":  {60, 600},
		"after sixty runs, 40 TiB":     {60, 40 << 40},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t).start()
			if c.runs > 0 {
				r.trainTask("load", c.runs)
			}
			question := ask("load", "")
			before := r.predict(question).Memory.Limit
			wrong := success("load", c.runs/2, max(c.runs, 1))
			wrong.Try.RunID, wrong.MemoryMax = "wrong", c.wrong
			recorded := r.report(wrong)
			assert.Contains(t, warnedFields(recorded[0]), "memory_max_bytes")
			assert.Contains(t, recorded[0].Warnings[0].Detail, "changes no allocation", "the warning must state the consequence")
			assert.Len(t, recorded[0].Warnings, 1, "one warning per field")
			assert.Equal(t, before, r.predict(question).Memory.Limit, "the implausible peak changes no prediction at once")
			profile, err := r.Task(t.Context(), task("load"))
			require.NoError(t, err)
			require.Len(t, profile.Quarantined, 1)
			assert.Equal(t, c.wrong, profile.Quarantined[0].Memory)
			assert.Less(t, profile.LargestPeak, 2*before, "the largest peak does not count a quarantined one")
			assert.LessOrEqual(t, profile.Memory.P99, float64(2*before))
			assert.Equal(t, float64(profile.LargestPeak), profile.Memory.Max)
			if c.runs > 0 {
				assert.Greater(t, profile.Memory.Min, float64(before)/100, "the smallest peak does not count a quarantined one")
			}
			brief, err := r.TasksBrief(t.Context(), "", sizing.TaskKey{}, 10)
			require.NoError(t, err)
			assert.Equal(t, profile.LargestPeak, brief[0].LargestPeak)
			assert.Equal(t, profile.Group, brief[0].Group)
			_, err = r.Train(t.Context(), task("load"))
			require.NoError(t, err)
			trained := r.predict(question).Memory.Limit
			assert.InEpsilon(t, float64(before), float64(trained), 0.01, "the training with the implausible peak changes the prediction by at most 1 %")
			other := joinReplica(t, r.dsn, service.Config{}).start()
			assert.Equal(t, trained, other.predict(question).Memory.Limit, "both replicas predict the same")
			profile, err = other.Task(t.Context(), task("load"))
			require.NoError(t, err)
			if c.runs > 0 { // without a plausible run there is no model to share
				assert.Len(t, profile.Quarantined, 1, "the other replica knows the quarantined peak")
			}
			repeated := r.report(wrong)
			assert.True(t, repeated[0].Duplicate)
			assert.Contains(t, warnedFields(repeated[0]), "memory_max_bytes", "a duplicate gets the warning, too")
			wrong.Try.RunID = "confirms"
			other.report(wrong)
			_, err = other.Train(t.Context(), task("load"))
			require.NoError(t, err)
			profile, err = other.Task(t.Context(), task("load"))
			require.NoError(t, err)
			if c.runs > 0 || c.wrong < sizing.MiB {
				assert.Len(t, profile.Quarantined, 2, "a peak smaller than any container, or far above the allocations of a known task, cannot be confirmed")
				assert.Contains(t, recorded[0].Warnings[0].Detail, "even if another report confirms it")
				return
			}
			assert.Empty(t, profile.Quarantined, "a second report confirms the first")
		})
	}
}

func TestSuspiciousReportsAreStoredWithWarnings(t *testing.T) {
	r := newReplica(t)
	now := time.Now()
	for name, c := range map[string]struct {
		change func(*sizing.Observation)
		fields []string
	}{
		"a plausible report": {func(*sizing.Observation) {}, nil},
		"a peak above the container": {func(o *sizing.Observation) {
			o.Allocated.Memory = 802 * sizing.MiB
			o.MemoryMax = 5 * gib
		}, []string{"memory_max_bytes"}},
		"an end in ten years":    {func(o *sizing.Observation) { o.EndedAt = now.AddDate(10, 0, 0) }, []string{"ended_at"}},
		"a start at Unix time 0": {func(o *sizing.Observation) { o.StartedAt = time.Unix(0, 0) }, []string{"started_at"}},
		"a clock that is an hour ahead": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt = now.Add(55*time.Minute), now.Add(time.Hour)
		}, nil},
		"a duration that differs from end minus start": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt, o.Duration = now.Add(-time.Hour), now, 20*time.Minute
		}, []string{"duration_seconds"}},
		"a duration in milliseconds, with a start": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt, o.Duration = now.Add(-2*time.Hour), time.Time{}, 1_800_000*time.Second
		}, []string{"duration_seconds"}},
		"a duration in milliseconds, without times": {func(o *sizing.Observation) {
			o.StartedAt, o.EndedAt, o.Duration = time.Time{}, time.Time{}, 3_600_000*time.Second
		}, []string{"duration_seconds"}},
		"a CPU peak in millicores": {func(o *sizing.Observation) { o.CPUMax, o.Allocated.CPU = 980, 1 }, []string{"cpu_max_cores"}},
	} {
		o := success("load", 3, 8)
		o.Try.RunID = name
		c.change(&o)
		assert.Equal(t, c.fields, warnedFields(r.report(o)[0]), name)
	}
	h := r.history("load")
	assert.Len(t, h.Rows, 9)
	for _, row := range h.Rows {
		assert.WithinRange(t, row.At, now.AddDate(0, 0, -1), now.Add(2*time.Hour), "stored time of: %s", row.RunID)
	}
}

// Retention uses the stored time of a report.
func TestAnAmendedTimeIsBounded(t *testing.T) {
	r := newReplica(t)
	o := success("load", 3, 8)
	r.report(o)
	o.EndedAt = time.Now().AddDate(10, 0, 0)
	recorded := r.report(o)
	assert.True(t, recorded[0].Amended)
	assert.Equal(t, []string{"ended_at"}, warnedFields(recorded[0]))
	h, err := r.store.History(t.Context(), task("load"), store.HistoryLimits{})
	require.NoError(t, err)
	assert.WithinRange(t, h.Rows[0].At, time.Now().AddDate(0, 0, -1), time.Now().Add(time.Hour))
}

func TestTheMinimumGrantYieldsToCapsLowerFloorsAndSufficientRequests(t *testing.T) {
	const mib = sizing.MiB
	r := joinReplica(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib})
	for _, run := range []string{"a", "b", "c"} {
		o := success("load", 1, 8)
		o.Try.RunID, o.MemoryMax, o.Allocated, o.Requested = run, 2000, sizing.Resources{}, sizing.Resources{}
		assert.Equal(t, []string{"memory_max_bytes"}, warnedFields(r.report(o)[0]))
	}
	question := ask("load", "")
	question.Features = rows(2) // near the reported runs
	for name, c := range map[string]struct {
		requested, maxMemory sizing.Bytes
		policy               sizing.Policy
		want                 sizing.Bytes
	}{
		"a request above the minimum": {requested: 2 * gib, want: 64 * mib},
		"no request":                  {want: 64 * mib},
		"the caller's cap":            {requested: 2 * gib, maxMemory: 16 * mib, want: 16 * mib},
		"a lower floor":               {requested: 2 * gib, policy: sizing.Policy{Floor: 8 * mib}, want: 8 * mib},
		"a higher floor":              {requested: 2 * gib, policy: sizing.Policy{Floor: 80 * mib}, want: 80 * mib},
		"a request that was enough":   {requested: 32 * mib, want: 32 * mib},
		"a cap of the policy":         {requested: 2 * gib, policy: sizing.Policy{Cap: 10 * mib}, want: 10 * mib},
		"never above the request":     {requested: 1 * mib, policy: sizing.Policy{NeverAbove: true}, want: 1 * mib},
	} {
		require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
		question.Requested.Memory, question.MaxMemory = c.requested, c.maxMemory
		assert.Equal(t, c.want, r.predict(question).Memory.Limit, name)
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{}))
	question.Requested.Memory, question.MaxMemory = 0, 0
	question.Try.RunID = "killed"
	lift := r.lift(question, 64*mib)
	assert.True(t, lift.Retry, "the derived cap is above the minimum grant")
	assert.Greater(t, lift.Memory.Limit, 64*mib)
}
