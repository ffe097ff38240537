package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// detailed returns a series with a step of 15 s whose values the rounding of the store does not change.
func detailed(points int) *sizing.Series {
	s := &sizing.Series{Step: 15 * time.Second}
	for i := range points {
		s.Memory, s.CPU = append(s.Memory, int64((i*37)%100)*int64(sizing.MiB)), append(s.CPU, float64(i%5)/4)
	}
	return s
}

func testPlans(t *testing.T, open func(*testing.T) store.Store) {
	t.Run("successes with a series are read in order of arrival", func(t *testing.T) { testDetailedRuns(t, open(t)) })
	t.Run("a usage series is used until a detailed series replaces it", func(t *testing.T) { testUsageSeriesOfPlans(t, open(t)) })
	t.Run("a task keeps its newest series", func(t *testing.T) {
		st, key := open(t), task("many")
		obs := runs(key, store.MaxDetailedRuns+10)
		for i := range obs {
			obs[i].Detailed = detailed(1 + i)
		}
		recordNew(t, st, obs...)
		kept, err := st.DetailedRuns(t.Context(), key, 0)
		require.NoError(t, err)
		require.Len(t, kept, store.MaxDetailedRuns)
		require.Equal(t, obs[10].Try.RunID, kept[0].RunID)
	})
	t.Run("a detailed series replaces the oldest usage series that a task keeps", func(t *testing.T) {
		st, key := open(t), task("full")
		obs := runs(key, store.MaxDetailedRuns)
		for i := range obs {
			obs[i].Series = detailed(60)
			obs[i].Series.Step = time.Minute
		}
		recordNew(t, st, obs...)
		before, err := st.DetailedRuns(t.Context(), key, 0)
		require.NoError(t, err)
		require.Len(t, before, store.MaxDetailedRuns)
		obs[0].Detailed = detailed(240)
		require.Equal(t, amended, statusOf(record(t, st, obs[0])[0]))
		after, err := st.DetailedRuns(t.Context(), key, 0)
		require.NoError(t, err)
		at := slices.IndexFunc(after, func(r store.DetailedRun) bool { return r.RunID == obs[0].Try.RunID })
		require.Equal(t, *obs[0].Detailed, after[at].Series)
		require.ElementsMatch(t, before[1:], slices.Delete(after, at, at+1), "the series of newer runs must stay")
	})
	t.Run("a repeated report does not restore what newer reports displaced", func(t *testing.T) { testDisplacedPlans(t, open(t)) })
	t.Run("the outcomes of followed memory plans are read", func(t *testing.T) { testPlanOutcomes(t, open(t)) })
	t.Run("the ledger counts the limits of plans over time", func(t *testing.T) { testMeanLimits(t, open(t)) })
	t.Run("SavePlan replaces a plan only if the caller knows its newest version", func(t *testing.T) { testSavePlan(t, open(t)) })
}

func testDetailedRuns(t *testing.T, st store.Store) {
	ctx, key := t.Context(), task("detailed")
	tasks, err := st.PlannableTasks(ctx, 1)
	require.NoError(t, err)
	require.Empty(t, tasks)
	obs := runs(key, 3)
	obs[0].Detailed, obs[1].Detailed = detailed(4), detailed(200)
	obs[1].Detailed.CPU = nil
	obs[0].Requested = sizing.Resources{Memory: 8 * sizing.GiB, CPU: 2}
	obs[1].Requested, obs[1].Allocated = obs[0].Requested, sizing.Resources{Memory: 3 * sizing.GiB, CPU: 1}
	killed := kill(firstTry(key, "killed"), sizing.GiB)
	killed.Detailed = detailed(2)
	recordNew(t, st, append(obs, killed)...)
	got, err := st.DetailedRuns(ctx, key, 0)
	require.NoError(t, err)
	require.Len(t, got, 2, "the killed run must be omitted, because its series is incomplete")
	require.Equal(t, *obs[0].Detailed, got[0].Series)
	require.Equal(t, *obs[1].Detailed, got[1].Series)
	require.Equal(t, obs[0].Requested, got[0].Static)
	require.Equal(t, obs[1].Allocated, got[1].Static)
	require.Equal(t, obs[1].Try.RunID, got[1].RunID)
	require.Equal(t, sizing.NoMap, got[1].MapIndex)
	require.Equal(t, 1, got[1].Try)
	require.Greater(t, got[1].ID, got[0].ID)
	tasks, err = st.PlannableTasks(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []sizing.TaskKey{key}, tasks)

	other := obs[0]
	other.Detailed = detailed(9)
	require.Equal(t, duplicate, statusOf(record(t, st, other)[0]), "the first series must stay")
	obs[2].Detailed = detailed(5)
	require.Equal(t, amended, statusOf(record(t, st, obs[2])[0]))
	got, err = st.DetailedRuns(ctx, key, got[1].ID)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, obs[2].Try.RunID, got[0].RunID)
	require.NoError(t, st.Void(ctx, obs[2].Try))
	got, err = st.DetailedRuns(ctx, key, 0)
	require.NoError(t, err)
	require.Len(t, got, 2, "Void must delete the series")
}

