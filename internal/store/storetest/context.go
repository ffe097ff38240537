package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

func contextOf(t *testing.T, st store.Store, namespace string, perTask, limit int) map[string]sizing.ContextRow {
	t.Helper()
	rows, err := st.ContextRows(t.Context(), namespace, perTask, limit)
	require.NoError(t, err)
	byRun := make(map[string]sizing.ContextRow, len(rows))
	for i, r := range rows {
		require.True(t, i == 0 || !r.At.Before(rows[i-1].At), "rows must be ordered by time")
		byRun[r.Task.Task+"/"+r.RunID] = r
	}
	require.Len(t, byRun, len(rows))
	return byRun
}

func withContext(o sizing.Observation, owner string) sizing.Observation {
	load := 0.25
	o.Metadata = sizing.Metadata{"owner": {owner}, "tags": {"a", "b"}}
	o.Usage = sizing.MeanUsage(nil).Set(sizing.MemoryMean, 5e8).Set(sizing.GPUUtilisation, 0)
	o.Placement = sizing.Placement{NodeType: "m5.large", ClusterLoad: &load}
	return o
}

func testContext(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)

	t.Run("a namespace has the newest tries of each task with their context", func(t *testing.T) {
		st := open(t)
		first, second := runs(task("first"), 5), runs(task("second"), 3)
		for i := range first {
			first[i] = withContext(first[i], "emea")
		}
		killed := kill(firstTry(task("second"), "killed"), sizing.GiB)
		elsewhere := success(sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "elsewhere", DAG: "dag", Task: "first"}, RunID: "r", MapIndex: sizing.NoMap, Number: 1}, sizing.GiB, 1)
		recordNew(t, st, first...)
		recordNew(t, st, append(second, withContext(killed, "apac"), elsewhere)...)

		rows := contextOf(t, st, sizing.DefaultNamespace, 100, 1000)
		require.Len(t, rows, 9)
		for i := range first {
			got := rows["first/"+first[i].Try.RunID]
			assert.Equal(t, first[i].Metadata, got.Metadata)
			assert.Equal(t, first[i].Placement, got.Placement)
			assert.Equal(t, first[i].Features, got.Features)
			assert.Equal(t, first[i].MemoryMax, got.MemoryMax)
			assert.Equal(t, 5e8, got.Usage.Get(sizing.MemoryMean))
			assert.Zero(t, got.Usage.Get(sizing.GPUUtilisation))
			assert.NotEqual(t, got.Usage.Get(sizing.BytesRead), got.Usage.Get(sizing.BytesRead), "an unknown value must be NaN")
		}
		noContext := rows["second/"+second[0].Try.RunID]
		assert.Nil(t, noContext.Metadata)
		assert.Nil(t, noContext.Usage)
		assert.Zero(t, noContext.Placement)
		assert.Equal(t, sizing.OOMKilled, rows["second/killed"].Outcome)
		assert.Equal(t, []string{"apac"}, rows["second/killed"].Metadata["owner"])

		assert.Len(t, contextOf(t, st, sizing.DefaultNamespace, 2, 1000), 4, "at most two rows of each task must be returned")
		assert.Len(t, contextOf(t, st, sizing.DefaultNamespace, 100, 3), 3)
		assert.Len(t, contextOf(t, st, "elsewhere", 100, 1000), 1)
		assert.Empty(t, contextOf(t, st, "nowhere", 100, 1000))
	})

	t.Run("the first context stays, and a second contradicts nothing", func(t *testing.T) {
		st := open(t)
		noContext := completeKill(task("stays"))
		recordNew(t, st, noContext)
		require.Equal(t, amended, statusOf(record(t, st, withContext(noContext, "emea"))[0]), "the context must amend the try, which had none")
		require.Equal(t, duplicate, statusOf(record(t, st, withContext(noContext, "apac"))[0]))
		require.Equal(t, duplicate, statusOf(record(t, st, noContext)[0]))
		got := contextOf(t, st, sizing.DefaultNamespace, 10, 10)["stays/"+noContext.Try.RunID]
		assert.Equal(t, []string{"emea"}, got.Metadata["owner"])
	})

	t.Run("metadata that differs in every run takes bounded space and loses no report", func(t *testing.T) {
		st := open(t)
		obs := runs(task("many sets"), 3*store.MaxMetadataSets)
		for i := range obs {
			obs[i] = withContext(obs[i], fmt.Sprint("owner ", i))
		}
		warned := 0
		count := func(results []sizing.RecordResult) {
			for _, r := range results {
				require.NoError(t, r.Err)
				for _, w := range r.Warnings {
					assert.Equal(t, "metadata", w.Field)
					warned++
				}
			}
		}
		count(record(t, st, obs[:10]...))
		count(record(t, st, obs[10:]...))
		assert.Equal(t, len(obs)-10, warned, "each report of the second call must get a warning")
		stored := map[string]bool{}
		for _, r := range contextOf(t, st, sizing.DefaultNamespace, 1000, 1000) {
			if r.Metadata != nil {
				stored[r.Metadata["owner"][0]] = true
			}
			assert.NotNil(t, r.Usage)
		}
		assert.Len(t, stored, store.MaxMetadataSets)
	})

	t.Run("a task whose metadata differed in every run still stores a new owner", func(t *testing.T) {
		st := open(t)
		obs := runs(task("taken over"), store.MaxMetadataSets+3)
		for i := range obs {
			obs[i] = withContext(obs[i], fmt.Sprint("owner ", i))
			recordNew(t, st, obs[i])
		}
		owners, err := st.Owners(t.Context(), sizing.DefaultNamespace)
		require.NoError(t, err)
		last := len(obs) - 1
		assert.Equal(t, obs[last].Metadata["owner"][0], owners[obs[last].Try.TaskKey])
		got := contextOf(t, st, sizing.DefaultNamespace, 1000, 1000)
		for i := range obs {
			row := got["taken over/"+obs[i].Try.RunID]
			if i < 3 {
				assert.Nil(t, row.Metadata, "the oldest sets must be forgotten")
			} else {
				assert.Equal(t, obs[i].Metadata, row.Metadata)
			}
		}
		again := withContext(completeKill(task("taken over")), "owner 10") // a stored set
		result := record(t, st, again)[0]
		require.NoError(t, result.Err)
		assert.Empty(t, result.Warnings)
	})

	t.Run("Void, Rename and Delete include the context", func(t *testing.T) {
		key, to := task("old name"), task("new name")
		obs := runs(key, 2)
		for i := range obs {
			obs[i] = withContext(obs[i], "emea")
		}
		recordNew(t, st, obs...)
		require.NoError(t, st.Rename(t.Context(), key, to))
		require.NoError(t, st.Void(t.Context(), sizing.TryKey{TaskKey: to, RunID: obs[0].Try.RunID, MapIndex: sizing.NoMap, Number: 1}))
		rows := contextOf(t, st, sizing.DefaultNamespace, 10, 10)
		require.Len(t, rows, 1)
		assert.Equal(t, obs[1].Metadata, rows["new name/"+obs[1].Try.RunID].Metadata)
		require.NoError(t, st.DeleteTask(t.Context(), to))
		assert.Empty(t, contextOf(t, st, sizing.DefaultNamespace, 10, 10))
	})
}
