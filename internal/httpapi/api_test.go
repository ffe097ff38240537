package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/testwait"
)

func TestUnknownTaskGetsTheStaticRequest(t *testing.T) {
	e := newTestEnv(t, noAuth)
	p := e.post("/predict", `{`+key+`, "requested": {"memory": "350Gi", "cpu": "6"}}`).json()
	assert.Equal(t, "requested", p["source"])
	memory := p["memory"].(map[string]any)
	assert.Equal(t, "350Gi", memory["limit"])
	assert.EqualValues(t, 350<<30, memory["limit_bytes"])
	assert.Equal(t, map[string]any{"request": "6", "request_cores": 6.0}, p["cpu"])
	for _, field := range []string{"shadow", "duration", "bins", "model"} {
		assert.Contains(t, p, field)
		assert.Nil(t, p[field], field)
	}
	assert.Nil(t, p["risk"].(map[string]any)["promised"])
}

func TestBytesAndQuantitiesAreEquivalent(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, requested := range []string{
		`{"memory_bytes": 10737418240}`, `{"memory": "10Gi"}`, `{"memory_bytes": 10737418240, "memory": "10Gi"}`,
		`{"memory_bytes": 10737418240.0}`, `{"memory_bytes": 1.073741824e10}`, `{"memory_bytes": null, "memory": "10240Mi"}`,
	} {
		p := e.post("/predict", `{`+key+`, "requested": `+requested+`}`).json()
		assert.Equal(t, "10Gi", p["memory"].(map[string]any)["limit"], requested)
	}
}

func TestATryIsPredictedLiftedReportedAndVoided(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(80)

	p := e.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new", "requested": {"memory": "350Gi"},
		"features": {"product_count": 500, "region": "emea", "execution_date": "2020-01-05"}}`).json()
	assert.Contains(t, []any{"model", "profile"}, p["source"])
	limit := p["memory"].(map[string]any)["limit_bytes"].(float64)
	assert.Less(t, limit, float64(350<<30))
	assert.NotNil(t, p["risk"].(map[string]any)["promised"])

	receipt := e.do(http.MethodGet, "/predictions/"+p["prediction_id"].(string), "").json()
	assert.Equal(t, p, receipt["answer"], "the receipt contains the answer unchanged")
	assert.Equal(t, map[string]any{"product_count": 500.0, "region": "emea", "execution_date": "2020-01-05"}, receipt["ask"].(map[string]any)["features"])

	failed := fmt.Sprintf(`"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new", %s {"memory_bytes": %.0f}`, "%s", limit)
	lift := e.post("/retry-lift", `{`+fmt.Sprintf(failed, `"reason": "oom_killed", "failed":`)+`, "requested": {"memory": "350Gi"}}`).json()
	assert.Equal(t, true, lift["retry"])
	assert.Greater(t, lift["memory"].(map[string]any)["limit_bytes"].(float64), limit)

	again := e.post("/retry-lift", `{`+fmt.Sprintf(failed, `"failed":`)+`, "requested": {"memory": "350Gi"}}`).json()
	assert.Equal(t, "lift", again["verdict"], "the default reason is an OOM kill")
	assert.Equal(t, lift["attempt"], again["attempt"], "a repeated request counts one kill")

	report := `{` + fmt.Sprintf(failed, `"outcome": "oom_killed", "duration_seconds": 12, "allocated":`) + `}`
	assert.Equal(t, map[string]any{"recorded": true, "duplicate": false, "amended": true}, e.post("/observe", report).json(), "the report amends the kill that the lift recorded")
	assert.Equal(t, map[string]any{"recorded": true, "duplicate": true, "amended": false}, e.post("/observe", report).json())
	a := e.do(http.MethodPost, "/observe", `{`+fmt.Sprintf(failed, `"outcome": "success", "duration_seconds": 12, "allocated":`)+`}`)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.NotEmpty(t, a.fields(), "%s", a.body)

	profile := e.do(http.MethodGet, "/tasks/pricing/predict_demand", "").json()
	assert.EqualValues(t, 81, profile["observations"])
	assert.EqualValues(t, 1, profile["kills"])
	assert.Len(t, profile["features"], 3)

	require.Equal(t, true, e.post("/observe/void", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new"}`).json()["voided"])
	assert.EqualValues(t, 80, e.do(http.MethodGet, "/tasks/pricing/predict_demand", "").json()["observations"])
}

