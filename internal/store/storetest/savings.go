package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

var allScopes = []store.Scope{{}}

func testSavings(t *testing.T, open func(*testing.T) store.Store) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("ledger equals a recount, seed ", seed), func(t *testing.T) {
			testLedger(t, open(t), rand.New(rand.NewPCG(seed, 20)))
		})
	}
	t.Run("the first static request stays the baseline", func(t *testing.T) { testBaseline(t, open(t)) })
	t.Run("the baseline of an import is the request of the earliest first try", func(t *testing.T) { testBaselineOfImport(t, open(t)) })
	t.Run("a filter selects scopes and days, and a key divides the sum", func(t *testing.T) { testSavingsFilter(t, open(t)) })
	t.Run("amounts without a duration are unknown", func(t *testing.T) { testUnknownAmounts(t, open(t)) })
	t.Run("a peak above the allocation does not reduce the waste", func(t *testing.T) { testPeakAboveAllocation(t, open(t)) })
	t.Run("CPU without an allocation counts in no saving", func(t *testing.T) { testSavedCPU(t, open(t)) })
	t.Run("sums that read stored months equal sums of days", func(t *testing.T) { testSumMonths(t, open(t)) })
	t.Run("TaskUsage returns measured peaks", func(t *testing.T) { testTaskUsage(t, open(t)) })
	t.Run("PeakSample has one row per run", func(t *testing.T) { testPeakSample(t, open(t)) })
}

// recount holds every acknowledged report that is not voided.
type recount map[sizing.TryKey]sizing.Observation

func (r recount) sum(request sizing.Bytes, isSelected func(*sizing.Observation) bool) (s store.SavingsSum) {
	var hours, usedHours, requested, granted, used, killed, unused float64
	for _, o := range r {
		if !isSelected(&o) {
			continue
		}
		s.Tries++
		success, oom, h := o.Outcome == sizing.Success, o.Outcome.OOM(), o.Duration.Hours()
		allocated := o.Allocated.Memory
		if allocated == 0 {
			allocated = o.Requested.Memory
		}
		switch {
		case success:
			s.Successes++
		case oom:
			s.Kills++
		}
		accounted, measured := (success || oom) && allocated > 0 && h > 0, success && o.MemoryMax > 0 && h > 0
		if (success || oom) && !accounted {
			s.Unaccounted++
		}
		if success && !measured {
			s.Unmeasured++
		}
		if accounted && success {
			hours += h
			requested += float64(request) / 1e9 * h
			granted += float64(allocated) / 1e9 * h
		}
		if accounted && oom {
			killed += float64(allocated) / 1e9 * h
		}
		if measured {
			used += float64(o.MemoryMax) / 1e9 * h
			usedHours += h
		}
		if measured && accounted {
			unused += float64(max(allocated-o.MemoryMax, 0)) / 1e9 * h
		}
	}
	if s.Successes+s.Kills > s.Unaccounted {
		wasted, saved := unused+killed, requested-granted-killed
		s.Wasted, s.Saved = &wasted, &saved
		if s.Successes == 0 || granted > 0 {
			s.Hours, s.Requested, s.Granted = &hours, &requested, &granted
		}
		if s.Kills == 0 || killed > 0 {
			s.Killed = &killed
		}
	}
	if s.Successes > s.Unmeasured {
		s.Used, s.UsedHours = &used, &usedHours
	}
	return s
}

func requireSum(t *testing.T, want, got store.SavingsSum, message string) {
	t.Helper()
	require.Equal(t, []int{want.Tries, want.Successes, want.Kills, want.Unaccounted, want.Unmeasured},
		[]int{got.Tries, got.Successes, got.Kills, got.Unaccounted, got.Unmeasured}, message)
	for name, pair := range map[string][2]*float64{
		"hours": {want.Hours, got.Hours}, "requested": {want.Requested, got.Requested}, "granted": {want.Granted, got.Granted},
		"used": {want.Used, got.Used}, "used hours": {want.UsedHours, got.UsedHours}, "killed": {want.Killed, got.Killed}, "wasted": {want.Wasted, got.Wasted}, "saved": {want.Saved, got.Saved},
	} {
		require.Equal(t, pair[0] == nil, pair[1] == nil, "%s: both or neither of the two values of %s must be nil", message, name)
		if pair[0] != nil {
			require.InDelta(t, *pair[0], *pair[1], 1e-9*(1+math.Abs(*pair[0])), "%s: %s", message, name)
		}
	}
}

