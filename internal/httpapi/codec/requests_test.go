package codec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

const commonRequest = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__017", "namespace": "default", "map_index": -1,
	"try_number": 2, "features": {"count": 1253, "share": -0.25e-3, "region": "emea", "sale_end": "2020-02-05", "full": true, "none": null, "zero": -0},
	"requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416,
	"metadata": {"owner": "pricing", "tags": ["a", "b"], "none": null, "empty": []}, "node_type": "m5.large", "cluster_load": 0.5}`

const commonReport = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__017", "namespace": "default", "map_index": 3, "try_number": 2,
	"outcome": "success", "prediction_id": "0198", "memory_max": "3Gi", "memory_max_bytes": 3221225472, "memory_sampled_bytes": 3000000000,
	"cpu_max_cores": 1.25, "duration_seconds": 61e1, "started_at": "2020-01-03T02:15:00Z", "ended_at": "2020-01-03T02:25:10.5+02:00",
	"allocated": {"memory_bytes": 4294967296, "cpu_cores": 2.5}, "requested": {"memory": "350Gi", "cpu": "6"}, "features": {"count": 1253},
	"metadata": {"owner": "pricing"}, "node_type": "m5.large", "cluster_load": 0, "usage": {"memory_mean_bytes": 1e9, "cpu_mean_cores": 0.5,
	"read_bytes": 1, "written_bytes": 2, "gpu_memory_max_bytes": 3, "gpu_utilisation_mean": 0.25}}`

// requestsMatch reports whether `raw` has the common form. If so, it requires that ReadPredictRequest and the strict
// decoder read the same request.
func requestsMatch(t *testing.T, raw []byte) (common bool) {
	t.Helper()
	var got, want api.PredictRequest
	if !ReadPredictRequest(raw, &got) {
		require.Zero(t, got)
		return false
	}
	require.NoError(t, jsonv2.Unmarshal(raw, &want, api.Strict()), "%s", raw)
	require.Equal(t, strings.TrimSpace(string(want.Features)), strings.TrimSpace(string(got.Features)))
	require.Equal(t, strings.TrimSpace(string(want.Metadata)), strings.TrimSpace(string(got.Metadata)))
	features, ok := readCommonFeatures(got.Features)
	want.Features, got.Features, want.Metadata, got.Metadata = nil, nil, nil, nil
	require.Equal(t, want, got, "%s", raw)
	if ok {
		want, invalid := readAnyFeatures(featuresOf(raw))
		require.Equal(t, want, features, "%s", raw)
		require.Nil(t, invalid)
	}
	return true
}

// reportsMatch reports whether `raw` has the common form. If so, it requires that ReadObservation and the strict
// decoder read the same report.
func reportsMatch(t *testing.T, raw []byte) (common bool) {
	t.Helper()
	var got, want api.Observation
	if !ReadObservation(raw, &got) {
		require.Zero(t, got)
		return false
	}
	require.NoError(t, jsonv2.Unmarshal(raw, &want, api.Strict()), "%s", raw)
	require.Equal(t, strings.TrimSpace(string(want.Features)), strings.TrimSpace(string(got.Features)))
	require.Equal(t, strings.TrimSpace(string(want.Metadata)), strings.TrimSpace(string(got.Metadata)))
	want.Features, got.Features, want.Metadata, got.Metadata = nil, nil, nil, nil
	require.Equal(t, want, got, "%s", raw)
	return true
}

func featuresOf(raw []byte) []byte {
	var body struct{ Features json.RawMessage }
	_ = json.Unmarshal(raw, &body)
	return body.Features
}

func TestReadPredictRequestReadsTheCommonForm(t *testing.T) {
	assert.True(t, requestsMatch(t, []byte(commonRequest)))
	var body api.PredictRequest
	require.True(t, ReadPredictRequest([]byte(commonRequest), &body))
	features, ok := readCommonFeatures(body.Features)
	require.True(t, ok)
	assert.Equal(t, sizing.NumberValue(-0.25e-3), features["share"])
	assert.Equal(t, sizing.Date, features["sale_end"].Kind)
	assert.Len(t, features, 7)
}