func TestInvalidBatchItemDoesNotAffectOthers(t *testing.T) {
	e := newTestEnv(t, noAuth)
	type problem struct {
		Status int
		Errors []struct{ Field string }
	}
	var predictions struct {
		Predictions []struct {
			Source string
			Error  *problem
		}
	}
	e.post("/predict/batch", `{"tasks": [
		{`+key+`, "requested": {"memory": "1Gi"}},
		{`+key+`, "requested": {"memory": "lots"}},
		{`+key+`, "featurs": {}},
		{"dag_id": 7}, 7, {`+key+`},
		{`+key+`, "features": {"a": [1]}, "requested": {"memory": "1Gi"}}]}`).into(&predictions)
	got := predictions.Predictions
	require.Len(t, got, 7)
	assert.Equal(t, "requested", got[0].Source)
	for i, want := range map[int]struct {
		status int
		field  string
	}{1: {422, "tasks[1].requested.memory"}, 2: {422, "tasks[2].featurs"}, 3: {422, "tasks[3].dag_id"}, 4: {422, "tasks[4]"}, 6: {422, "tasks[6].features.a"}} {
		require.NotNil(t, got[i].Error, "item %d", i)
		assert.Equal(t, want.status, got[i].Error.Status)
		assert.Equal(t, want.field, got[i].Error.Errors[0].Field)
	}
	assert.Equal(t, 404, got[5].Error.Status, "a task that is unknown and has no static request gets a 404")

	var results struct {
		Results []struct {
			Recorded, Duplicate bool
			Error               *problem
		}
	}
	e.post("/observe/batch", `{"observations": [
		{`+succeeded+`, "memory_max": "1Gi"}, {`+succeeded+`, "memory_max": "1Gi"},
		{`+succeeded+`, "memory_max": "2Gi"},
		{`+try+`, "outcome": "fine"},
		{`+key+`, "run_id": "r2", "outcome": "success", "memory_max": "1Gi"}]}`).into(&results)
	require.Len(t, results.Results, 5)
	assert.True(t, results.Results[0].Recorded)
	assert.True(t, results.Results[1].Duplicate)
	assert.Equal(t, 409, results.Results[2].Error.Status)
	assert.Equal(t, "observations[3].outcome", results.Results[3].Error.Errors[0].Field)
	assert.True(t, results.Results[4].Recorded, "the item after an invalid one is recorded")
}

func TestQueryParametersBecomeFeatures(t *testing.T) {
	e := newTestEnv(t, noAuth)
	q := url.Values{
		"dag_id": {"d"}, "task_id": {"t"}, "run_id": {"a b/c"}, "map_index": {"3"}, "memory": {"1.5Gi"}, "max_memory": {"64Gi"},
		"n_files": {"7"}, "share": {"-1e-3"}, "region": {"emea & more"}, "full": {"true"}, "day": {"2020-01-03"},
		"id": {"1234567890123456789"}, "zone": {`"17"`}, "nothing": {""}, "größe": {"1"}, "hex": {"0x1p4"},
	}
	p := e.do(http.MethodGet, "/predict?"+q.Encode(), "").json()
	ask := e.do(http.MethodGet, "/predictions/"+p["prediction_id"].(string), "").json()["ask"].(map[string]any)
	assert.Equal(t, map[string]any{
		"n_files": 7.0, "share": -1e-3, "region": "emea & more", "full": true, "day": "2020-01-03",
		"id": "1234567890123456789", "zone": "17", "nothing": nil, "größe": 1.0, "hex": "0x1p4",
	}, ask["features"])
	assert.Equal(t, "a b/c", ask["run_id"])
	assert.EqualValues(t, 3, ask["map_index"])
	assert.Equal(t, "64Gi", ask["max_memory"])
	assert.Equal(t, "1536Mi", ask["requested"].(map[string]any)["memory"])
}

func TestSpaceAroundANumberInAQueryIsAccepted(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, value := range []string{"50", "%2050", "50%20"} {
		answer := e.do(http.MethodGet, "/predict?dag_id=etl&task_id=load&memory=1Gi&x="+value, "")
		assert.Equal(t, http.StatusOK, answer.status, value)
	}
}

func TestIDsInPathsMayContainSpecialCharacters(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, id := range []string{"with space", "100%", "a.b", "..", ".", "ünï — 漢字", "a+b", "a?b#c", "a%2Fb", "semi;colon", `q"uote`, "a&b=c"} {
		body := fmt.Sprintf(`{"dag_id": %q, "task_id": %q, "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`, id, "t "+id)
		e.post("/observe", body)
		path := "/tasks/" + url.PathEscape(id) + "/" + url.PathEscape("t "+id)
		a := e.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, a.status, "%s: %s", path, a.body)
		assert.Equal(t, id, a.json()["dag_id"])
		assert.Equal(t, "t "+id, a.json()["task_id"])
		assert.Equal(t, http.StatusNoContent, e.do(http.MethodDelete, path, "").status)
		assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, path, "").status)
	}
}

