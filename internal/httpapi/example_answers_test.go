package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExampleAnswersMatchTheServer sends requests to the server and compares the answers with the example answers in
// openapi.yaml. assertExample and assertResponse compare every value except ids. assertShape compares the fields and
// their JSON types, and assertReason compares the reasons with a pattern.
func TestExampleAnswersMatchTheServer(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(60)
	e.post("/observe", `{"dag_id": "pricing", "task_id": "untrained", "run_id": "r", "outcome": "failed"}`)
	const task = "/tasks/pricing/predict_demand"

	e.assertExample("Predict", "requested", http.MethodPost, "/predict", e.request("Predict", "look_up"))
	predicted := e.assertShape("Predict", "model", http.MethodPost, "/predict", e.request("Predict", "first_try"))
	e.assertReason("Predict", "model", predicted, `^[\d.]+[GMK]i: .+; from .+; [\d,]+ runs; saves \d+Gi of the 350Gi requested$`)
	explained := e.assertShape("Explain", "model", http.MethodPost, "/explain", e.request("Explain", "look_up"))
	e.assertReason("Explain", "model", explained, `^[\d.]+[GMK]i: .+; from .+; [\d,]+ runs; saves \d+Gi of the 350Gi requested$`)
	e.assertExample("PredictBatch", "one_failed", http.MethodPost, "/predict/batch", e.request("PredictBatch", "two"))

	success := e.request("Observe", "success")
	e.assertExample("Observe", "new", http.MethodPost, "/observe", success)
	e.assertExample("Observe", "again", http.MethodPost, "/observe", success)
	contradiction := strings.Replace(success, `"outcome":"success"`, `"outcome":"failed"`, 1)
	e.assertResponse(e.spec.Components.Responses["Conflict"].Value, "contradiction", http.MethodPost, "/observe", contradiction)
	const emptyRunID = `{"observations": [
		{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "valid", "outcome": "success", "memory_max_bytes": 5368709120},
		{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "", "outcome": "success"}]}`
	e.assertExample("ObserveBatch", "one_failed", http.MethodPost, "/observe/batch", emptyRunID)
	e.assertExample("GetSeries", "series", http.MethodGet, task+"/series?run_id=emea__2020-04-12__017&map_index=4", "")

	lifted := e.assertShape("RetryLift", "lift", http.MethodPost, "/retry-lift", e.request("RetryLift", "killed"))
	e.assertReason("RetryLift", "lift", lifted, `^OOM at 10Gi, so the peak is above it; lifted to [\d.]+Gi$`)
	e.assertExample("RetryLift", "not_memory", http.MethodPost, "/retry-lift", e.request("RetryLift", "evicted"))

	e.assertShape("GetTask", "profile", http.MethodGet, task, "")
	e.assertShape("ListTasks", "page", http.MethodGet, "/tasks", "")
	e.assertShape("ListModels", "one", http.MethodGet, task+"/models", "")
	trained := e.assertShape("TrainTask", "published", http.MethodPost, task+"/train", "")
	e.assertReason("TrainTask", "published", trained, `^learned from \d+ runs$`)
	e.assertExample("TrainTask", "too_little", http.MethodPost, "/tasks/pricing/untrained/train", "")
	e.assertExample("GetPolicy", "defaults", http.MethodGet, task+"/policy", "")
	e.assertExample("PutPolicy", "shadow", http.MethodPut, task+"/policy", e.request("PutPolicy", "shadow"))
	e.assertShape("ListAudit", "rolled_back", http.MethodGet, "/audit?task_id=predict_demand", "")
	e.assertShape("Ready", "ready", http.MethodGet, "/readyz", "")
	e.assertExample("Health", "alive", http.MethodGet, "/healthz", "")

	e.assertResponse(e.spec.Components.Responses["NotFound"].Value, "not_found", http.MethodGet, "/tasks/pricing/new_task", "")
	e.assertResponse(e.spec.Components.Responses["Problem"].Value, "invalid", http.MethodPost, "/predict",
		`{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350GiB"}}`)
	e.assertExample("VoidObservation", "voided", http.MethodPost, "/observe/void",
		`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "valid"}`)
	e.assertExample("RenameTask", "new_name", http.MethodPost, task+"/rename", e.request("RenameTask", "new_name"))
}