func savings(t *testing.T, st store.Store, by store.SavingsKey) []store.SavingsSum {
	t.Helper()
	sums, err := st.SavingsSums(t.Context(), store.SavingsFilter{Scopes: allScopes}, by)
	require.NoError(t, err)
	return sums
}

func randomReport(rng *rand.Rand, key sizing.TaskKey, run int) sizing.Observation {
	o := sizing.Observation{
		Try:       firstTry(key, fmt.Sprint("r", run)),
		Outcome:   []sizing.Outcome{sizing.Success, sizing.Success, sizing.Success, sizing.OOMKilled, sizing.AppOOM, sizing.Failed, sizing.Evicted}[rng.IntN(7)],
		MemoryMax: sizing.Bytes(1 + rng.Int64N(300e9)), Duration: time.Duration(1+rng.IntN(5_000_000)) * time.Millisecond,
		EndedAt:   noon.Add(time.Duration(rng.IntN(240)) * time.Hour),
		Allocated: sizing.Resources{Memory: sizing.Bytes(1 + rng.Int64N(350e9)), CPU: sizing.Cores(rng.IntN(5)) / 4},
		Requested: sizing.Resources{Memory: 350e9},
	}
	return o
}

func withUnknownFields(rng *rand.Rand, o sizing.Observation) sizing.Observation {
	for _, clearField := range []func(){
		func() { o.MemoryMax = 0 }, func() { o.Duration = 0 }, func() { o.Allocated.CPU = 0 }, func() { o.Requested = sizing.Resources{} },
		func() {
			if !o.Outcome.OOM() || o.MemoryMax > 0 {
				o.Allocated.Memory = 0
			}
		},
	} {
		if rng.IntN(3) == 0 {
			clearField()
		}
	}
	return o
}

// testLedger reports, repeats, amends, replaces, voids, removes and renames at random. After each
// round the ledger must equal a recount.
func testLedger(t *testing.T, st store.Store, rng *rand.Rand) {
	keys := []sizing.TaskKey{task("a"), task("b")}
	// The reports in stored may lack fields; those in pending are complete and may amend them.
	stored, pending := recount{}, map[sizing.TryKey]sizing.Observation{}
	for _, key := range keys { // before the tasks exist
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{{
			At: noon, Ask: sizing.Ask{Try: firstTry(key, "first"), Requested: sizing.Resources{Memory: 350e9}},
			Allocation: sizing.Allocation{PredictionID: key.Task, Task: key},
		}}))
	}
	removed, run := 0, 0
	for range 25 {
		var batch []sizing.Observation
		for range 1 + rng.IntN(40) {
			full := randomReport(rng, keys[rng.IntN(2)], run)
			run++
			first := withUnknownFields(rng, full)
			if rng.IntN(6) == 0 { // a lookup of the pod came first
				first = kill(full.Try, full.Allocated.Memory)
				first.Provisional, first.EndedAt = true, full.EndedAt
			}
			batch, stored[full.Try], pending[full.Try] = append(batch, first), first, full
		}
		if rng.IntN(2) == 0 {
			batch = append(batch, batch[rng.IntN(len(batch))]) // twice in one call
		}
		record(t, st, batch...)
		for try, full := range pending {
			switch rng.IntN(4) {
			case 0: // the whole report
				require.NoError(t, record(t, st, full)[0].Err)
				if stored[try].Provisional && full.Outcome.MayBeOOM() {
					full.Outcome = sizing.OOMKilled
				}
				stored[try] = full
				delete(pending, try)
			case 1:
				require.NoError(t, st.Void(t.Context(), try))
				delete(stored, try)
				delete(pending, try)
			}
		}
		if rng.IntN(3) == 0 { // retention may remove reports, which cannot be amended afterwards
			pending = map[sizing.TryKey]sizing.Observation{}
			for _, key := range keys {
				publishAll(t, st, key)
				removed += removeObservations(t, st, key, noon.Add(200*time.Hour))
			}
		}
		if rng.IntN(5) == 0 {
			keys[0] = rename(t, st, keys[0], stored, pending)
		}
		if rng.IntN(2) == 0 {
			sumMonths(t, st, noon.AddDate(0, 0, rng.IntN(12)))
		}
		all := savings(t, st, store.ByAll)
		require.Len(t, all, 1)
		requireSum(t, stored.sum(350e9, func(*sizing.Observation) bool { return true }), all[0], "all")
	}
	require.Positive(t, removed, "retention must have removed reports")
	for _, sum := range savings(t, st, store.ByTask) {
		requireSum(t, stored.sum(350e9, func(o *sizing.Observation) bool { return o.Try.TaskKey == sum.Task }), sum, sum.Task.String())
	}
	for _, sum := range savings(t, st, store.ByDay) {
		requireSum(t, stored.sum(350e9, func(o *sizing.Observation) bool { return o.EndedAt.Truncate(24 * time.Hour).Equal(sum.Day) }), sum, sum.Day.String())
	}
	require.NoError(t, st.DeleteTask(t.Context(), keys[0]))
	left := savings(t, st, store.ByTask)
	require.Len(t, left, 1)
	require.Equal(t, keys[1], left[0].Task)
}

