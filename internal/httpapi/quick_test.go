package httpapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

const plainQuestion = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "emea__017", "namespace": "default", "map_index": -1,
	"try_number": 2, "features": {"count": 1253, "share": -0.25e-3, "region": "emea", "sale_end": "2020-02-05", "full": true, "none": null, "zero": -0},
	"requested": {"memory": "350Gi", "cpu": "6"}, "max_memory_bytes": 412316860416}`

// alike demands that what is read quickly is what the strict reader reads.
func alike(t *testing.T, raw []byte) (plain bool) {
	t.Helper()
	var quickly, strictly api.PredictRequest
	if !quickQuestion(raw, &quickly) {
		return false
	}
	s := &server{strict: strict()}
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

// Plain questions with bytes changed here and there are read alike or not at all.
func TestChangedQuestionsAreReadAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	const letters = `{}[]",:.-+eE0123456789 \tnulltruefalse\xÿdag_id`
	quickly := 0
	for range 20_000 {
		raw := []byte(plainQuestion)
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
		if alike(t, raw) {
			quickly++
		}
	}
	assert.Greater(t, quickly, 5_000)
	t.Log(quickly, "were read quickly")
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