func TestPagesContainEveryTaskOnce(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for i := range 7 {
		e.post("/observe", fmt.Sprintf(`{"namespace": "n%d", "dag_id": "d", "task_id": "t%d", "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`, i%2, i))
	}
	var listed []string
	for target, pages := "/tasks?limit=3", 0; target != ""; pages++ {
		require.Less(t, pages, 4)
		var page struct {
			Tasks []struct {
				Namespace string
				TaskID    string `json:"task_id"`
			}
			NextCursor *string `json:"next_cursor"`
		}
		e.do(http.MethodGet, target, "").into(&page)
		for _, task := range page.Tasks {
			listed = append(listed, task.Namespace+"/"+task.TaskID)
		}
		target = ""
		if page.NextCursor != nil {
			target = "/tasks?limit=3&cursor=" + *page.NextCursor
		}
	}
	assert.Equal(t, []string{"n0/t0", "n0/t2", "n0/t4", "n0/t6", "n1/t1", "n1/t3", "n1/t5"}, listed)
}

func TestPutPolicyReplacesAllFields(t *testing.T) {
	e := newTestEnv(t, noAuth)
	set := e.do(http.MethodPut, "/tasks/d/t/policy", `{"mode": "shadow", "cap": "4Gi", "floor_bytes": 1048576, "max_lifts": 0, "limit_ratio": 1.5, "grid": "bins", "bin_edges_bytes": [1073741824, 4294967296]}`).json()
	assert.Equal(t, map[string]any{
		"mode": "shadow", "cap": "4Gi", "cap_bytes": float64(4 << 30), "floor": "1Mi", "floor_bytes": float64(1 << 20),
		"risk_target": 0.015, "max_lifts": 0.0, "limit_ratio": 1.5, "never_above_requested": false, "cpu_unmanaged": false,
		"grid": "bins", "bin_edges_bytes": []any{float64(1 << 30), float64(4 << 30)}, "phases": "off",
	}, set)
	assert.Equal(t, set, e.do(http.MethodGet, "/tasks/d/t/policy", "").json(), "GET returns the new policy")
	again := e.do(http.MethodPut, "/tasks/d/t/policy", `{"risk_target": 0.01}`).json()
	assert.Equal(t, "enforce", again["mode"], "an omitted field gets its default")
	assert.Nil(t, again["cap"])
}

func TestRenameRejectsAnExistingName(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.post("/observe", `{`+succeeded+`, "memory_max": "1Gi"}`)
	e.post("/observe", `{"dag_id": "d", "task_id": "taken", "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`)
	assert.Equal(t, http.StatusConflict, e.do(http.MethodPost, "/tasks/d/t/rename", `{"dag_id": "d", "task_id": "taken"}`).status)
	assert.Equal(t, map[string]any{"namespace": "default", "dag_id": "e", "task_id": "u"}, e.post("/tasks/d/t/rename", `{"dag_id": "e", "task_id": "u"}`).json())
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/tasks/d/t", "").status)
	assert.EqualValues(t, 1, e.do(http.MethodGet, "/tasks/e/u", "").json()["observations"])
}

func TestRenameWithoutANamespaceKeepsTheNamespaceOfTheTask(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.post("/observe", `{"namespace": "blue", `+succeeded+`, "memory_max": "1Gi"}`)
	assert.Equal(t, map[string]any{"namespace": "blue", "dag_id": "e", "task_id": "u"}, e.post("/tasks/d/t/rename?namespace=blue", `{"dag_id": "e", "task_id": "u"}`).json())
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/tasks/e/u?namespace=blue", "").status)
	assert.Equal(t, map[string]any{"namespace": "red", "dag_id": "e", "task_id": "u"}, e.post("/tasks/e/u/rename?namespace=blue", `{"namespace": "red", "dag_id": "e", "task_id": "u"}`).json())
}

func TestModelsAreListedAndActivated(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(80)
	var list struct {
		Models []struct {
			Version int
			Active  bool
		}
	}
	e.do(http.MethodGet, "/tasks/pricing/predict_demand/models", "").into(&list)
	require.NotEmpty(t, list.Models)
	assert.True(t, list.Models[0].Active)
	assert.Equal(t, http.StatusOK, e.do(http.MethodPost, "/tasks/pricing/predict_demand/models/1/activate", "").status)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodPost, "/tasks/pricing/predict_demand/models/99/activate", "").status)
}