func testUsageSeriesOfPlans(t *testing.T, st store.Store) {
	key := task("coarse")
	usage := func(step time.Duration, points int) *sizing.Series {
		s := detailed(points)
		s.Step = step
		return s
	}
	obs := runs(key, 4)
	obs[0].Series = usage(51200*time.Millisecond, 80)
	obs[1].Series = usage(5*time.Second, 100)
	obs[2].Series = usage(20*time.Minute, 100)
	obs[3].Series, obs[3].Detailed = usage(time.Minute, 60), detailed(120)
	killed := kill(firstTry(key, "killed"), sizing.GiB)
	killed.Series = usage(time.Minute, 60)
	recordNew(t, st, append(obs, killed)...)
	stored := func() []store.DetailedRun {
		got, err := st.DetailedRuns(t.Context(), key, 0)
		require.NoError(t, err)
		require.Len(t, got, 2, "the short run, the run with long steps and the killed run must be omitted")
		return got
	}
	require.Equal(t, *obs[0].Series, stored()[0].Series)
	require.Equal(t, *obs[3].Detailed, stored()[1].Series)

	more := obs[0]
	more.Detailed = detailed(260)
	require.Equal(t, amended, statusOf(record(t, st, more)[0]))
	require.Equal(t, *more.Detailed, stored()[0].Series, "a series with shorter steps must replace the usage series")
	require.Equal(t, duplicate, statusOf(record(t, st, obs[0])[0]))
	require.Equal(t, *more.Detailed, stored()[0].Series)
}

// testDisplacedPlans repeats and completes reports while the task has as many series and executed plans as the store
// keeps.
func testDisplacedPlans(t *testing.T, st store.Store) {
	ctx, key := t.Context(), task("displaced")
	obs := runs(key, store.MaxExecutedPlans+10)
	for i := range obs {
		obs[i].Detailed = detailed(4)
		obs[i].Executed = &sizing.ExecutedPlan{Version: 3, Mode: sizing.ResizeMemory, Followed: true, Start: sizing.GiB}
	}
	newest := len(obs) - 1
	first := slices.Clone(obs)
	first[0].Requested.Memory, first[newest].Detailed, first[newest].Executed = 0, nil, nil
	recordNew(t, st, first...)
	stored := func() ([]store.DetailedRun, []store.PlanOutcome) {
		series, err := st.DetailedRuns(ctx, key, 0)
		require.NoError(t, err)
		plans, err := st.PlanOutcomes(ctx, key, 0)
		require.NoError(t, err)
		return series, plans
	}
	series, plans := stored()

	require.Equal(t, duplicate, statusOf(record(t, st, first[0])[0]))
	obs[0].Requested.Memory = 8 * sizing.GiB
	require.Equal(t, amended, statusOf(record(t, st, obs[0])[0]), "the report must amend the unknown request")
	sameSeries, samePlans := stored()
	require.Equal(t, series, sameSeries)
	require.Equal(t, plans, samePlans)

	require.Equal(t, amended, statusOf(record(t, st, obs[newest])[0]))
	nextSeries, nextPlans := stored()
	require.Equal(t, obs[newest].Try.RunID, nextSeries[store.MaxDetailedRuns-1].RunID)
	require.Equal(t, series[1:], nextSeries[:store.MaxDetailedRuns-1], "the oldest series must be displaced")
	require.Equal(t, plans[1:], nextPlans[:store.MaxExecutedPlans-1], "the oldest executed plan must be displaced")
}

func testPlanOutcomes(t *testing.T, st store.Store) {
	ctx, key := t.Context(), task("outcomes")
	obs := runs(key, 4)
	inForce := 31.5
	obs[0].Executed = &sizing.ExecutedPlan{Version: 3, Mode: sizing.ResizeMemory, Followed: true, Start: sizing.GiB,
		Resizes: []sizing.ExecutedResize{{Seconds: 30, Memory: 2 * sizing.GiB, Result: "applied", InForce: &inForce}}}
	obs[1].Executed = &sizing.ExecutedPlan{Version: 3, Mode: sizing.ResizeMemory, Fallback: "infeasible"}
	obs[2].Executed = &sizing.ExecutedPlan{Version: 3, Mode: sizing.ResizeCPU, Followed: true}
	killed := kill(firstTry(key, "killed"), sizing.GiB)
	killed.Executed = obs[0].Executed
	recordNew(t, st, append(obs, killed)...)
	got, err := st.PlanOutcomes(ctx, key, 0)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.False(t, got[0].Killed)
	require.True(t, got[1].Killed)
	newer, err := st.PlanOutcomes(ctx, key, got[0].ID)
	require.NoError(t, err)
	require.Equal(t, got[1:], newer)
	tasks, err := st.PlannableTasks(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []sizing.TaskKey{key}, tasks)
}

