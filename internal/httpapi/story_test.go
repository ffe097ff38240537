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
)

func TestAStrangerIsGivenTheStaticRequest(t *testing.T) {
	w := newWorld(t, everybody)
	p := w.post("/predict", `{`+key+`, "requested": {"memory": "350Gi", "cpu": "6"}}`).json()
	assert.Equal(t, "requested", p["source"])
	memory := p["memory"].(map[string]any)
	assert.Equal(t, "350Gi", memory["limit"])
	assert.EqualValues(t, 350<<30, memory["limit_bytes"])
	assert.Equal(t, map[string]any{"request": "6", "request_cores": 6.0}, p["cpu"])
	for _, nothing := range []string{"shadow", "duration", "bins", "model"} {
		assert.Contains(t, p, nothing)
		assert.Nil(t, p[nothing], nothing)
	}
	assert.Nil(t, p["risk"].(map[string]any)["promised"])
}

func TestBytesAndQuantitiesAreTheSame(t *testing.T) {
	w := newWorld(t, everybody)
	for _, requested := range []string{
		`{"memory_bytes": 10737418240}`, `{"memory": "10Gi"}`, `{"memory_bytes": 10737418240, "memory": "10Gi"}`,
		`{"memory_bytes": 10737418240.0}`, `{"memory_bytes": 1.073741824e10}`, `{"memory_bytes": null, "memory": "10240Mi"}`,
	} {
		p := w.post("/predict", `{`+key+`, "requested": `+requested+`}`).json()
		assert.Equal(t, "10Gi", p["memory"].(map[string]any)["limit"], requested)
	}
}

func TestAskTellAndLift(t *testing.T) {
	w := newWorld(t, everybody)
	w.history(80)

	p := w.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new", "requested": {"memory": "350Gi"},
		"features": {"product_count": 500, "region": "emea", "execution_date": "2020-01-05"}}`).json()
	assert.Contains(t, []any{"model", "profile"}, p["source"])
	limit := p["memory"].(map[string]any)["limit_bytes"].(float64)
	assert.Less(t, limit, float64(350<<30))
	assert.NotNil(t, p["risk"].(map[string]any)["promised"])

	receipt := w.do(http.MethodGet, "/predictions/"+p["prediction_id"].(string), "").json()
	assert.Equal(t, p, receipt["answer"], "the receipt holds the answer as it was given")
	assert.Equal(t, map[string]any{"product_count": 500.0, "region": "emea", "execution_date": "2020-01-05"}, receipt["ask"].(map[string]any)["features"])

	kill := fmt.Sprintf(`"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new", %s {"memory_bytes": %.0f}`, "%s", limit)
	lift := w.post("/retry-lift", `{`+fmt.Sprintf(kill, `"reason": "oom_killed", "failed":`)+`, "requested": {"memory": "350Gi"}}`).json()
	assert.Equal(t, true, lift["retry"])
	assert.Greater(t, lift["memory"].(map[string]any)["limit_bytes"].(float64), limit)

	again := w.post("/retry-lift", `{`+fmt.Sprintf(kill, `"failed":`)+`, "requested": {"memory": "350Gi"}}`).json()
	assert.Equal(t, "lift", again["verdict"], "who asks after a kill means an OOM")
	assert.Equal(t, lift["attempt"], again["attempt"], "the same kill asked about again is one kill")

	report := `{` + fmt.Sprintf(kill, `"outcome": "oom_killed", "duration_seconds": 12, "allocated":`) + `}`
	assert.Equal(t, map[string]any{"recorded": true, "duplicate": false, "amended": true}, w.post("/observe", report).json(), "the report fills in the provisional kill")
	assert.Equal(t, map[string]any{"recorded": true, "duplicate": true, "amended": false}, w.post("/observe", report).json())
	a := w.do(http.MethodPost, "/observe", `{`+fmt.Sprintf(kill, `"outcome": "success", "duration_seconds": 12, "allocated":`)+`}`)
	assert.Equal(t, http.StatusConflict, a.status)
	assert.NotEmpty(t, a.fields(), "%s", a.body)

	profile := w.do(http.MethodGet, "/tasks/pricing/predict_demand", "").json()
	assert.EqualValues(t, 81, profile["observations"])
	assert.EqualValues(t, 1, profile["kills"])
	assert.Len(t, profile["features"], 3)

	require.Equal(t, true, w.post("/observe/void", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "new"}`).json()["voided"])
	assert.EqualValues(t, 80, w.do(http.MethodGet, "/tasks/pricing/predict_demand", "").json()["observations"])
}

