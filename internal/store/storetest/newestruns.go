package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// mappedRun returns the successes of n instances in one run. They end a second apart, the first at the time `at`.
// Instance i takes i + 1 minutes and has the feature n = i.
func mappedRun(task sizing.TaskKey, run string, n int, at time.Time) []sizing.Observation {
	obs := make([]sizing.Observation, n)
	for i := range obs {
		try := firstTry(task, run)
		try.MapIndex = i
		obs[i] = success(try, sizing.GiB, float64(i))
		obs[i].EndedAt, obs[i].Duration = at.Add(time.Duration(i)*time.Second), time.Duration(i+1)*time.Minute
	}
	return obs
}

func byRunID(runs []store.TaskRun) map[string]store.TaskRun {
	all := map[string]store.TaskRun{}
	for _, r := range runs {
		all[r.RunID] = r
	}
	return all
}

func testNewestRuns(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key, other := task("mapped"), task("other")
	for i := range 5 {
		recordNew(t, st, mappedRun(key, fmt.Sprint("run", i), 30, noon.Add(time.Duration(i)*time.Hour))...)
	}
	failed := kill(firstTry(key, "run4"), sizing.GiB)
	failed.EndedAt = noon.Add(5 * time.Hour)
	onlyFailed := kill(firstTry(key, "run5"), sizing.GiB)
	onlyFailed.EndedAt = noon.Add(6 * time.Hour)
	recordNew(t, st, failed, onlyFailed)
	recordNew(t, st, mappedRun(key, sizing.ReproductionPrefix+"run4", 3, noon.Add(7*time.Hour))...)
	recordNew(t, st, mappedRun(other, "run4", 2, noon)...)
	read := func(limits store.RunLimits) (store.TaskRuns, store.TaskRuns) {
		t.Helper()
		all, err := st.NewestRuns(t.Context(), key.Namespace, key.DAG, []string{key.Task, other.Task, "unknown"}, limits)
		require.NoError(t, err)
		require.Len(t, all, 2)
		return all[key.Task], all[other.Task]
	}

	mapped, second := read(store.RunLimits{Tries: 1000, Runs: 10, Sample: 20})
	require.Equal(t, key, mapped.Sample.Task)
	require.Len(t, mapped.Sample.Rows, 20)
	require.Len(t, byRunID([]store.TaskRun{{RunID: mapped.Sample.Rows[0].RunID}, {RunID: mapped.Sample.Rows[19].RunID}}), 2, "the sample must contain several runs")
	require.Zero(t, mapped.Since)
	runs := byRunID(mapped.Runs)
	require.Len(t, runs, 6)
	want := store.TaskRun{RunID: "run3", Start: noon.Add(3*time.Hour + 29*time.Second - 30*time.Minute), End: noon.Add(3*time.Hour + 29*time.Second),
		Instances: 30, Longest: 30 * time.Minute, Features: []float64{29}}
	require.Equal(t, want, runs["run3"])
	require.Equal(t, 30, runs["run4"].Instances)
	require.True(t, runs["run4"].HasFailed)
	require.Equal(t, store.TaskRun{RunID: "run5", Start: onlyFailed.EndedAt, HasFailed: true}, runs["run5"])
	require.Equal(t, []store.TaskRun{{RunID: "run4", Start: noon.Add(time.Second - 2*time.Minute), End: noon.Add(time.Second), Instances: 2, Longest: 2 * time.Minute, Features: []float64{1}}}, second.Runs)

	again := task("again")
	for number := range 2 {
		try := firstTry(again, "run0")
		try.Number = number + 1
		o := success(try, sizing.GiB, float64(number))
		o.EndedAt, o.Duration = noon.Add(time.Duration(number)*72*time.Hour), time.Duration(1+number)*time.Minute
		recordNew(t, st, o)
	}
	all, err := st.NewestRuns(t.Context(), key.Namespace, key.DAG, []string{again.Task}, store.RunLimits{Tries: 1000, Runs: 10})
	require.NoError(t, err)
	require.Equal(t, []store.TaskRun{{RunID: "run0", Start: noon.Add(-time.Minute), End: noon, Instances: 1, Longest: time.Minute, Features: []float64{0}}},
		all[again.Task].Runs, "of an instance that succeeded twice the first success counts")

	mapped, _ = read(store.RunLimits{Tries: 1 + 31 + 10, Runs: 10})
	runs = byRunID(mapped.Runs)
	require.Len(t, runs, 3)
	require.False(t, runs["run4"].IsPartial)
	require.True(t, runs["run3"].IsPartial, "only 10 of its 30 tries were read")
	require.Equal(t, 10, runs["run3"].Instances)
	require.Equal(t, want.End, mapped.Since)

	mapped, _ = read(store.RunLimits{Tries: 1000, Runs: 3})
	require.Len(t, mapped.Runs, 3)
	require.Equal(t, want, byRunID(mapped.Runs)["run3"])
	require.Equal(t, want.End, mapped.Since)

	mapped, second = read(store.RunLimits{Since: noon.Add(4*time.Hour + 20*time.Second), Tries: 1000, Runs: 10, Sample: 20})
	require.Len(t, mapped.Runs, 2)
	require.True(t, byRunID(mapped.Runs)["run4"].IsPartial)
	require.Len(t, mapped.Sample.Rows, 10)
	require.Equal(t, noon.Add(4*time.Hour+20*time.Second), mapped.Since)
	require.Empty(t, second.Runs)
}
