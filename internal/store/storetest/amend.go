package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// fields lists fields of an observation that may be unknown.
var fields = map[string]struct{ clear, contradict func(*sizing.Observation) }{
	"memory_max_bytes": {
		func(o *sizing.Observation) { o.MemoryMax = 0 }, func(o *sizing.Observation) { o.MemoryMax++ }},
	"memory_sampled_bytes": {
		func(o *sizing.Observation) { o.MemorySampled = 0 }, func(o *sizing.Observation) { o.MemorySampled++ }},
	"cpu_max_cores": {
		func(o *sizing.Observation) { o.CPUMax = 0 }, func(o *sizing.Observation) { o.CPUMax += 0.001 }},
	"duration_seconds": {
		func(o *sizing.Observation) { o.Duration = 0 }, func(o *sizing.Observation) { o.Duration += time.Microsecond }},
	"started_at": {
		func(o *sizing.Observation) { o.StartedAt = time.Time{} }, func(o *sizing.Observation) { o.StartedAt = o.StartedAt.Add(time.Microsecond) }},
	"ended_at": {
		func(o *sizing.Observation) { o.EndedAt = time.Time{} }, func(o *sizing.Observation) { o.EndedAt = o.EndedAt.Add(time.Microsecond) }},
	"allocated.memory_bytes": {
		func(o *sizing.Observation) { o.Allocated.Memory = 0 }, func(o *sizing.Observation) { o.Allocated.Memory++ }},
	"allocated.cpu_cores": {
		func(o *sizing.Observation) { o.Allocated.CPU = 0 }, func(o *sizing.Observation) { o.Allocated.CPU++ }},
	"requested.memory_bytes": {
		func(o *sizing.Observation) { o.Requested.Memory = 0 }, func(o *sizing.Observation) { o.Requested.Memory++ }},
	"requested.cpu_cores": {
		func(o *sizing.Observation) { o.Requested.CPU = 0 }, func(o *sizing.Observation) { o.Requested.CPU++ }},
	"features.count": {
		func(o *sizing.Observation) { o.Features = without(o.Features, "count") }, func(o *sizing.Observation) { o.Features = with(o.Features, "count", sizing.NumberValue(1254)) }},
	"features.region": {
		func(o *sizing.Observation) { o.Features = without(o.Features, "region") }, func(o *sizing.Observation) { o.Features = with(o.Features, "region", sizing.TextValue("apac")) }},
	"features.sale_end": {
		func(o *sizing.Observation) { o.Features = without(o.Features, "sale_end") }, func(o *sizing.Observation) { o.Features = with(o.Features, "sale_end", sizing.TextValue("2020-02-06")) }},
}

func with(f sizing.Features, name string, v sizing.Value) sizing.Features {
	f = without(f, name)
	f[name] = v
	return f
}

func without(f sizing.Features, name string) sizing.Features {
	rest := sizing.Features{}
	for n, v := range f {
		if n != name {
			rest[n] = v
		}
	}
	return rest
}

