package httpapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

const plainQuestion = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__017", "namespace": "default", "map_index": -1,
	"try_number": 2, "features": {"count": 1253, "share": -0.25e-3, "region": "emea", "sale_end": "2020-02-05", "full": true, "none": null, "zero": -0},
	"requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416}`

const plainReport = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__017", "namespace": "default", "map_index": 3, "try_number": 2,
	"outcome": "success", "prediction_id": "0198", "memory_max": "3Gi", "memory_max_bytes": 3221225472, "memory_sampled_bytes": 3000000000,
	"cpu_max_cores": 1.25, "duration_seconds": 61e1, "started_at": "2020-01-03T02:15:00Z", "ended_at": "2020-01-03T02:25:10.5+02:00",
	"allocated": {"memory_bytes": 4294967296, "cpu_cores": 2.5}, "requested": {"memory": "350Gi", "cpu": "6"}, "features": {"count": 1253}}`

// alike demands that what is read quickly is what the strict reader reads.
func alike(t *testing.T, raw []byte) (plain bool) {
	t.Helper()
	var quickly, strictly api.PredictRequest
	if !quickQuestion(raw, &quickly) {
		require.Zero(t, quickly)
		return false
	}
	s := &server{strict: api.Strict()}
	require.NoError(t, s.decodeItem(raw, &strictly), "%s", raw)
	require.Equal(t, strings.TrimSpace(string(strictly.Features)), strings.TrimSpace(string(quickly.Features)))
	features, ok := quickFeatures(quickly.Features)
	strictly.Features, quickly.Features = nil, nil
	require.Equal(t, strictly, quickly, "%s", raw)
	if ok {
		var f form
		require.Equal(t, f.slowFeatures(featuresOf(raw)), features, "%s", raw)
		require.Empty(t, f.bad)
	}
	return true
}

// reportsAlike demands the same of reports.
func reportsAlike(t *testing.T, raw []byte) (plain bool) {
	t.Helper()
	var quickly, strictly api.Observation
	if !quickReport(raw, &quickly) {
		require.Zero(t, quickly)
		return false
	}
	s := &server{strict: api.Strict()}
	require.NoError(t, s.decodeItem(raw, &strictly), "%s", raw)
	require.Equal(t, strings.TrimSpace(string(strictly.Features)), strings.TrimSpace(string(quickly.Features)))
	strictly.Features, quickly.Features = nil, nil
	require.Equal(t, strictly, quickly, "%s", raw)
	return true
}

// batchesAlike demands that the items of a batch are found where the strict reader finds them.
func batchesAlike(t *testing.T, raw []byte) (plain bool) {
	t.Helper()
	quickly, plain := quickItems(raw, "tasks")
	if !plain {
		return false
	}
	var strictly struct {
		Tasks []jsontext.Value `json:"tasks"`
	}
	require.NoError(t, jsonv2.Unmarshal(raw, &strictly, jsonv2.RejectUnknownMembers(true)), "%s", raw)
	require.Len(t, quickly, len(strictly.Tasks))
	for i, item := range strictly.Tasks {
		require.Equal(t, string(item), string(quickly[i]))
	}
	return true
}

// featuresOf are the features of a question, by the library.
func featuresOf(raw []byte) []byte {
	var body struct{ Features json.RawMessage }
	_ = json.Unmarshal(raw, &body)
	return body.Features
}

func TestAPlainQuestionIsReadQuickly(t *testing.T) {
	assert.True(t, alike(t, []byte(plainQuestion)))
	var body api.PredictRequest
	require.True(t, quickQuestion([]byte(plainQuestion), &body))
	features, ok := quickFeatures(body.Features)
	require.True(t, ok)
	assert.Equal(t, sizing.NumberValue(-0.25e-3), features["share"])
	assert.Equal(t, sizing.Date, features["sale_end"].Kind)
	assert.Len(t, features, 7)
}

// Everything that is not plain is left to the strict reader, right or wrong.
func TestWhatIsNotPlainIsLeftToTheStrictReader(t *testing.T) {
	for _, raw := range []string{
		``, ` `, `null`, `[]`, `{}x`, `{"dag_id": "a"`, `{"dag_id": "a",}`, `{"dag_id" "a"}`, `{"dag_id": 1}`, `{"dag_id": null}`, `{"DAG_ID": "a"}`,
		`{"dag_id": "a", "dag_id": "a"}`, `{"dag_id": "\u0041"}`, `{"dag_id": "ü"}`, "{\"dag_id\": \"a\tb\"}", `{"map_index": 1.0}`, `{"map_index": 1e2}`,
		`{"map_index": 01}`, `{"map_index": +1}`, `{"map_index": 9999999999999999999}`, `{"features": {"a": 1, "a": 2}}`, `{"features": {"a": {}}}`,
		`{"features": {"a": [1]}}`, `{"features": {"a": .5}}`, `{"features": {"a": 1.}}`, `{"features": {"a": NaN}}`, `{"features": {"a": tru}}`, `{"features": null}`,
		`{"features": [1]}`, `{"requested": {"disk": "1Gi"}}`, `{"requested": null}`, `{"unknown": 1}`, plainQuestion + "{}",
	} {
		var body api.PredictRequest
		assert.False(t, quickQuestion([]byte(raw), &body), raw)
	}
	_, plain := quickFeatures([]byte(`{"a": 1e999}`))
	assert.False(t, plain)
}

func TestAPlainReportIsReadQuickly(t *testing.T) {
	assert.True(t, reportsAlike(t, []byte(plainReport)))
	for _, raw := range []string{
		`{"outcome": "lost"}`, `{"cpu_max_cores": 0}`, `{"duration_seconds": -0.0}`, `{"started_at": "2020-02-29T23:59:59.123456789Z"}`, `{}`,
	} {
		assert.True(t, reportsAlike(t, []byte(raw)), "%s: what is wrong with it is found later", raw)
	}
	for _, raw := range []string{
		`{"started_at": "2020-01-03"}`, `{"started_at": "2020-01-03T2:15:00Z"}`, `{"started_at": "2020-01-03T02:15:00,5Z"}`, `{"started_at": null}`,
		`{"cpu_max_cores": 1e999}`, `{"cpu_max_cores": "1"}`, `{"usage_series": []}`, `{"run_id": null}`, `{"requested": {"cpu_cores": true}}`, `{"memory_max_bytes": 1.5}`,
	} {
		assert.False(t, reportsAlike(t, []byte(raw)), raw)
	}
}

func TestItemsOfAPlainBatchAreFoundQuickly(t *testing.T) {
	for _, raw := range []string{
		`{}`, `{"tasks": []}`, `{"tasks": [1, "a", null, {"a": {"b": [1, 2]}}]} `, `{ "tasks":[` + plainQuestion + ` , ` + plainQuestion + `]}`,
	} {
		assert.True(t, batchesAlike(t, []byte(raw)), raw)
	}
	for _, raw := range []string{
		``, `[]`, `{"tasks": {}}`, `{"tasks": [1,]}`, `{"tasks": [1], "tasks": [1]}`, `{"tasks": [1], "more": 1}`, `{"tasks": [{"a": 1, "a": 2}]}`, `{"tasks": [[[[[1]]]]]}`,
		`{"tasks": [` + strings.Repeat("1,", maxBatch) + `1]}`, `{"tasks": [1]`, `{"tasks": [1]}x`,
	} {
		assert.False(t, batchesAlike(t, []byte(raw)), "%.100s", raw)
	}
}

// Plain bodies with bytes changed here and there are read alike or not at all.
func TestChangedBodiesAreReadAlike(t *testing.T) {
	for what, it := range map[string]struct {
		plain string
		alike func(*testing.T, []byte) bool
	}{
		"questions": {plainQuestion, alike},
		"reports":   {plainReport, reportsAlike},
		"batches":   {`{"tasks": [` + plainQuestion + `, {}]}`, batchesAlike},
	} {
		r := rand.New(rand.NewPCG(9, 9))
		quickly := 0
		for range 20_000 {
			if it.alike(t, changed(r, it.plain)) {
				quickly++
			}
		}
		assert.Greater(t, quickly, 5_000)
		t.Log(quickly, what, "were read quickly")
	}
}

// changed is a body with at most two bytes changed, taken out or put in.
func changed(r *rand.Rand, plain string) []byte {
	const letters = `{}[]",:.-+eE0123456789 \tnulltruefalse\xÿdag_id`
	raw := []byte(plain)
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

func TestManyFeaturesAreStillRead(t *testing.T) {
	for _, n := range []int{manyNames - 1, manyNames, manyNames + 1, 200} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d": %d`, i, i))
		}
		var f form
		assert.Len(t, f.features([]byte("{"+strings.Join(list, ",")+"}")), n)
	}
}

func FuzzQuickQuestion(f *testing.F) {
	f.Add([]byte(plainQuestion))
	f.Fuzz(func(t *testing.T, raw []byte) { alike(t, raw) })
}

func FuzzQuickReport(f *testing.F) {
	f.Add([]byte(plainReport))
	f.Fuzz(func(t *testing.T, raw []byte) { reportsAlike(t, raw) })
}

func FuzzQuickItems(f *testing.F) {
	f.Add([]byte(`{"tasks": [` + plainQuestion + `, {}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) { batchesAlike(t, raw) })
}