func TestAnItemOfABatchFailsAlone(t *testing.T) {
	w := newWorld(t, everybody)
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
	w.post("/predict/batch", `{"tasks": [
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
	assert.Equal(t, 404, got[5].Error.Status, "nothing known, nothing requested")

	var results struct {
		Results []struct {
			Recorded, Duplicate bool
			Error               *problem
		}
	}
	w.post("/observe/batch", `{"observations": [
		{`+okay+`, "memory_max": "1Gi"}, {`+okay+`, "memory_max": "1Gi"},
		{`+okay+`, "memory_max": "2Gi"},
		{`+try+`, "outcome": "fine"},
		{`+key+`, "run_id": "r2", "outcome": "success", "memory_max": "1Gi"}]}`).into(&results)
	require.Len(t, results.Results, 5)
	assert.True(t, results.Results[0].Recorded)
	assert.True(t, results.Results[1].Duplicate)
	assert.Equal(t, 409, results.Results[2].Error.Status)
	assert.Equal(t, "observations[3].outcome", results.Results[3].Error.Errors[0].Field)
	assert.True(t, results.Results[4].Recorded, "what follows a bad item is recorded")
}

func TestFeaturesAreReadFromAQuery(t *testing.T) {
	w := newWorld(t, everybody)
	q := url.Values{
		"dag_id": {"d"}, "task_id": {"t"}, "run_id": {"a b/c"}, "map_index": {"3"}, "memory": {"1.5Gi"}, "max_memory": {"64Gi"},
		"n_files": {"7"}, "share": {"-1e-3"}, "region": {"emea & more"}, "full": {"true"}, "day": {"2020-01-03"},
		"zone": {`"17"`}, "nothing": {""}, "größe": {"1"}, "hex": {"0x1p4"},
	}
	p := w.do(http.MethodGet, "/predict?"+q.Encode(), "").json()
	ask := w.do(http.MethodGet, "/predictions/"+p["prediction_id"].(string), "").json()["ask"].(map[string]any)
	assert.Equal(t, map[string]any{
		"n_files": 7.0, "share": -1e-3, "region": "emea & more", "full": true, "day": "2020-01-03",
		"zone": "17", "nothing": nil, "größe": 1.0, "hex": "0x1p4",
	}, ask["features"])
	assert.Equal(t, "a b/c", ask["run_id"])
	assert.EqualValues(t, 3, ask["map_index"])
	assert.Equal(t, "64Gi", ask["max_memory"])
	assert.Equal(t, "1536Mi", ask["requested"].(map[string]any)["memory"])
}

func TestIDsInPathsMayHoldAnythingButASlash(t *testing.T) {
	w := newWorld(t, everybody)
	for _, id := range []string{"with space", "100%", "a.b", "..", ".", "ünï — 漢字", "a+b", "a?b#c", "a%2Fb", "semi;colon", `q"uote`, "a&b=c"} {
		body := fmt.Sprintf(`{"dag_id": %q, "task_id": %q, "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`, id, "t "+id)
		w.post("/observe", body)
		path := "/tasks/" + url.PathEscape(id) + "/" + url.PathEscape("t "+id)
		a := w.do(http.MethodGet, path, "")
		require.Equal(t, http.StatusOK, a.status, "%s: %s", path, a.body)
		assert.Equal(t, id, a.json()["dag_id"])
		assert.Equal(t, "t "+id, a.json()["task_id"])
		assert.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, path, "").status)
		assert.Equal(t, http.StatusNotFound, w.do(http.MethodGet, path, "").status)
	}
}

