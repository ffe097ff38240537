package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUsageSeriesIsReadBack(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const try = `"dag_id": "d", "task_id": "t", "run_id": "r", "map_index": 4, "try_number": 2, "outcome": "success", "memory_max": "7Gi"`
	const path = "/tasks/d/t/series?run_id=r&map_index=4&try_number=2"
	report := func(moreFields string, duplicate, amended bool) {
		t.Helper()
		assert.Equal(t, map[string]any{"recorded": true, "duplicate": duplicate, "amended": amended}, e.post("/observe", `{`+try+moreFields+`}`).json())
	}
	report("", false, false)
	assert.Equal(t, http.StatusNotFound, e.do("GET", path, "").status, "no series is stored yet")
	report(`, "usage_series": {"step_seconds": 0.8, "memory_bytes": [0, 7516192768], "cpu_cores": [0.5, 1.02]}`, false, true)
	report(`, "usage_series": {"step_seconds": 5, "memory_bytes": [1]}`, true, false)
	report(`, "usage_series": null`, true, false)
	assert.JSONEq(t, `{"step_seconds": 0.8, "memory_bytes": [0, 7516192768], "cpu_cores": [0.5, 1.02]}`, string(e.do("GET", path, "").body))
	assert.Equal(t, http.StatusNotFound, e.do("GET", "/tasks/d/t/series?run_id=r", "").status, "the series belongs to another try")

	e.post("/observe/batch", `{"observations": [{"dag_id": "d", "task_id": "t", "run_id": "b", "outcome": "success", "usage_series": {"step_seconds": 60, "memory_bytes": [1]}}]}`)
	assert.JSONEq(t, `{"step_seconds": 60, "memory_bytes": [1]}`, string(e.do("GET", "/tasks/d/t/series?run_id=b", "").body))

	e.post("/observe/void", `{"dag_id": "d", "task_id": "t", "run_id": "b"}`)
	assert.Equal(t, http.StatusNotFound, e.do("GET", "/tasks/d/t/series?run_id=b", "").status, "a void deletes the series of the report")
}
