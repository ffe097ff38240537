package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

func (e *testEnv) await(a answer) (w api.WhatIf) {
	e.t.Helper()
	a.into(&w)
	for w.State == api.WhatIfStateRunning {
		time.Sleep(20 * time.Millisecond)
		id := w.ID
		w = api.WhatIf{}
		e.do(http.MethodGet, "/whatif/"+id, "").into(&w)
	}
	return w
}

func TestWhatIfReplaysTheHistory(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(60)
	const ask = `{"dag_id": "pricing", "task_id": "predict_demand", "features": {"product_count": 1253, "region": "emea"}, "requested": {"memory": "350Gi"}}`
	granted := e.post("/predict", ask).json()["memory"]

	w := e.await(e.do(http.MethodPost, "/whatif", `{"dag_id": "pricing", "task_id": "predict_demand",
		"settings": [{"risk_target": 0.0005}, {"floor_bytes": 549755813888}, {}], "set": {"product_count": 9000}}`))
	require.Equal(t, api.WhatIfStateDone, w.State, w.Error)
	require.Len(t, w.Results, 3)
	assert.Equal(t, 60, *w.Rows)
	assert.Equal(t, 60, w.Current.Rows)
	assert.Equal(t, *w.Current, w.Results[2], "settings without a change replay the current policy")
	assert.Less(t, *w.Results[0].PromisedPercent, *w.Current.PromisedPercent)
	assert.Less(t, w.Results[1].UtilisationPercent, w.Current.UtilisationPercent)
	assert.Zero(t, w.Results[1].KilledPercent)
	assert.InDelta(t, w.Current.UsedGbh, w.Results[1].UsedGbh, 1e-9)
	require.NotNil(t, w.Set)
	assert.Equal(t, 60, w.Set.Runs)
	assert.GreaterOrEqual(t, w.Set.After.P50Bytes, w.Set.Before.P50Bytes)
	assert.Equal(t, granted, e.post("/predict", ask).json()["memory"], "a what-if changes no grant")

	all := e.await(e.do(http.MethodPost, "/whatif", `{"dag_id": "pricing"}`))
	assert.Equal(t, 60, *all.Rows)

	assert.Equal(t, http.StatusNoContent, e.do(http.MethodDelete, "/whatif/"+w.ID, "").status)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/whatif/"+w.ID, "").status)
}

// A replay needs the static requests, but most clients send them with the prediction request and not with
// the report.
func TestWhatIfUsesTheStaticRequestsOfPredictions(t *testing.T) {
	e := newTestEnv(t, noAuth)
	replay := func(task, request string) *api.WhatIfResult {
		for i := range 6 {
			run := fmt.Sprintf(`"dag_id": "d", "task_id": %q, "run_id": "r%d"`, task, i)
			e.post("/predict", `{`+run+`, "requested": {"memory": "40Gi"}}`)
			e.post("/observe", `{`+run+`, "outcome": "success", "memory_max": "3Gi", "duration_seconds": 60`+request+`}`)
		}
		e.post("/tasks/d/"+task+"/train", "")
		w := e.await(e.do(http.MethodPost, "/whatif", fmt.Sprintf(`{"dag_id": "d", "task_id": %q}`, task)))
		require.Equal(t, api.WhatIfStateDone, w.State, w.Error)
		return w.Current
	}
	assert.Equal(t, replay("with", `, "requested": {"memory": "40Gi"}`), replay("without", ""))
}

func TestWhatIfRejectsInvalidSettingsAndUnknownTasks(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for body, field := range map[string]string{
		`{"dag_id": "d", "settings": [{"risk_target": 0.0001}, {"floor_bytes": 2097152, "cap_bytes": 1048576}]}`: "settings[1].floor_bytes",
		`{"dag_id": "d", "set": {"x": 1}}`:                  "task_id",
		`{"dag_id": "d", "settings": [{"bins": [2, 1]}]}`:   "settings[0].bins",
		`{"dag_id": "d", "settings": [{"risk_target": 0}]}`: "settings[0].risk_target",
		`{"dag_id": "d", "settings": [{"floor_bytes": 0}]}`: "settings[0].floor_bytes",
		`{"dag_id": "d", "settings": [{"cap_bytes": 0}]}`:   "settings[0].cap_bytes",
		`{"dag_id": "d", "settings": [null]}`:               "settings[0]",
	} {
		a := e.do(http.MethodPost, "/whatif", body)
		assert.Equal(t, http.StatusUnprocessableEntity, a.status, fmt.Sprint(body, string(a.body)))
		assert.Equal(t, []string{field}, a.fields())
	}
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodPost, "/whatif", `{"dag_id": "unknown"}`).status)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodPost, "/whatif", `{"dag_id": "unknown", "task_id": "t"}`).status)
	e.post("/observe", `{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "failed"}`)
	misspelled := e.do(http.MethodPost, "/whatif", `{"dag_id": "d", "task_id": "t", "set": {"prodct_count": 3000}}`)
	assert.Equal(t, http.StatusUnprocessableEntity, misspelled.status)
	assert.Equal(t, []string{"set.prodct_count"}, misspelled.fields())
	assert.Contains(t, string(misspelled.body), "the task has no features")
	e.post("/observe", `{"dag_id": "d", "task_id": "named", "run_id": "r", "outcome": "success", "memory_max": "1Gi", "features": {"region": "emea", "product_count": 3}}`)
	misspelled = e.do(http.MethodPost, "/whatif", `{"dag_id": "d", "task_id": "named", "set": {"region": "emea", "prodct_count": 3000}}`)
	assert.Equal(t, []string{"set.prodct_count"}, misspelled.fields())
	assert.Contains(t, string(misspelled.body), "is not a feature of this task; known features: product_count, region")
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodPost, "/whatif", `{"dag_id": "d", "task_id": "t"}`).status, "the task has no run to replay")
}