func rename(t *testing.T, st store.Store, from sizing.TaskKey, maps ...map[sizing.TryKey]sizing.Observation) sizing.TaskKey {
	to := from
	to.Task += "x"
	require.NoError(t, st.Rename(t.Context(), from, to))
	for _, byTry := range maps {
		for try, o := range byTry {
			if try.TaskKey == from {
				delete(byTry, try)
				try.TaskKey = to
				o.Try = try
				byTry[try] = o
			}
		}
	}
	return to
}

func testUnknownAmounts(t *testing.T, st store.Store) {
	lasting := func(o sizing.Observation, duration time.Duration) sizing.Observation {
		o.Allocated.Memory, o.Duration = 2*sizing.GiB, duration
		return o
	}
	key := task("untimed_kills")
	recordNew(t, st, lasting(success(firstTry(key, "0"), sizing.GiB, 0), time.Hour), lasting(kill(firstTry(key, "1"), 0), 0))
	sum := savings(t, st, store.ByTask)[0]
	require.Nil(t, sum.Killed, "the amount must be unknown, because no kill has a duration")
	require.NotNil(t, sum.Granted)

	key = task("untimed_successes")
	recordNew(t, st, lasting(success(firstTry(key, "0"), sizing.GiB, 0), 0), lasting(kill(firstTry(key, "1"), 0), time.Hour))
	sum = savings(t, st, store.ByTask)[1]
	require.NotNil(t, sum.Killed)
	require.Nil(t, sum.Granted, "the amount must be unknown, because no success has a duration")
	require.Nil(t, sum.Requested)
	require.Nil(t, sum.Hours)
}

func testPeakAboveAllocation(t *testing.T, st store.Store) {
	key := task("a")
	above := success(firstTry(key, "0"), 3*sizing.GiB, 0)
	above.Requested.Memory, above.Duration = sizing.GiB, time.Hour // without an allocation, the request counts
	recordNew(t, st, above)
	require.InDelta(t, 0, *savings(t, st, store.ByTask)[0].Wasted, 1e-9)

	below := success(firstTry(key, "1"), sizing.GiB, 0)
	below.Allocated.Memory, below.Duration = 3*sizing.GiB, time.Hour
	recordNew(t, st, below)
	const waste = 2 * float64(sizing.GiB) / 1e9
	require.InDelta(t, waste, *savings(t, st, store.ByTask)[0].Wasted, 1e-9)
	require.NoError(t, st.Void(t.Context(), above.Try))
	require.InDelta(t, waste, *savings(t, st, store.ByTask)[0].Wasted, 1e-9, "Void must subtract what the report added")
}

func testSavedCPU(t *testing.T, st store.Store) {
	lasting := func(o sizing.Observation, allocated sizing.Cores) sizing.Observation {
		o.Allocated, o.Requested, o.Duration = sizing.Resources{Memory: 2 * sizing.GiB, CPU: allocated}, sizing.Resources{Memory: 2 * sizing.GiB, CPU: 2}, time.Hour
		return o
	}
	key := task("a")
	recordNew(t, st, lasting(success(firstTry(key, "0"), sizing.GiB, 0), 0), lasting(kill(firstTry(key, "1"), 0), 0))
	require.Nil(t, savings(t, st, store.ByTask)[0].SavedCPU)
	recordNew(t, st, lasting(success(firstTry(key, "2"), sizing.GiB, 0), 0.5))
	require.InDelta(t, 1.5, *savings(t, st, store.ByTask)[0].SavedCPU, 1e-9)
}

