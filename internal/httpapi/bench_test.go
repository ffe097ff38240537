package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// BenchmarkReadQuestion sets the strict reading of a question with 30 features
// beside the lax one of the standard library, in one run.
func BenchmarkReadQuestion(b *testing.B) {
	features := make([]string, 30)
	for i := range features {
		features[i] = fmt.Sprintf(`"feature_%d": %s`, i, []string{"1253.25", `"emea"`, `"2020-02-05"`}[i%3])
	}
	text := `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__2020-01-03__017", "map_index": 4,
		"features": {` + strings.Join(features, ",") + `}, "requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416}`

	b.Run("strict", func(b *testing.B) {
		s := &server{strict: api.Strict()}
		b.ReportAllocs()
		for b.Loop() {
			var body api.PredictRequest
			require.NoError(b, s.decode(post(text), &body))
			var f form
			require.Len(b, f.features(body.Features), 30)
		}
	})
	b.Run("lax", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body map[string]any
			require.NoError(b, json.NewDecoder(post(text).Body).Decode(&body))
		}
	})
}