func TestHealthReadinessAndDocsAreServed(t *testing.T) {
	e := newTestEnv(t, noAuth)
	assert.Equal(t, "ok", e.do(http.MethodGet, "/healthz", "").json()["status"])
	ready := e.do(http.MethodGet, "/readyz", "").json()
	assert.Less(t, ready["stale_seconds"], 60.0, "the replica has read the newest versions lately")
	delete(ready, "stale_seconds")
	assert.Equal(t, map[string]any{"status": "ready", "observe": "ok", "models": 0.0, "version": "unknown"}, ready)
	assert.Contains(t, string(e.do(http.MethodGet, "/openapi.yaml", "").body), "openapi: 3.0.3")

	docs := e.do(http.MethodGet, "/docs", "")
	assert.Contains(t, docs.header.Get("Content-Type"), "text/html")
	assert.Contains(t, docs.header.Get("Content-Security-Policy"), "default-src 'none'")
	page := string(docs.body)
	for _, words := range []string{"/retry-lift", "schema-PredictRequest", "Roles: admin, predict", "<code>malformed</code>"} {
		assert.Contains(t, page, words)
	}
	for _, unwanted := range []string{"<script", "http://", "<link", "ZgotmplZ"} { // html/template replaces unsafe values by ZgotmplZ
		assert.NotContains(t, page, unwanted, "the page is self-contained and has no unsafe value")
	}
}

func TestPredictionsContinueWithoutTheDatabase(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(60)
	e.closeStore()
	p := e.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350Gi"}, "features": {"product_count": 500}}`).json()
	assert.NotEqual(t, "requested", p["source"], "the model still answers")

	for _, call := range []string{"POST /observe", "GET /tasks", "GET /tasks/d/t"} {
		method, target, _ := strings.Cut(call, " ")
		body := ""
		if method == http.MethodPost {
			body = `{` + succeeded + `, "memory_max": "1Gi"}`
		}
		a := e.do(method, target, body)
		assert.Equal(t, http.StatusServiceUnavailable, a.status, "%s: %s", call, a.body)
		assert.NotEmpty(t, a.header.Get("Retry-After"))
	}
	assert.Eventually(t, func() bool {
		ready := e.do(http.MethodGet, "/readyz", "").json()
		return ready["status"] == "ready" && ready["observe"] == "unavailable"
	}, testwait.Limit, 50*time.Millisecond)
}

func TestValidRequestIDsAreReturned(t *testing.T) {
	e := newTestEnv(t, noAuth)
	assert.Equal(t, "airflow-17", e.do(http.MethodGet, "/healthz", "", header("X-Request-Id", "airflow-17")).header.Get("X-Request-Id"))
	a := e.do(http.MethodGet, "/nowhere", "", header("X-Request-Id", "two\nlines"))
	assert.NotEqual(t, "two\nlines", a.header.Get("X-Request-Id"))
	assert.Equal(t, a.header.Get("X-Request-Id"), a.json()["request_id"])
}

func TestMetricsCountRequests(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.post("/predict", `{`+key+`, "requested": {"memory": "1Gi"}}`)
	e.do(http.MethodGet, "/tasks/d/t", "")
	e.do(http.MethodGet, "/tasks/d/u", "")
	e.do(http.MethodGet, "/nowhere", "")
	e.post("/observe", `{`+succeeded+`, "memory_max": "1Gi"}`)
	e.post("/observe", `{`+succeeded+`, "memory_max": "1Gi"}`)
	e.post("/retry-lift", `{`+try+`, "reason": "evicted", "failed": {"memory": "1Gi"}}`)

	rec := httptest.NewRecorder()
	httpapi.NewAdmin(e.metrics, noAuth.Auth).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`loadaware_http_requests_total{route="POST /predict",status="200"} 1`,
		`loadaware_http_requests_total{route="GET /tasks/{dag_id}/{task_id}",status="404"} 2`,
		`loadaware_http_requests_total{route="none",status="404"} 1`,
		`loadaware_http_request_duration_seconds_count{route="POST /predict"} 1`,
		`loadaware_answers_total{mode="enforce",source="requested"} 1`,
		`loadaware_observations_total{outcome="success",result="recorded"} 1`,
		`loadaware_observations_total{outcome="success",result="duplicate"} 1`,
		`loadaware_lifts_total{verdict="not_memory"} 1`,
	} {
		assert.Contains(t, rec.Body.String(), line)
	}
	rec = httptest.NewRecorder()
	httpapi.NewAdmin(e.metrics, noAuth.Auth).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/debug/pprof/goroutine?debug=1", nil))
	assert.Equal(t, http.StatusOK, rec.Code)
}