func testSavingsFilter(t *testing.T, st store.Store) {
	for i, key := range []sizing.TaskKey{{Namespace: "blue", DAG: "etl_a", Task: "t"}, {Namespace: "blue", DAG: "web", Task: "t"}, {Namespace: "red", DAG: "etl_a", Task: "t"}} {
		for day := range 3 {
			o := success(firstTry(key, fmt.Sprint(day)), sizing.GiB, 0)
			o.EndedAt, o.Duration = noon.Add(time.Duration(day)*24*time.Hour), time.Duration(1+i)*time.Minute
			recordNew(t, st, o)
		}
	}
	tries := func(f store.SavingsFilter, by store.SavingsKey) (n []int) {
		sums, err := st.SavingsSums(t.Context(), f, by)
		require.NoError(t, err)
		for _, s := range sums {
			n = append(n, s.Tries)
		}
		return n
	}
	day := noon.Truncate(24 * time.Hour)
	require.Equal(t, []int{9}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByAll))
	require.Equal(t, []int{3, 3, 3}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByTask))
	require.Equal(t, []int{3, 3, 3}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByDay))
	require.Equal(t, []int{9}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByOwner))
	require.Equal(t, []int{9}, tries(store.SavingsFilter{Scopes: allScopes, Monthly: true}, store.ByAll))
	require.Equal(t, []int{3, 3, 3}, tries(store.SavingsFilter{Scopes: allScopes, Monthly: true}, store.ByTask))
	require.Equal(t, []int{6}, tries(store.SavingsFilter{Scopes: allScopes, From: day.Add(24 * time.Hour)}, store.ByAll))
	require.Equal(t, []int{3}, tries(store.SavingsFilter{Scopes: allScopes, To: day.Add(24 * time.Hour)}, store.ByAll))
	require.Equal(t, []int{3, 3}, tries(store.SavingsFilter{Scopes: []store.Scope{{DAGPrefix: "etl_"}}}, store.ByDAG))
	require.Equal(t, []int{3, 3, 3}, tries(store.SavingsFilter{Scopes: []store.Scope{{DAGPrefix: "etl_"}, {Namespace: "blue"}}}, store.ByTask))
	require.Equal(t, []int{3}, tries(store.SavingsFilter{Scopes: []store.Scope{{Namespace: "red"}}}, store.ByTask))
	require.Equal(t, []int{3, 3}, tries(store.SavingsFilter{Scopes: allScopes, Namespace: "blue"}, store.ByTask))
	require.Empty(t, tries(store.SavingsFilter{}, store.ByAll), "nothing must be selected without a scope")

	owned := withContext(success(firstTry(sizing.TaskKey{Namespace: "red", DAG: "etl_a", Task: "t"}, "owned"), sizing.GiB, 0), "emea")
	recordNew(t, st, owned)
	owners, err := st.Owners(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, map[sizing.TaskKey]string{owned.Try.TaskKey: "emea"}, owners)
	require.Equal(t, []int{6, 4}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByOwner), "the current owner must get the tries of all days")
	require.Equal(t, []int{3, 3, 4}, tries(store.SavingsFilter{Scopes: allScopes}, store.ByDAGOwner))
	sums, err := st.SavingsSums(t.Context(), store.SavingsFilter{Scopes: allScopes, Namespace: "red"}, store.ByDAGOwner)
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"etl_a", "emea"}}, [][2]string{{sums[0].Task.DAG, sums[0].Owner}})
}

func sumMonths(t *testing.T, st store.Store, before time.Time) {
	t.Helper()
	for tasks := 1; tasks > 0; {
		var err error
		tasks, err = st.SumMonths(t.Context(), before, 2)
		require.NoError(t, err)
	}
}

