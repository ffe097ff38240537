package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func testTasks(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("a profile summarises the observations", func(t *testing.T) {
		key := task("profile")
		obs := runs(key, 5) // peaks of 1 to 5 MiB
		for i := range obs {
			obs[i].Duration = time.Duration(i+1) * 10 * time.Second
			obs[i].Requested = sizing.Resources{Memory: sizing.Bytes(i+1) * sizing.GiB, CPU: 2}
		}
		obs[4].Requested = sizing.Resources{}
		killed := kill(firstTry(key, "killed"), 64*sizing.GiB)
		killed.Duration = time.Hour
		failed := success(firstTry(key, "failed"), 99*sizing.GiB, 1)
		failed.Outcome = sizing.Failed
		recordNew(t, st, append(obs, killed, failed)...)
		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{Cap: 7}))

		p, err := st.Task(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, key, p.Task)
		require.Equal(t, 7, p.Observations)
		require.Equal(t, 1, p.Kills)
		require.Equal(t, noon.Add(4*time.Minute), p.LastSeen)
		require.Equal(t, sizing.Resources{Memory: 4 * sizing.GiB, CPU: 2}, p.Requested, "the request must be the last one reported")
		require.Equal(t, 5*sizing.MiB, p.LargestPeak, "the largest peak must be that of a success")
		MiB := float64(sizing.MiB)
		require.InDeltaSlice(t, []float64{1, 3, 4.6, 4.96, 5},
			[]float64{p.Memory.Min / MiB, p.Memory.P50 / MiB, p.Memory.P90 / MiB, p.Memory.P99 / MiB, p.Memory.Max / MiB}, 1e-9)
		require.InDeltaSlice(t, []float64{10, 30, 46, 49.6, 50},
			[]float64{p.Seconds.Min, p.Seconds.P50, p.Seconds.P90, p.Seconds.P99, p.Seconds.Max}, 1e-9, "the durations must be those of successes")
		require.Equal(t, []sizing.Field{{Name: "n", Kind: sizing.Number}}, p.Schema.Fields)
		require.Equal(t, sizing.Policy{Cap: 7}, p.Policy)
		require.Nil(t, p.Champion)
		require.Nil(t, p.Evaluation)
	})

	t.Run("a profile names its champion", func(t *testing.T) {
		m := model(t, st, "champion")
		publish(t, st, m, 0)
		p, err := st.Task(t.Context(), m.Task)
		require.NoError(t, err)
		require.Equal(t, &sizing.ModelRef{Version: 1, Family: "boosted", Observations: 1460, TrainedAt: noon}, p.Champion)
		require.Equal(t, m.Evaluation, p.Evaluation)
	})

	t.Run("a task with only a policy has a profile", func(t *testing.T) {
		lifts, key := 0, task("policy only")
		policy := sizing.Policy{Mode: sizing.Off, RiskTarget: 1.0 / 3, MaxLifts: &lifts, NeverAbove: true}
		require.NoError(t, st.SetPolicy(t.Context(), key, policy))
		p, err := st.Task(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, sizing.Profile{Task: key, Policy: policy}, p)
		h := history(t, st, key)
		require.Empty(t, h.Rows)

		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{Floor: 5}))
		got, err := st.Policy(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, sizing.Policy{Floor: 5}, got, "the policy must be replaced, not merged")
		policies, err := st.Policies(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[sizing.TaskKey]sizing.Policy{key: {Floor: 5}, task("profile"): {Cap: 7}}, policies)
	})

	t.Run("an unknown task has neither a profile nor a policy", func(t *testing.T) {
		_, err := st.Task(t.Context(), task("unknown"))
		requireKind(t, sizing.NotFound, err)
		policy, err := st.Policy(t.Context(), task("unknown"))
		require.NoError(t, err)
		require.Equal(t, sizing.Policy{}, policy)
	})

	testPages(t, open(t))
}