func (e *testEnv) operation(id string) *openapi3.Operation {
	e.t.Helper()
	for _, op := range operations(e.spec) {
		if op.definition.OperationID == id {
			return op.definition
		}
	}
	require.Fail(e.t, "no operation", id)
	return nil
}

func (e *testEnv) request(operation, name string) string {
	e.t.Helper()
	body, found := bodies(e.t, e.operation(operation))[name]
	require.True(e.t, found, "%s has no request example %s", operation, name)
	return body
}

func (e *testEnv) assertExample(operation, name, method, target, body string) {
	e.t.Helper()
	e.assertResponse(e.operation(operation).Responses.Status(http.StatusOK).Value, name, method, target, body)
}

// assertResponse compares an answer with an example of a response, except for ids.
func (e *testEnv) assertResponse(response *openapi3.Response, name, method, target, body string) {
	e.t.Helper()
	got := e.do(method, target, body)
	assert.Equal(e.t, maskIDs(e.t, example(e.t, response, name)), maskIDs(e.t, got.json()), "%s %s", method, target)
}

func (e *testEnv) assertShape(operation, name, method, target, body string) map[string]any {
	e.t.Helper()
	want := maskIDs(e.t, example(e.t, e.operation(operation).Responses.Status(http.StatusOK).Value, name))
	got := e.do(method, target, body).json()
	assertSameTypes(e.t, operation+"."+name, want, maskIDs(e.t, got))
	return got
}

func (e *testEnv) assertReason(operation, name string, got map[string]any, pattern string) {
	e.t.Helper()
	want := example(e.t, e.operation(operation).Responses.Status(http.StatusOK).Value, name)
	assert.Regexp(e.t, pattern, want.(map[string]any)["reason"], "the example")
	assert.Regexp(e.t, pattern, got["reason"], "the answer")
}

func example(t *testing.T, response *openapi3.Response, name string) any {
	t.Helper()
	for _, media := range response.Content {
		if ref := media.Examples[name]; ref != nil {
			text, err := json.Marshal(ref.Value.Value)
			require.NoError(t, err)
			var value any
			require.NoError(t, json.Unmarshal(text, &value))
			return value
		}
	}
	require.Fail(t, "no example", name)
	return nil
}

var idPatterns = map[string]*regexp.Regexp{
	"prediction_id": regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	"request_id":    regexp.MustCompile(`^[A-Z2-7]{26}$`),
}

func maskIDs(t *testing.T, value any) any {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if text, isText := v.(string); isText && idPatterns[key] != nil {
				assert.Regexp(t, idPatterns[key], text)
				value[key] = "masked"
				continue
			}
			value[key] = maskIDs(t, v)
		}
		return value
	case []any:
		for i := range value {
			value[i] = maskIDs(t, value[i])
		}
		return value
	default:
		return value
	}
}

// assertSameTypes fails if two JSON values differ in their fields or types. null matches any value, and arrays are
// compared by their first element. It ignores three free-form objects: the evaluation of a version, and the audited
// states before and after a change.
func assertSameTypes(t *testing.T, path string, want, got any) {
	t.Helper()
	if want == nil || got == nil || strings.HasSuffix(path, ".exam") || strings.HasSuffix(path, ".before") || strings.HasSuffix(path, ".after") {
		return
	}
	require.Equal(t, fmt.Sprintf("%T", want), fmt.Sprintf("%T", got), path)
	switch want := want.(type) {
	case map[string]any:
		fields := got.(map[string]any)
		for key, v := range want {
			if assert.Contains(t, fields, key, path) {
				assertSameTypes(t, path+"."+key, v, fields[key])
			}
		}
		for key := range fields {
			assert.Contains(t, want, key, path)
		}
	case []any:
		if len(want) > 0 && len(got.([]any)) > 0 {
			assertSameTypes(t, path+"[]", want[0], got.([]any)[0])
		}
	}
}
