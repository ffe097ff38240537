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

// The buffer of a body is the next one's: what was read of the first must be its own.
func TestABatchKeepsItsWordsWhenTheNextIsReadOverIt(t *testing.T) {
	w := newWorld(t, everybody)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a buffer that was collected is not read over
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
	w.post("/predict/batch", batch("a")).into(&first)
	for range 8 { // as many buffers there are
		w.post("/predict/batch", batch("y"))
	}
	for _, i := range []int{0, 299} {
		said := string(w.do(http.MethodGet, "/predictions/"+first.Predictions[i].PredictionID, "").body)
		assert.Contains(t, said, strings.Repeat("a", 200))
		assert.Contains(t, said, fmt.Sprintf(`"ra%d"`, i))
		assert.NotContains(t, said, "yy") // no id has a y
	}
	// The first try's features are remembered for its retry, which is not told of them.
	lift := w.post("/retry-lift", `{"dag_id": "da", "task_id": "ta", "run_id": "ra7", "reason": "oom_killed", "failed": {"memory": "1Gi"}}`).json()
	said := string(w.do(http.MethodGet, "/predictions/"+lift["prediction_id"].(string), "").body)
	assert.Contains(t, said, strings.Repeat("a", 200))
}
