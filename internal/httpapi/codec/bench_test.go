package codec

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// manyFeatures is a request with 30 features.
func manyFeatures() []byte {
	features := make([]string, 30)
	for i := range features {
		features[i] = fmt.Sprintf(`"feature_%d": %s`, i, []string{"1253.25", `"emea"`, `"2020-02-05"`}[i%3])
	}
	return []byte(`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__2020-01-03__017", "map_index": 4,
		"features": {` + strings.Join(features, ",") + `}, "requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416}`)
}

// BenchmarkReadPredictRequest compares the hand-written reader with the libraries. Every variant
// also reads the features.
func BenchmarkReadPredictRequest(b *testing.B) {
	raw, strict := manyFeatures(), api.Strict()
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body api.PredictRequest
			require.True(b, ReadPredictRequest(raw, &body))
			features, _ := ReadFeatures(body.Features)
			require.Len(b, features, 30)
		}
	})
	b.Run("json/v2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body api.PredictRequest
			require.NoError(b, jsonv2.Unmarshal(raw, &body, strict))
			features, _ := readAnyFeatures(body.Features)
			require.Len(b, features, 30)
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body api.PredictRequest
			var features map[string]any
			require.NoError(b, json.Unmarshal(raw, &body))
			require.NoError(b, json.Unmarshal(body.Features, &features))
		}
	})
}

// BenchmarkReadObservation compares the hand-written reader with the strict decoder.
func BenchmarkReadObservation(b *testing.B) {
	raw, strict := []byte(commonReport), api.Strict()
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body api.Observation
			require.True(b, ReadObservation(raw, &body))
		}
	})
	b.Run("json/v2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var body api.Observation
			require.NoError(b, jsonv2.Unmarshal(raw, &body, strict))
		}
	})
}

// BenchmarkWritePrediction compares the hand-written writer with the libraries.
func BenchmarkWritePrediction(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 7))
	p := randomPrediction(r)
	for p.Bins == nil || p.Model == nil || p.Memory == nil {
		p = randomPrediction(r)
	}
	b.Run("codec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w := WritePrediction(&p)
			_, _ = io.Discard.Write(w.B)
			w.B = w.B[:0]
			responsePool.Put(w)
		}
	})
	b.Run("json/v2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, jsonv2.MarshalWrite(io.Discard, &p))
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.NoError(b, json.NewEncoder(io.Discard).Encode(&p))
		}
	})
}
