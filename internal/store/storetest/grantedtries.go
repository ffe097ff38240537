package storetest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// testGrantedTries tests the queries by which a restarted replica restores its in-memory state: granted
// tries, scheduling failures and tasks without a model.
func testGrantedTries(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("granted tries have their outcomes", func(t *testing.T) {
		key := task("granted")
		second := firstTry(key, "killed")
		second.Number = 2
		lift := receipt("3", second, 0.2, noon.Add(2*time.Second))
		lift.Allocation.Source, lift.Allocation.Mode = sizing.FromLift, sizing.Enforce
		lift.Allocation.Guard = sizing.Guard{Params: make([]float64, 18)} // laid out as by Model.guardState of package taskmodel
		copy(lift.Allocation.Guard.Params, []float64{1, 0.05, 1, 1.5})    // the guard's factor is 1.5; before the guard 0.05 was promised
		lift.Allocation.Guard.Params[16] = -0.75                          // the run score
		shadow := receipt("4", second, math.NaN(), noon.Add(3*time.Second))
		shadow.Allocation.Source, shadow.Allocation.Shadow = sizing.FromLift, &sizing.Grant{Limit: 1}
		require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
			receipt("0", firstTry(key, "too old"), 0.1, noon.Add(-time.Hour)),
			receipt("1", firstTry(key, "open"), 0.1, noon),
			receipt("2", firstTry(key, "killed"), math.NaN(), noon.Add(time.Second)),
			lift, shadow,
			receipt("5", firstTry(key, ""), 0.1, noon.Add(4*time.Second)),
			receipt("6", firstTry(task("another"), "open"), 0.1, noon),
		}))
		record(t, st, kill(firstTry(key, "killed"), sizing.GiB), success(firstTry(task("another"), "open"), 1, 1))
		got, err := st.GrantedTries(t.Context(), key, noon.Add(-time.Minute), 100)
		require.NoError(t, err)
		tenth, fifth, twentieth := 0.1, 0.2, 0.05
		limit, n := 2*sizing.GiB, sizing.Features{"n": sizing.NumberValue(1)}
		require.Equal(t, []store.GrantedTry{
			{RunID: "open", MapIndex: sizing.NoMap, Try: 1, Promised: &tenth, BeforeGuard: &tenth, Limit: limit, At: noon, Features: n},
			{RunID: "killed", MapIndex: sizing.NoMap, Try: 1, Limit: limit, At: noon.Add(time.Second), Outcome: sizing.OOMKilled},
			{RunID: "killed", MapIndex: sizing.NoMap, Try: 2, Promised: &fifth, BeforeGuard: &twentieth, RunScore: -0.75, Limit: limit, Lifted: true, At: noon.Add(2 * time.Second), Features: n},
			{RunID: "killed", MapIndex: sizing.NoMap, Try: 2, Limit: limit, At: noon.Add(3 * time.Second), Features: n},
		}, got)
		newest, err := st.GrantedTries(t.Context(), key, noon.Add(-time.Minute), 1)
		require.NoError(t, err)
		require.Equal(t, got[3:], newest, "the limit must select the newest")
		none, err := st.GrantedTries(t.Context(), task("unknown"), noon, 1)
		require.NoError(t, err)
		require.Empty(t, none)
	})

	t.Run("scheduling failures since a time are listed, oldest first", func(t *testing.T) {
		key := task("unschedulable")
		failure := func(run string, b sizing.Bytes, at time.Time) sizing.Observation {
			return sizing.Observation{Try: firstTry(key, run), Outcome: sizing.Unschedulable, Allocated: sizing.Resources{Memory: b}, EndedAt: at}
		}
		record(t, st, failure("late", 3, noon), failure("early", 2, noon.Add(-time.Minute)), failure("old", 1, noon.Add(-time.Hour)),
			failure("of unknown size", 0, noon), kill(firstTry(key, "killed"), 4))
		got, err := st.SchedulingFailures(t.Context(), key, noon.Add(-time.Minute), 9)
		require.NoError(t, err)
		require.Equal(t, []store.SchedulingFailure{{Memory: 2, At: noon.Add(-time.Minute)}, {Memory: 3, At: noon}}, got)
		newest, err := st.SchedulingFailures(t.Context(), key, noon.Add(-time.Minute), 1)
		require.NoError(t, err)
		require.Equal(t, got[1:], newest)
	})

	t.Run("tasks with reports and without a model are unpublished", func(t *testing.T) {
		key, published := task("unpublished"), task("published")
		recordNew(t, st, success(firstTry(key, "r"), 1, 1), success(firstTry(published, "r"), 1, 1))
		require.NoError(t, st.SetPolicy(t.Context(), task("only a policy"), sizing.Policy{Floor: 1}))
		_, err := st.Publish(t.Context(), store.Model{Task: published, Family: "f", Blob: []byte("b"), TrainedAt: noon}, 0)
		require.NoError(t, err)
		keys, err := st.Unpublished(t.Context())
		require.NoError(t, err)
		require.Contains(t, keys, key)
		require.NotContains(t, keys, published)
		require.NotContains(t, keys, task("only a policy"))
	})
}