// testMeanLimits checks the mean limit of a try whose limit was raised. The new limit counts from the time of its request.
func testMeanLimits(t *testing.T, st store.Store) {
	key, inForce := task("means"), 3000.0
	o := runs(key, 1)[0]
	o.Duration, o.Allocated.Memory, o.MemoryMax = time.Hour, 4e9, 3e9
	o.Executed = &sizing.ExecutedPlan{Version: 1, Mode: sizing.ResizeMemory, Followed: true, Start: 1e9,
		Resizes: []sizing.ExecutedResize{{Seconds: 2700, Memory: 4e9, Result: "applied", InForce: &inForce}}}
	recordNew(t, st, o)
	sum := savings(t, st, store.ByAll)[0]
	require.InDelta(t, 1.75, *sum.Granted, 1e-9, "1 GB until 4 GB is requested after three quarters of the hour")
	require.InDelta(t, 3, *sum.Used, 1e-9)
	require.Zero(t, *sum.Wasted, "a mean limit below the peak must waste nothing")
	require.Equal(t, duplicate, statusOf(record(t, st, o)[0]))
	require.InDelta(t, 1.75, *savings(t, st, store.ByAll)[0].Granted, 1e-9)
	require.NoError(t, st.Void(t.Context(), o.Try))
	require.Empty(t, savings(t, st, store.ByAll), "Void must remove what the report added")
}

func testSavePlan(t *testing.T, st store.Store) {
	ctx, key := t.Context(), task("planned")
	_, err := st.TaskPlan(ctx, key, 0)
	requireKind(t, sizing.NotFound, err)
	pool, err := st.PlanPool(ctx, key.Namespace, 0)
	require.NoError(t, err)
	require.Equal(t, store.PlanPool{Namespace: key.Namespace}, pool)
	first := store.TaskPlan{Task: key, Format: 1, LearnedAt: noon, Content: []byte{1, 2}}
	pool.Format, pool.Content = 1, []byte{3}
	requireKind(t, sizing.NotFound, st.SavePlan(ctx, first, pool))
	o := runs(key, 1)[0]
	o.Detailed = detailed(3)
	recordNew(t, st, o)
	stored, err := st.DetailedRuns(ctx, key, 0)
	require.NoError(t, err)
	first.Series = stored[0].ID
	require.NoError(t, st.SavePlan(ctx, first, pool))
	requireKind(t, sizing.Conflict, st.SavePlan(ctx, first, pool))
	tasks, err := st.PlannableTasks(ctx, 1)
	require.NoError(t, err)
	require.Empty(t, tasks, "a task whose plan has all series must not be listed")
	tasks, err = st.PlannableTasks(ctx, 2)
	require.NoError(t, err)
	require.Len(t, tasks, 1, "a task whose plan has another format must be listed")

	second, nextPool := first, pool
	second.Version, second.Content = 1, []byte{4}
	requireKind(t, sizing.Conflict, st.SavePlan(ctx, second, nextPool))
	got, err := st.TaskPlan(ctx, key, 0)
	require.NoError(t, err)
	require.Equal(t, first.Content, got.Content, "a conflict of the pool must change no plan")
	nextPool.Version = 1
	require.NoError(t, st.SavePlan(ctx, second, nextPool))
	got, err = st.TaskPlan(ctx, key, 1)
	require.NoError(t, err)
	second.Version = 2
	require.Equal(t, second, got)
	got, err = st.TaskPlan(ctx, key, 2)
	require.NoError(t, err)
	require.Nil(t, got.Content, "a known version must be returned without content")
	listed := second
	listed.Content = nil
	for namespace, want := range map[string][]store.TaskPlan{"": {listed}, key.Namespace: {listed}, "other": {}} {
		plans, err := st.PlannedTasks(ctx, namespace)
		require.NoError(t, err)
		require.Equal(t, want, plans, namespace)
	}
	nextPool, err = st.PlanPool(ctx, key.Namespace, 1)
	require.NoError(t, err)
	require.Equal(t, store.PlanPool{Namespace: key.Namespace, Version: 2, Format: 1, Content: []byte{3}}, nextPool)

	require.NoError(t, st.Rename(ctx, key, task("renamed")))
	_, err = st.TaskPlan(ctx, task("renamed"), 0)
	require.NoError(t, err)
	require.NoError(t, st.DeleteTask(ctx, task("renamed")))
	_, err = st.TaskPlan(ctx, task("renamed"), 0)
	requireKind(t, sizing.NotFound, err)
}