func testSumMonths(t *testing.T, st store.Store) {
	rng := rand.New(rand.NewPCG(5, 6))
	keys := []sizing.TaskKey{task("a"), task("b"), {Namespace: "red", DAG: "d", Task: "c"}}
	day := func(n int) time.Time { return time.Date(2026, 1, 10+n, 0, 0, 0, 0, time.UTC) }
	report := func(run, firstDay, days int) {
		o := withUnknownFields(rng, randomReport(rng, keys[run%3], run))
		o.EndedAt = day(firstDay + rng.IntN(days)).Add(time.Hour)
		recordNew(t, st, o)
	}
	all := func() (sums [][]store.SavingsSum) {
		for _, by := range []store.SavingsKey{store.ByAll, store.ByDay, store.ByDAG, store.ByTask, store.ByOwner, store.ByDAGOwner} {
			for _, monthly := range []bool{false, true} {
				for _, from := range []time.Time{{}, day(-9), day(3), day(22), day(50), day(81)} {
					for _, to := range []time.Time{{}, day(5), day(22), day(23), day(81), day(90)} {
						f := store.SavingsFilter{Scopes: allScopes, From: from, To: to, Monthly: monthly}
						found, err := st.SavingsSums(t.Context(), f, by)
						require.NoError(t, err)
						sums = append(sums, found)
					}
				}
			}
		}
		return sums
	}
	usage := func() []sizing.Usage {
		found, err := st.TaskUsage(t.Context(), "")
		require.NoError(t, err)
		return found
	}
	for run := range 150 {
		report(run, 0, 100)
	}
	ofDays, usageOfDays := all(), usage()
	for _, before := range []int{-20, 30, 30, 22, 60, 200} {
		sumMonths(t, st, day(before))
		require.Equal(t, ofDays, all(), "the sums must not change if the months before %s are stored", day(before))
		require.Equal(t, usageOfDays, usage())
	}
	tasks, err := st.SumMonths(t.Context(), day(200), 10)
	require.NoError(t, err)
	require.Zero(t, tasks, "no task may be left after all months are stored")

	for run := 150; run < 160; run++ {
		report(run, 40, 10)
	}
	late := all()
	require.NotEqual(t, ofDays, late)
	sumMonths(t, st, day(200))
	require.Equal(t, late, all(), "the sums must not change if the months are stored again after late reports")
}

func testTaskUsage(t *testing.T, st store.Store) {
	key := task("a")
	for i, peak := range []sizing.Bytes{2e9, 4e9, 6e9} {
		o := success(firstTry(key, fmt.Sprint(i)), peak, 0)
		o.Duration = time.Hour
		recordNew(t, st, o)
	}
	recordNew(t, st, kill(firstTry(task("b"), "k"), sizing.GiB))
	usage, err := st.TaskUsage(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, usage, 1)
	require.Equal(t, sizing.Usage{Task: key, Runs: 3, MeanPeak: 4e9, Spread: usage[0].Spread, GBHours: 12}, usage[0])
	require.InDelta(t, 1.632993161855452e9, usage[0].Spread, 1)
}

func testPeakSample(t *testing.T, st store.Store) {
	key := task("a")
	report := func(run string, number int, outcome sizing.Outcome, peak, allocated sizing.Bytes, hours int) {
		o := kill(firstTry(key, run), allocated)
		o.Try.Number, o.Outcome, o.MemoryMax, o.Duration = number, outcome, peak, time.Duration(hours)*time.Hour
		recordNew(t, st, o)
	}
	report("success", 1, sizing.Success, 2e9, 8e9, 1)
	report("two successes", 1, sizing.Success, 5e9, 8e9, 1)
	report("two successes", 2, sizing.Success, 3e9, 8e9, 2)
	report("lifted", 1, sizing.OOMKilled, 0, 4e9, 9)
	report("lifted", 2, sizing.Success, 6e9, 8e9, 3)
	report("measured kill", 1, sizing.AppOOM, 39e8, 4e9, 9)
	report("measured kill", 2, sizing.Success, 3e9, 8e9, 4)
	report("killed", 1, sizing.OOMKilled, 41e8, 4e9, 5)
	report("killed", 2, sizing.OOMKilled, 0, 8e9, 6)
	report("killed", 3, sizing.Failed, 1e9, 16e9, 9)
	report("unmeasured", 1, sizing.OOMKilled, 0, 4e9, 9)
	report("unmeasured", 2, sizing.Success, 0, 8e9, 9)
	report("failed", 1, sizing.Failed, 1e9, 8e9, 9)
	peaks, err := st.PeakSample(t.Context(), key, 100)
	require.NoError(t, err)
	require.ElementsMatch(t, []store.PeakRow{
		{Peak: 2e9, Duration: time.Hour},
		{Peak: 5e9, Duration: 2 * time.Hour},
		{Peak: 6e9, Duration: 3 * time.Hour},
		{Peak: 39e8, Duration: 4 * time.Hour},
		{Peak: 8e9, Duration: 6 * time.Hour, IsKilled: true},
	}, peaks)

	other := task("b")
	recordNew(t, st, runs(other, 5)...)
	peaks, err = st.PeakSample(t.Context(), other, 2)
	require.NoError(t, err)
	require.Len(t, peaks, 2)
	_, err = st.PeakSample(t.Context(), task("unknown"), 2)
	requireKind(t, sizing.NotFound, err)
}
