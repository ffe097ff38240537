package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// reportUsage reports 20 runs of each of the eight tasks in two DAGs of a namespace. Four tasks use little memory and time,
// and four use much.
func (e *testEnv) reportUsage(namespace string, options ...option) {
	var items []string
	for run := range 20 {
		for task := range 8 {
			memory, seconds := 2e8, 30.0
			if task%2 == 1 {
				memory, seconds = 3e10, 4000
			}
			items = append(items, fmt.Sprintf(`{"namespace": %q, "dag_id": %q, "task_id": "t%d", "run_id": "r%d", "outcome": "success", "memory_max_bytes": %.0f, "duration_seconds": %.2f, "requested": {"memory": "64Gi"}}`,
				namespace, []string{"etl_a", "ml_b"}[task/4], task, run, memory*(1+0.02*float64((run*3+task)%11)), seconds*(1+0.03*float64((run*5+task)%7))))
		}
	}
	e.do(http.MethodPost, "/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`, options...)
}

func TestUsageProfilesAreShownWithinTheScope(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("all"), "predict@blue/etl_:"+sha("etl"), "predict@red:"+sha("red")))
	get := func(path, token string) answer { return e.do(http.MethodGet, path, "", bearer(token)) }
	e.reportUsage("blue", bearer("all"))
	missing := get("/profiles?namespace=blue", "all")
	assert.Equal(t, http.StatusNotFound, missing.status)
	assert.Contains(t, string(missing.body), "within an hour of 100 reports")
	var before api.TaskProfile
	get("/tasks/etl_a/t1?namespace=blue", "all").into(&before)
	assert.Nil(t, before.Profile)
	assert.Nil(t, before.Anomaly)

	require.NoError(t, e.trainer.FindProfiles(t.Context(), time.Now()))
	var set, scoped api.UsageProfileSet
	get("/profiles?namespace=blue", "all").into(&set)
	get("/profiles", "etl").into(&scoped)
	assert.Equal(t, set, scoped, "without the parameter namespace, the answer is for the only namespace of the token")
	require.Len(t, set.Profiles, 2)
	assert.Equal(t, 160, set.Runs)
	assert.Equal(t, 8, set.Tasks)
	assert.Equal(t, 80, set.Profiles[0].Runs)
	assert.Greater(t, set.Silhouette, 0.9)
	assert.Equal(t, []string{"memory_peak_bytes", "duration_seconds"}, set.Quantities, "the request is omitted, because it is the same for all tasks")
	assert.Equal(t, http.StatusForbidden, get("/profiles?namespace=blue", "red").status)
	assert.Equal(t, http.StatusNotFound, get("/profiles", "red").status)

	var task api.TaskProfile
	get("/tasks/etl_a/t1?namespace=blue", "etl").into(&task)
	require.NotNil(t, task.Profile)
	assert.InDelta(t, 1, task.Profile.Share, 1e-9)
	require.NotNil(t, task.Anomaly)
	assert.False(t, task.Anomaly.IsOutlier)
	assert.Equal(t, 10, task.Anomaly.Runs)

	path := fmt.Sprintf("/profiles/%d?namespace=blue", task.Profile.ID)
	var all, visible, one api.UsageProfileDetail
	get(path, "all").into(&all)
	get(path, "etl").into(&visible)
	get(path+"&limit=1", "all").into(&one)
	assert.Len(t, all.Members, 4)
	assert.Equal(t, []api.UsageProfileMember{{DagID: "etl_a", TaskID: "t1", Runs: 20, Share: 1}, {DagID: "etl_a", TaskID: "t3", Runs: 20, Share: 1}}, visible.Members)
	assert.Len(t, one.Members, 1)
	assert.Equal(t, "memory_peak_bytes", all.Profile.Spreads[0].Quantity)
	assert.InEpsilon(t, 3.3e10, all.Profile.Spreads[0].P50, 0.05)
	assert.Equal(t, http.StatusNotFound, get("/profiles/77?namespace=blue", "all").status)
	assert.Equal(t, []string{"limit"}, get("/profiles/1?namespace=blue&limit=0", "all").fields())

	e.do(http.MethodPost, "/observe", `{"namespace": "blue", "dag_id": "etl_a", "task_id": "t1", "run_id": "odd", "outcome": "success", "memory_max_bytes": 900000000000, "duration_seconds": 1}`, bearer("all"))
	get("/tasks/etl_a/t1?namespace=blue", "all").into(&task)
	assert.True(t, task.Anomaly.IsOutlier)
	assert.Equal(t, 1, task.Anomaly.Outliers)
	assert.Greater(t, task.Anomaly.Score, 0.8)
	e.do(http.MethodPost, "/observe", `{"namespace": "blue", "dag_id": "etl_a", "task_id": "new", "run_id": "r", "outcome": "success", "memory_max_bytes": 31000000000, "duration_seconds": 4200}`, bearer("all"))
	var unseen api.TaskProfile
	get("/tasks/etl_a/new?namespace=blue", "all").into(&unseen)
	assert.Equal(t, task.Profile.ID, unseen.Profile.ID, "a task that is newer than the profiles gets the profile of its runs")
}

func TestTokenOfOtherNamespacesCannotReadProfilesOfTheDefaultNamespace(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("all"), "predict@blue:"+sha("two"), "predict@red:"+sha("two"), "predict@default:"+sha("with"), "predict@red:"+sha("with")))
	e.reportUsage("default", bearer("all"))
	require.NoError(t, e.trainer.FindProfiles(t.Context(), time.Now()))
	for _, path := range []string{"/profiles", "/profiles/1"} {
		denied := e.do(http.MethodGet, path, "", bearer("two"))
		assert.Equal(t, http.StatusForbidden, denied.status, path)
		assert.Contains(t, string(denied.body), "send the parameter namespace")
		assert.Equal(t, http.StatusForbidden, e.do(http.MethodGet, path+"?namespace=default", "", bearer("two")).status, path)
		assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, path+"?namespace=blue", "", bearer("two")).status, path)
		for _, token := range []string{"all", "with"} {
			assert.Equal(t, http.StatusOK, e.do(http.MethodGet, path, "", bearer(token)).status, "%s with %s", path, token)
		}
	}
}