func TestPagesHoldEveryTaskOnce(t *testing.T) {
	w := newWorld(t, everybody)
	for i := range 7 {
		w.post("/observe", fmt.Sprintf(`{"namespace": "n%d", "dag_id": "d", "task_id": "t%d", "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`, i%2, i))
	}
	var seen []string
	for target, pages := "/tasks?limit=3", 0; target != ""; pages++ {
		require.Less(t, pages, 4)
		var page struct {
			Tasks []struct {
				Namespace string
				TaskID    string `json:"task_id"`
			}
			NextCursor *string `json:"next_cursor"`
		}
		w.do(http.MethodGet, target, "").into(&page)
		for _, task := range page.Tasks {
			seen = append(seen, task.Namespace+"/"+task.TaskID)
		}
		target = ""
		if page.NextCursor != nil {
			target = "/tasks?limit=3&cursor=" + *page.NextCursor
		}
	}
	assert.Equal(t, []string{"n0/t0", "n0/t2", "n0/t4", "n0/t6", "n1/t1", "n1/t3", "n1/t5"}, seen)
}

func TestAPolicyIsReplacedWhole(t *testing.T) {
	w := newWorld(t, everybody)
	set := w.do(http.MethodPut, "/tasks/d/t/policy", `{"mode": "shadow", "cap": "4Gi", "floor_bytes": 1048576, "max_lifts": 0, "limit_ratio": 1.5, "grid": "bins", "bin_edges_bytes": [1073741824, 4294967296]}`).json()
	assert.Equal(t, map[string]any{
		"mode": "shadow", "cap": "4Gi", "cap_bytes": float64(4 << 30), "floor": "1Mi", "floor_bytes": float64(1 << 20),
		"risk_target": 0.015, "max_lifts": 0.0, "limit_ratio": 1.5, "never_above_requested": false, "cpu_unmanaged": false,
		"grid": "bins", "bin_edges_bytes": []any{float64(1 << 30), float64(4 << 30)},
	}, set)
	assert.Equal(t, set, w.do(http.MethodGet, "/tasks/d/t/policy", "").json(), "what was set is in force")
	again := w.do(http.MethodPut, "/tasks/d/t/policy", `{"risk_target": 0.01}`).json()
	assert.Equal(t, "enforce", again["mode"], "what is left out goes back to its default")
	assert.Nil(t, again["cap"])
}

func TestRenameMovesAndRefusesATakenName(t *testing.T) {
	w := newWorld(t, everybody)
	w.post("/observe", `{`+okay+`, "memory_max": "1Gi"}`)
	w.post("/observe", `{"dag_id": "d", "task_id": "taken", "run_id": "r", "outcome": "success", "memory_max": "1Gi"}`)
	assert.Equal(t, http.StatusConflict, w.do(http.MethodPost, "/tasks/d/t/rename", `{"dag_id": "d", "task_id": "taken"}`).status)
	assert.Equal(t, map[string]any{"namespace": "default", "dag_id": "e", "task_id": "u"}, w.post("/tasks/d/t/rename", `{"dag_id": "e", "task_id": "u"}`).json())
	assert.Equal(t, http.StatusNotFound, w.do(http.MethodGet, "/tasks/d/t", "").status)
	assert.EqualValues(t, 1, w.do(http.MethodGet, "/tasks/e/u", "").json()["observations"])
}

func TestModelsAreListedAndRolledBack(t *testing.T) {
	w := newWorld(t, everybody)
	w.history(80)
	var list struct {
		Models []struct {
			Version int
			Active  bool
		}
	}
	w.do(http.MethodGet, "/tasks/pricing/predict_demand/models", "").into(&list)
	require.NotEmpty(t, list.Models)
	assert.True(t, list.Models[0].Active)
	assert.Equal(t, http.StatusOK, w.do(http.MethodPost, "/tasks/pricing/predict_demand/models/1/activate", "").status)
	assert.Equal(t, http.StatusNotFound, w.do(http.MethodPost, "/tasks/pricing/predict_demand/models/99/activate", "").status)
}

