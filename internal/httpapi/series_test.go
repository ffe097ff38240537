package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheSeriesOfATryIsReadBackAsItWasTold(t *testing.T) {
	w := newWorld(t, everybody)
	const try = `"dag_id": "d", "task_id": "t", "run_id": "r", "map_index": 4, "try_number": 2, "outcome": "success", "memory_max": "7Gi"`
	const at = "/tasks/d/t/series?run_id=r&map_index=4&try_number=2"
	told := func(rest string, duplicate, amended bool) {
		t.Helper()
		assert.Equal(t, map[string]any{"recorded": true, "duplicate": duplicate, "amended": amended}, w.post("/observe", `{`+try+rest+`}`).json())
	}
	told("", false, false)
	assert.Equal(t, http.StatusNotFound, w.do("GET", at, "").status, "there is none yet")
	told(`, "usage_series": {"step_seconds": 0.8, "memory_bytes": [0, 7516192768], "cpu_cores": [0.5, 1.02]}`, false, true)
	told(`, "usage_series": {"step_seconds": 5, "memory_bytes": [1]}`, true, false)
	told(`, "usage_series": null`, true, false)
	assert.JSONEq(t, `{"step_seconds": 0.8, "memory_bytes": [0, 7516192768], "cpu_cores": [0.5, 1.02]}`, string(w.do("GET", at, "").body))
	assert.Equal(t, http.StatusNotFound, w.do("GET", "/tasks/d/t/series?run_id=r", "").status, "another try")

	w.post("/observe/batch", `{"observations": [{"dag_id": "d", "task_id": "t", "run_id": "b", "outcome": "success", "usage_series": {"step_seconds": 60, "memory_bytes": [1]}}]}`)
	assert.JSONEq(t, `{"step_seconds": 60, "memory_bytes": [1]}`, string(w.do("GET", "/tasks/d/t/series?run_id=b", "").body))

	w.post("/observe/void", `{"dag_id": "d", "task_id": "t", "run_id": "b"}`)
	assert.Equal(t, http.StatusNotFound, w.do("GET", "/tasks/d/t/series?run_id=b", "").status, "it was taken back")
}