func TestUncommonRequestsAreLeftToTheStrictDecoder(t *testing.T) {
	for _, raw := range []string{
		``, ` `, `null`, `[]`, `{}x`, `{"dag_id": "a"`, `{"dag_id": "a",}`, `{"dag_id" "a"}`, `{"dag_id": 1}`, `{"dag_id": null}`, `{"DAG_ID": "a"}`,
		`{"dag_id": "a", "dag_id": "a"}`, `{"dag_id": "\u0041"}`, `{"dag_id": "ü"}`, "{\"dag_id\": \"a\tb\"}", `{"map_index": 1.0}`, `{"map_index": 1e2}`,
		`{"map_index": 01}`, `{"map_index": +1}`, `{"map_index": 9999999999999999999}`, `{"features": {"a": 1, "a": 2}}`, `{"features": {"a": {}}}`,
		`{"features": {"a": [1]}}`, `{"features": {"a": .5}}`, `{"features": {"a": 1.}}`, `{"features": {"a": NaN}}`, `{"features": {"a": tru}}`, `{"features": null}`,
		`{"features": [1]}`, `{"requested": {"disk": "1Gi"}}`, `{"requested": null}`, `{"unknown": 1}`, commonRequest + "{}",
	} {
		var body api.PredictRequest
		assert.False(t, ReadPredictRequest([]byte(raw), &body), raw)
	}
	_, ok := readCommonFeatures([]byte(`{"a": 1e999}`))
	assert.False(t, ok)
}

func TestReadObservationReadsOnlyTheCommonForm(t *testing.T) {
	assert.True(t, reportsMatch(t, []byte(commonReport)))
	for _, raw := range []string{
		`{"outcome": "lost"}`, `{"cpu_max_cores": 0}`, `{"duration_seconds": -0.0}`, `{"started_at": "2020-02-29T23:59:59.123456789Z"}`, `{}`,
	} {
		assert.True(t, reportsMatch(t, []byte(raw)), "%s: validation follows later", raw)
	}
	for _, raw := range []string{
		`{"started_at": "2020-01-03"}`, `{"started_at": "2020-01-03T2:15:00Z"}`, `{"started_at": "2020-01-03T02:15:00,5Z"}`, `{"started_at": null}`,
		`{"cpu_max_cores": 1e999}`, `{"cpu_max_cores": "1"}`, `{"usage_series": []}`, `{"run_id": null}`, `{"requested": {"cpu_cores": true}}`, `{"memory_max_bytes": 1.5}`,
	} {
		assert.False(t, reportsMatch(t, []byte(raw)), raw)
	}
}

// If a hand-written reader accepts a common body after up to two random changes of the body, it reads the same as the
// strict decoder.
func TestMutatedBodiesMatchTheStrictDecoder(t *testing.T) {
	for kind, c := range map[string]struct {
		body  string
		match func(*testing.T, []byte) bool
	}{
		"requests": {commonRequest, requestsMatch},
		"reports":  {commonReport, reportsMatch},
	} {
		bodies := 20_000
		if testing.Short() { // the race detector is slow, and nothing here is concurrent
			bodies = 1_000
		}
		r := rand.New(rand.NewPCG(9, 9))
		common := 0
		for range bodies {
			if c.match(t, mutate(r, c.body)) {
				common++
			}
		}
		assert.Greater(t, common, bodies/4)
		t.Log(common, kind, "have the common form")
	}
}

func mutate(r *rand.Rand, body string) []byte {
	const letters = `{}[]",:.-+eE0123456789 \tnulltruefalse\xÿdag_id`
	raw := []byte(body)
	for range r.IntN(3) {
		at := r.IntN(len(raw))
		switch r.IntN(3) {
		case 0:
			raw[at] = letters[r.IntN(len(letters))]
		case 1:
			raw = append(raw[:at], raw[at+1:]...)
		default:
			raw = append(raw[:at], append([]byte{letters[r.IntN(len(letters))]}, raw[at:]...)...)
		}
	}
	return raw
}

func TestReadFeaturesReadsMoreFeaturesThanTheCommonFormAllows(t *testing.T) {
	for _, n := range []int{maxNames - 1, maxNames, maxNames + 1, 200} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d": %d`, i, i))
		}
		features, invalid := ReadFeatures([]byte("{" + strings.Join(list, ",") + "}"))
		assert.Nil(t, invalid)
		assert.Len(t, features, n)
	}
}

// Integers that a float64 cannot distinguish stay different.
func TestReadFeaturesReadsLongIntegersAsCategories(t *testing.T) {
	for _, name := range []string{"id", `i\u0064`} { // the second one is not in the common form
		features, invalid := ReadFeatures([]byte(`{"` + name + `": 1234567890123456789, "n": 123456789012345}`))
		require.Nil(t, invalid)
		assert.Equal(t, sizing.TextValue("1234567890123456789"), features["id"])
		assert.Equal(t, sizing.NumberValue(123456789012345), features["n"])
	}
}

func FuzzReadPredictRequest(f *testing.F) {
	f.Add([]byte(commonRequest))
	f.Fuzz(func(t *testing.T, raw []byte) { requestsMatch(t, raw) })
}

func FuzzReadObservation(f *testing.F) {
	f.Add([]byte(commonReport))
	f.Fuzz(func(t *testing.T, raw []byte) { reportsMatch(t, raw) })
}