func TestTheServiceSpeaksOfItself(t *testing.T) {
	w := newWorld(t, everybody)
	assert.Equal(t, "ok", w.do(http.MethodGet, "/healthz", "").json()["status"])
	ready := w.do(http.MethodGet, "/readyz", "").json()
	assert.Less(t, ready["stale_seconds"], 60.0, "it knows what is stored")
	delete(ready, "stale_seconds")
	assert.Equal(t, map[string]any{"status": "ready", "observe": "ok", "models": 0.0}, ready)
	assert.Contains(t, string(w.do(http.MethodGet, "/openapi.yaml", "").body), "openapi: 3.0.3")

	docs := w.do(http.MethodGet, "/docs", "")
	assert.Contains(t, docs.header.Get("Content-Type"), "text/html")
	assert.Contains(t, docs.header.Get("Content-Security-Policy"), "default-src 'none'")
	page := string(docs.body)
	for _, words := range []string{"/retry-lift", "schema-PredictRequest", "Roles: admin, predict", "<code>malformed</code>"} {
		assert.Contains(t, page, words)
	}
	for _, outside := range []string{"<script", "http://", "<link", "ZgotmplZ"} {
		assert.NotContains(t, page, outside, "the page stands on its own")
	}
}

func TestWithoutTheDatabaseQuestionsAreAnsweredAndReportsWait(t *testing.T) {
	w := newWorld(t, everybody)
	w.history(60)
	w.lose()
	p := w.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350Gi"}, "features": {"product_count": 500}}`).json()
	assert.NotEqual(t, "requested", p["source"], "what was learned is still known")

	for _, call := range []string{"POST /observe", "GET /tasks", "GET /tasks/d/t"} {
		method, target, _ := strings.Cut(call, " ")
		body := ""
		if method == http.MethodPost {
			body = `{` + okay + `, "memory_max": "1Gi"}`
		}
		a := w.do(method, target, body)
		assert.Equal(t, http.StatusServiceUnavailable, a.status, "%s: %s", call, a.body)
		assert.NotEmpty(t, a.header.Get("Retry-After"))
	}
	assert.Eventually(t, func() bool {
		ready := w.do(http.MethodGet, "/readyz", "").json()
		return ready["status"] == "ready" && ready["observe"] == "unavailable"
	}, 10*time.Second, 50*time.Millisecond)
}

func TestRequestIDsAreKeptWhereTheyAreSane(t *testing.T) {
	w := newWorld(t, everybody)
	assert.Equal(t, "airflow-17", w.do(http.MethodGet, "/healthz", "", header("X-Request-Id", "airflow-17")).header.Get("X-Request-Id"))
	a := w.do(http.MethodGet, "/nowhere", "", header("X-Request-Id", "two\nlines"))
	assert.NotEqual(t, "two\nlines", a.header.Get("X-Request-Id"))
	assert.Equal(t, a.header.Get("X-Request-Id"), a.json()["request_id"])
}

func TestMetricsCountWhatPassed(t *testing.T) {
	w := newWorld(t, everybody)
	w.post("/predict", `{`+key+`, "requested": {"memory": "1Gi"}}`)
	w.do(http.MethodGet, "/tasks/d/t", "")
	w.do(http.MethodGet, "/tasks/d/u", "")
	w.do(http.MethodGet, "/nowhere", "")
	w.post("/observe", `{`+okay+`, "memory_max": "1Gi"}`)
	w.post("/observe", `{`+okay+`, "memory_max": "1Gi"}`)
	w.post("/retry-lift", `{`+try+`, "reason": "evicted", "failed": {"memory": "1Gi"}}`)

	rec := httptest.NewRecorder()
	httpapi.Admin(w.metrics, everybody.Auth).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
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
	httpapi.Admin(w.metrics, everybody.Auth).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/debug/pprof/goroutine?debug=1", nil))
	assert.Equal(t, http.StatusOK, rec.Code)
}
