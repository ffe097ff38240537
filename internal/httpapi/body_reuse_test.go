package httpapi_test

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The server reads large bodies into buffers, which it reuses. A later body overwrites the buffer of an earlier one, so no
// stored part of a request may reference its buffer.
func TestReusedBufferDoesNotChangeEarlierRequests(t *testing.T) {
	e := newTestEnv(t, noAuth)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collected buffer would not be reused
	batch := func(letter string) string {
		items := make([]string, 300)
		for i := range items {
			items[i] = fmt.Sprintf(`{"dag_id": "d%[1]s", "task_id": "t%[1]s", "run_id": "r%[1]s%[2]d", "requested": {"memory": "1Gi"}, "features": {"%[1]s": "%[3]s", "n": %[2]d}}`,
				letter, i, strings.Repeat(letter, 200))
		}
		return `{"tasks": [` + strings.Join(items, ",") + `]}`
	}
	require.Greater(t, len(batch("a")), 64<<10)
	var first struct {
		Predictions []struct {
			PredictionID string `json:"prediction_id"`
		}
	}
	e.post("/predict/batch", batch("a")).into(&first)
	for range 8 { // the number of buffers of this size
		e.post("/predict/batch", batch("y"))
	}
	for _, i := range []int{0, 299} {
		receipt := string(e.do(http.MethodGet, "/predictions/"+first.Predictions[i].PredictionID, "").body)
		assert.Contains(t, receipt, strings.Repeat("a", 200))
		assert.Contains(t, receipt, fmt.Sprintf(`"ra%d"`, i))
		assert.NotContains(t, receipt, "yy") // ids contain no y
	}
	// The lift omits the features, so the service uses the features of the first try.
	lift := e.post("/retry-lift", `{"dag_id": "da", "task_id": "ta", "run_id": "ra7", "reason": "oom_killed", "failed": {"memory": "1Gi"}}`).json()
	receipt := string(e.do(http.MethodGet, "/predictions/"+lift["prediction_id"].(string), "").body)
	assert.Contains(t, receipt, strings.Repeat("a", 200))
}