func testPages(t *testing.T, st store.Store) {
	keys := []sizing.TaskKey{ // ordered by bytes, part by part
		{Namespace: "a", DAG: "Z", Task: "x"}, {Namespace: "a", DAG: "a", Task: "b-c"}, {Namespace: "a", DAG: "a", Task: "bC"},
		{Namespace: "a", DAG: "a-b", Task: "a"}, {Namespace: "b", DAG: "a", Task: "a"},
	}
	for i := range keys {
		recordNew(t, st, runs(keys[len(keys)-1-i], 1)...)
	}
	for name, c := range map[string]struct {
		namespace string
		after     sizing.TaskKey
		limit     int
		want      []sizing.TaskKey
	}{
		"all are listed in order":                 {"", sizing.TaskKey{}, 10, keys},
		"a page ends at its limit":                {"", sizing.TaskKey{}, 2, keys[:2]},
		"the next page starts after the last key": {"", keys[1], 2, keys[2:4]},
		"the last page is short":                  {"", keys[3], 2, keys[4:]},
		"nothing is after the last key":           {"", keys[4], 2, nil},
		"the key need not exist":                  {"", sizing.TaskKey{Namespace: "a", DAG: "a", Task: "bB"}, 1, keys[2:3]},
		"a namespace lists its own tasks":         {"b", sizing.TaskKey{}, 10, keys[4:]},
		"an unknown namespace lists no tasks":     {"c", sizing.TaskKey{}, 10, nil},
		"limit 0 gives an empty page":             {"", sizing.TaskKey{}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			profiles, err := st.Tasks(t.Context(), c.namespace, c.after, c.limit)
			require.NoError(t, err)
			var got []sizing.TaskKey
			for _, p := range profiles {
				got = append(got, p.Task)
				require.Equal(t, 1, p.Observations)
			}
			require.Equal(t, c.want, got)
		})
	}
}

func createTaskData(t *testing.T, st store.Store, name string) sizing.TaskKey {
	t.Helper()
	m := model(t, st, name)
	publish(t, st, m, 0)
	require.NoError(t, st.SetPolicy(t.Context(), m.Task, sizing.Policy{Cap: 7}))
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{receipt("of "+name, firstTry(m.Task, "run00000"), 0.5, noon)}))
	return m.Task
}

func testRename(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	from, taken := createTaskData(t, st, "from"), createTaskData(t, st, "taken")
	to := sizing.TaskKey{Namespace: "other", DAG: "new", Task: "to"}

	t.Run("renaming to an existing task, to the same name or from an unknown task fails", func(t *testing.T) {
		requireKind(t, sizing.Conflict, st.Rename(t.Context(), from, taken))
		requireKind(t, sizing.Conflict, st.Rename(t.Context(), from, from))
		requireKind(t, sizing.NotFound, st.Rename(t.Context(), task("unknown"), to))
		requireKind(t, sizing.NotFound, st.Rename(t.Context(), task("unknown"), task("unknown")))
		require.Equal(t, 1, history(t, st, from).Total)
	})

	t.Run("Rename moves all data of a task", func(t *testing.T) {
		require.NoError(t, st.Rename(t.Context(), from, to))
		_, err := st.Task(t.Context(), from)
		requireKind(t, sizing.NotFound, err)
		p, err := st.Task(t.Context(), to)
		require.NoError(t, err)
		require.Equal(t, 1, p.Observations)
		require.Equal(t, sizing.Bytes(7), p.Policy.Cap)
		require.Equal(t, 1, p.Champion.Version)
		require.Equal(t, to, history(t, st, to).Task)
		r, err := st.ReceiptOfTry(t.Context(), firstTry(to, "run00000"))
		require.NoError(t, err)
		require.Equal(t, to, r.Ask.Try.TaskKey)
		require.Equal(t, to, r.Allocation.Task)
		realised, err := st.Realised(t.Context(), to, 10)
		require.NoError(t, err)
		require.Equal(t, 1, realised.Tries)
	})

	t.Run("a report under the old name creates a new task", func(t *testing.T) {
		obs := runs(from, 2)
		recordNew(t, st, obs...)
		require.Equal(t, 2, history(t, st, from).Total)
		require.Equal(t, 1, history(t, st, to).Total)
		require.Equal(t, duplicate, statusOf(record(t, st, runs(to, 1)...)[0]))
	})
}

func testDelete(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	key, other := createTaskData(t, st, "deleted"), createTaskData(t, st, "kept")
	require.NoError(t, st.DeleteTask(t.Context(), key))

	t.Run("DeleteTask deletes all data of the task and none of others", func(t *testing.T) {
		_, err := st.Task(t.Context(), key)
		requireKind(t, sizing.NotFound, err)
		_, err = st.ActiveModel(t.Context(), key)
		requireKind(t, sizing.NotFound, err)
		_, err = st.Receipt(t.Context(), "of deleted")
		requireKind(t, sizing.NotFound, err)
		policies, err := st.Policies(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[sizing.TaskKey]sizing.Policy{other: {Cap: 7}}, policies)
		requireKind(t, sizing.NotFound, st.DeleteTask(t.Context(), key))
		require.Equal(t, 1, history(t, st, other).Total)
	})

	t.Run("a later report creates the task again", func(t *testing.T) {
		o := runs(key, 1)[0]
		o.Features = sizing.Features{"n": sizing.TextValue("another kind")}
		recordNew(t, st, o)
		require.Equal(t, o.Features, features(t, st, key))
		require.Equal(t, 1, publish(t, st, store.Model{Task: key, Family: "f", Blob: []byte{1}, TrainedAt: noon}, 0))
	})
}