func testAmend(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("an equal report is a duplicate without effect", func(t *testing.T) {
		o := completeKill(task("same"))
		recordNew(t, st, o)
		before := history(t, st, o.Try.TaskKey)
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		o.StartedAt, o.EndedAt = o.StartedAt.Add(time.Nanosecond), o.EndedAt.In(time.FixedZone("", 3600)).Add(999*time.Nanosecond)
		o.Duration += 999 * time.Nanosecond
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]), "times must be compared with microsecond precision")
		require.Equal(t, before, history(t, st, o.Try.TaskKey))
	})

	for name, field := range fields {
		t.Run("unknown "+name+" is filled", func(t *testing.T) {
			known := completeKill(task("fill " + name))
			partial := known
			field.clear(&partial)
			recordNew(t, st, partial)
			require.Equal(t, amended, statusOf(record(t, st, known)[0]))
			require.Equal(t, duplicate, statusOf(record(t, st, known)[0]))
			require.Equal(t, duplicate, statusOf(record(t, st, partial)[0]), "omitted fields must contradict nothing")
		})
		t.Run("known "+name+" cannot be contradicted", func(t *testing.T) {
			o := completeKill(task("contradict " + name))
			recordNew(t, st, o)
			before := history(t, st, o.Try.TaskKey).Rows
			contradicting := o
			field.contradict(&contradicting)
			requireConflict(t, name, record(t, st, contradicting)[0])
			require.Equal(t, before, history(t, st, o.Try.TaskKey).Rows, "a rejected report must change nothing")
			require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		})
	}

	t.Run("a result has the seq of the stored row, or 0 if no row is stored", func(t *testing.T) {
		o := completeKill(task("place"))
		first := record(t, st, o, success(firstTry(o.Try.TaskKey, "next"), sizing.GiB, 1))
		seq := history(t, st, o.Try.TaskKey).Rows[0].Seq
		require.Equal(t, seq, first[0].Seq)
		require.Greater(t, first[1].Seq, seq)
		contradiction, unstorable := o, o
		contradiction.CPUMax++
		unstorable.Try.RunID = "\x00"
		repeated := record(t, st, o, contradiction, unstorable)
		require.Equal(t, []int64{seq, seq, 0}, []int64{repeated[0].Seq, repeated[1].Seq, repeated[2].Seq})
	})

	t.Run("a contradiction names the values of a bool", func(t *testing.T) {
		o := success(firstTry(task("bool"), "run"), sizing.GiB, 1)
		o.Features = sizing.Features{"weekend": sizing.BoolValue(true)}
		recordNew(t, st, o)
		o.Features = sizing.Features{"weekend": sizing.BoolValue(false)}
		r := record(t, st, o)[0]
		requireConflict(t, "features.weekend", r)
		require.ErrorContains(t, r.Err, "was reported as true before, now as false")
	})

	// Releases that did not keep UTC offsets stored only the instant.
	t.Run("a time in another offset is the same time", func(t *testing.T) {
		for _, texts := range [][2]string{
			{"2024-03-31T22:15:00Z", "2024-04-01T00:15:00+02:00"}, {"2024-04-01T00:15:00+02:00", "2024-03-31T22:15:00Z"},
		} {
			o := success(firstTry(task("offset of "+texts[0]), "run"), sizing.GiB, 1)
			o.Features = sizing.Features{"ts": sizing.TextValue(texts[0])}
			recordNew(t, st, o)
			h := history(t, st, o.Try.TaskKey)
			require.Equal(t, texts[0], h.Schema.Features(h.Rows[0].Features)["ts"].JSON())
			o.Features = sizing.Features{"ts": sizing.TextValue(texts[1])}
			require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
			o.Features = sizing.Features{"ts": sizing.TextValue("2024-04-01T00:15:00+01:00")}
			r := record(t, st, o)[0]
			requireConflict(t, "features.ts", r)
			require.ErrorContains(t, r.Err, "was reported as "+texts[0]+" before, now as 2024-04-01T00:15:00+01:00")
		}
	})

	t.Run("another prediction id changes nothing and is no contradiction", func(t *testing.T) {
		o := completeKill(task("other id"))
		partial := o
		partial.MemoryMax = 0
		recordNew(t, st, partial)
		o.PredictionID = "p-2"
		r := record(t, st, o)[0]
		require.Equal(t, amended, statusOf(r), "the other fields of the report must be stored")
		require.Equal(t, []sizing.FieldError{{Field: "prediction_id", Detail: `is ignored: an earlier report of the try named "p-1"`}}, r.Warnings)
		require.Equal(t, o.MemoryMax, history(t, st, o.Try.TaskKey).Rows[0].MemoryMax)
		require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
		unnamed := completeKill(task("no id"))
		unnamed.PredictionID = ""
		recordNew(t, st, unnamed)
		unnamed.PredictionID = "p-1"
		require.Equal(t, amended, statusOf(record(t, st, unnamed)[0]))
	})

	t.Run("a contradiction fills no other field", func(t *testing.T) {
		o := completeKill(task("half"))
		partial := o
		partial.MemoryMax = 0
		recordNew(t, st, partial)
		o.CPUMax = 3
		requireConflict(t, "cpu_max_cores", record(t, st, o)[0])
		require.Zero(t, history(t, st, o.Try.TaskKey).Rows[0].MemoryMax)
	})

	t.Run("a row whose peak is reported later records the newest row at that time", func(t *testing.T) {
		key := task("measured after")
		first, second, third := success(firstTry(key, "1"), sizing.GiB, 1), success(firstTry(key, "2"), sizing.GiB, 2), success(firstTry(key, "3"), sizing.GiB, 3)
		unmeasured := first
		unmeasured.MemoryMax = 0
		recordNew(t, st, unmeasured, second)
		require.True(t, record(t, st, first)[0].Measured)
		recordNew(t, st, third)
		second.CPUMax = 1
		require.Equal(t, amended, statusOf(record(t, st, second)[0]))
		h, err := st.Since(t.Context(), key, 0, 10)
		require.NoError(t, err)
		require.Equal(t, []int64{h.Rows[1].Seq, 0, 0}, []int64{h.Rows[0].MeasuredAfter, h.Rows[1].MeasuredAfter, h.Rows[2].MeasuredAfter})
	})

	t.Run("an end that is reported later changes the time of the row", func(t *testing.T) {
		o := completeKill(task("ends"))
		running := o
		running.EndedAt = time.Time{}
		recordNew(t, st, running)
		require.Equal(t, o.StartedAt, history(t, st, o.Try.TaskKey).Rows[0].At)
		record(t, st, o)
		require.Equal(t, noon, history(t, st, o.Try.TaskKey).Rows[0].At)
	})

	testProvisional(t, st)
	testLookups(t, st)
	testRepeatedInOneCall(t, st)
}

func testRepeatedInOneCall(t *testing.T, st store.Store) {
	for name, n := range map[string]int{"few": 5, "many": 300} {
		t.Run("tries are repeated among "+name+" reports", func(t *testing.T) {
			key := task("repeated " + name)
			obs := runs(key, n)
			same, longer, contradiction := obs[0], obs[1], obs[2]
			longer.Duration = time.Minute
			contradiction.MemoryMax++
			recorded := record(t, st, append(obs, same, longer, contradiction)...)
			for i := range n {
				require.Equal(t, created, statusOf(recorded[i]))
			}
			require.Equal(t, duplicate, statusOf(recorded[n]))
			require.Equal(t, amended, statusOf(recorded[n+1]))
			requireConflict(t, "memory_max_bytes", recorded[n+2])
			h := history(t, st, key)
			require.Equal(t, n, h.Total)
			require.Equal(t, time.Minute, h.Rows[1].Duration)
			require.Equal(t, 3*sizing.MiB, h.Rows[2].MemoryMax)
		})
	}
}
