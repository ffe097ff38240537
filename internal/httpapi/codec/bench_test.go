package codec

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

func requestWith(n int) []byte {
	features := make([]string, n)
	for i := range features {
		features[i] = fmt.Sprintf(`"feature_%d": %s`, i, []string{"1253.25", `"emea"`, `"2020-02-05"`}[i%3])
	}
	return []byte(`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__2020-01-03__017", "map_index": 4,
		"features": {` + strings.Join(features, ",") + `}, "requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416}`)
}

// compare runs two variants in turn, so that other load affects both alike. It reports the median
// time of each variant and the ratio of the two.
func compare(b *testing.B, codec, library func()) {
	const batch = 20
	times := [2][]float64{}
	for b.Loop() {
		for i, run := range []func(){codec, library} {
			started := time.Now()
			for range batch {
				run()
			}
			times[i] = append(times[i], float64(time.Since(started).Nanoseconds())/batch)
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	codecMedian, libraryMedian := times[0][len(times[0])/2], times[1][len(times[1])/2]
	b.ReportMetric(codecMedian, "codec-ns")
	b.ReportMetric(libraryMedian, "library-ns")
	b.ReportMetric(codecMedian/libraryMedian, "codec/library")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkReadPredictRequest compares the hand-written reader with the strict decoder for bodies
// of 0, 5 and 20 features. Both variants also read the features.
func BenchmarkReadPredictRequest(b *testing.B) {
	strict := api.Strict()
	for _, n := range []int{0, 5, 20} {
		raw := requestWith(n)
		b.Run(fmt.Sprintf("features=%d", n), func(b *testing.B) {
			compare(b, func() {
				var body api.PredictRequest
				require.True(b, ReadPredictRequest(raw, &body))
				features, _ := ReadFeatures(body.Features)
				require.Len(b, features, n)
			}, func() {
				var body api.PredictRequest
				require.NoError(b, jsonv2.Unmarshal(raw, &body, strict))
				features, _ := readAnyFeatures(body.Features)
				require.Len(b, features, n)
			})
		})
	}
}

func BenchmarkReadObservation(b *testing.B) {
	raw, strict := []byte(commonReport), api.Strict()
	compare(b, func() {
		var body api.Observation
		require.True(b, ReadObservation(raw, &body))
	}, func() {
		var body api.Observation
		require.NoError(b, jsonv2.Unmarshal(raw, &body, strict))
	})
}

func BenchmarkWritePrediction(b *testing.B) {
	memory := &api.Memory{RequestBytes: 12204376064, LimitBytes: 12204376064, Request: "11639Mi", Limit: "11639Mi"}
	promised := 0.01302
	p := api.Prediction{
		PredictionID: "01a203db-3767-75af-9372-ef21f00e90a2", Namespace: "default", DagID: "pricing", TaskID: "predict_demand", Memory: memory,
		CPU: &api.CPU{RequestCores: 1, Request: "1"}, Duration: &api.Duration{MedianSeconds: 1934.259, P95Seconds: 2948.206},
		Bins:        &api.Bins{UpperBytes: []int64{11831083008, 23225958400, 35290873856, 70658293760}, Probabilities: []float64{0.87182, 0.12276, 0.00438, 0.00104}, Chosen: 1},
		LadderBytes: []int64{12204376064, 18398314496, 44732252160, 412316860416}, Risk: api.Risk{Promised: &promised, Target: 0.015},
		Source: "model", Mode: "enforce", Model: &api.Model{Version: 2, Family: "experts", Observations: 150, TrainedAt: time.Date(2020, 4, 11, 3, 11, 9, 797425000, time.UTC)},
		Reason: "11.4Gi: log-linear + boosted trees, by predicted spread; from product_count, sale_start-sale_end, region; 150 runs; saves 339Gi of the 350Gi requested",
	}
	options := jsonv2.JoinOptions(jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true), jsonv2.FormatNilSliceAsNull(true))
	compare(b, func() {
		w := WritePrediction(&p)
		_, _ = io.Discard.Write(w.B)
		w.B = w.B[:0]
		responsePool.Put(w)
	}, func() {
		require.NoError(b, jsonv2.MarshalWrite(io.Discard, &p, options))
	})
}
