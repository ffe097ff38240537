package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func execution(try sizing.TryKey, days int, peak sizing.Bytes) sizing.Observation {
	o := success(try, peak, 1)
	o.EndedAt = noon.AddDate(0, 0, days)
	o.StartedAt, o.Duration = o.EndedAt.Add(-10*time.Minute), 10*time.Minute
	return o
}

func storedRuns(t *testing.T, st store.Store, task sizing.TaskKey) map[string][]sizing.Bytes {
	t.Helper()
	runs := map[string][]sizing.Bytes{}
	for _, row := range history(t, st, task).Rows {
		peak := row.MemoryMax
		if peak == 0 {
			peak = -1
		}
		runs[row.RunID] = append(runs[row.RunID], peak)
	}
	return runs
}

// testExecutions reports tries of DAG runs that were deleted and created again, with the same run id and try numbers.
func testExecutions(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("a later execution becomes the report of the try", func(t *testing.T) {
		key := task("later")
		first, second, third := execution(firstTry(key, "r"), 0, 1), execution(firstTry(key, "r"), 1, 2), execution(firstTry(key, "r"), 2, 3)
		before := record(t, st, first)[0]
		again := record(t, st, second)[0]
		require.Equal(t, []string{created, "r (execution 1)"}, []string{statusOf(again), again.Superseded})
		require.Greater(t, again.Seq, before.Seq)
		require.Len(t, again.Warnings, 1)
		require.Equal(t, "r (execution 2)", record(t, st, third)[0].Superseded)
		want := map[string][]sizing.Bytes{"r (execution 1)": {1}, "r (execution 2)": {2}, "r": {3}}
		require.Equal(t, want, storedRuns(t, st, key))
		for _, o := range []sizing.Observation{first, second, third} {
			require.Equal(t, duplicate, statusOf(record(t, st, o)[0]), "a repeated report must change nothing")
		}
		require.Equal(t, want, storedRuns(t, st, key))
		p, err := st.Task(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, 3, p.Observations)
	})

	t.Run("all tries of the earlier execution get its run id", func(t *testing.T) {
		key := task("tries")
		killed, retry := execution(firstTry(key, "r"), 0, 1), execution(firstTry(key, "r"), 0, 2)
		killed.Outcome, killed.MemoryMax, killed.Allocated.Memory = sizing.OOMKilled, 0, sizing.GiB
		retry.Try.Number, retry.StartedAt, retry.EndedAt = 2, killed.EndedAt, killed.EndedAt.Add(10*time.Minute)
		recordNew(t, st, killed, retry, execution(firstTry(key, "other"), 0, 3))
		again := execution(firstTry(key, "r"), 1, 4)
		again.PredictedAt = again.StartedAt
		record(t, st, again)
		require.Equal(t, map[string][]sizing.Bytes{"r (execution 1)": {-1, 2}, "r": {4}, "other": {3}}, storedRuns(t, st, key))
		kills, err := st.Kills(t.Context(), key, "r", sizing.NoMap)
		require.NoError(t, err)
		require.Empty(t, kills)
		require.Equal(t, duplicate, statusOf(record(t, st, retry)[0]))
	})

	t.Run("a late report of an earlier execution leaves the report of the try", func(t *testing.T) {
		key := task("late")
		first, second := execution(firstTry(key, "r"), 0, 1), execution(firstTry(key, "r"), 1, 2)
		recordNew(t, st, second)
		late := record(t, st, first)[0]
		require.Equal(t, []any{created, true, ""}, []any{statusOf(late), late.Late, late.Superseded})
		first.CPUMax = 2
		late = record(t, st, first)[0]
		require.Equal(t, []any{amended, true}, []any{statusOf(late), late.Late}, "a repeated report may add fields to the earlier execution")
		require.Equal(t, duplicate, statusOf(record(t, st, second)[0]))
		require.Equal(t, map[string][]sizing.Bytes{"r (execution 1)": {1}, "r": {2}}, storedRuns(t, st, key))
	})

	t.Run("the executions arrive in one call", func(t *testing.T) {
		key := task("one call")
		first, second := execution(firstTry(key, "r"), 0, 0), execution(firstTry(key, "r"), 1, 2)
		first.Allocated.Memory, second.Allocated.Memory, second.PredictedAt = sizing.GiB, 2*sizing.GiB, second.StartedAt
		measured := first
		measured.MemoryMax = 1
		record(t, st, first, measured, second, measured, second)
		require.Equal(t, map[string][]sizing.Bytes{"r (execution 1)": {1}, "r": {2}}, storedRuns(t, st, key))
	})

	t.Run("a kill without times is of a later execution if its prediction is", func(t *testing.T) {
		key := task("predicted")
		ended := execution(firstTry(key, "r"), 0, 1)
		recordNew(t, st, ended)
		liftRequest := kill(ended.Try, sizing.GiB)
		liftRequest.EndedAt, liftRequest.Provisional = time.Time{}, true
		requireConflict(t, "outcome", record(t, st, liftRequest)[0])
		liftRequest.PredictedAt = ended.StartedAt
		requireConflict(t, "outcome", record(t, st, liftRequest)[0])
		liftRequest.PredictedAt = ended.EndedAt.AddDate(0, 0, 1)
		require.Equal(t, "r (execution 1)", record(t, st, liftRequest)[0].Superseded)
		require.Equal(t, duplicate, statusOf(record(t, st, liftRequest)[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, ended)[0]), "a repeated report of the earlier execution must not replace the kill")
		require.Equal(t, map[string][]sizing.Bytes{"r (execution 1)": {1}, "r": {-1}}, storedRuns(t, st, key))
	})

	t.Run("a peak that is reported later with other times belongs to the stored report", func(t *testing.T) {
		first, second := execution(firstTry(task("usage log"), "r"), 0, 0), execution(firstTry(task("usage log"), "r"), 1, 1)
		second.Duration -= time.Minute
		recordNew(t, st, first)
		second.StartedAt = second.StartedAt.Add(time.Minute)
		require.Empty(t, record(t, st, second)[0].Superseded)
	})

	t.Run("another outcome at other times is a contradiction, unless a prediction came between", func(t *testing.T) {
		ended := execution(firstTry(task("outcome"), "r"), 0, 1)
		recordNew(t, st, ended)
		failed := execution(ended.Try, 1, 0)
		failed.Outcome = sizing.Failed
		requireConflict(t, "outcome", record(t, st, failed)[0])
		failed.PredictionID = "0198b2f0-0000-7000-8000-000000000000" // of 2025-08-16, after the end
		require.Equal(t, "r (execution 1)", record(t, st, failed)[0].Superseded)
	})

	t.Run("other times alone are a contradiction", func(t *testing.T) {
		o := execution(firstTry(task("zone"), "r"), 0, 1)
		recordNew(t, st, o)
		o.StartedAt, o.EndedAt = o.StartedAt.Add(2*time.Hour), o.EndedAt.Add(2*time.Hour)
		requireConflict(t, "started_at", record(t, st, o)[0])
	})

	t.Run("a start less than a minute after the end is a contradiction", func(t *testing.T) {
		o := execution(firstTry(task("skew"), "r"), 0, 1)
		recordNew(t, st, o)
		o.MemoryMax, o.StartedAt, o.EndedAt = 2, o.EndedAt.Add(time.Minute-time.Microsecond), o.EndedAt.Add(time.Hour)
		requireConflict(t, "memory_max_bytes", record(t, st, o)[0])
		o.StartedAt = o.StartedAt.Add(time.Microsecond)
		require.Equal(t, "r (execution 1)", record(t, st, o)[0].Superseded)
	})
}
