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

// TestExamplesAreWhatTheServerAnswers sends the requests that the answers in openapi.yaml
// belong to. Answers that do not depend on a model agree in every value but the ids;
// the others agree in their fields, their kinds and the form of their reason.
func TestExamplesAreWhatTheServerAnswers(t *testing.T) {
	w := newWorld(t, everybody)
	w.history(60)
	w.post("/observe", `{"dag_id": "pricing", "task_id": "young", "run_id": "r", "outcome": "failed"}`)
	const task = "/tasks/pricing/predict_demand"

	w.exact("Predict", "requested", http.MethodPost, "/predict", w.request("Predict", "look_up"))
	answered := w.alike("Predict", "model", http.MethodPost, "/predict", w.request("Predict", "first_try"))
	w.reasons("Predict", "model", answered, `^[\d.]+[GMK]i: .+, by .+; from .+; [\d,]+ runs; saves \d+Gi of the 350Gi requested$`)
	w.exact("PredictBatch", "one_failed", http.MethodPost, "/predict/batch", w.request("PredictBatch", "two"))

	success := w.request("Observe", "success")
	w.exact("Observe", "new", http.MethodPost, "/observe", success)
	w.exact("Observe", "again", http.MethodPost, "/observe", success)
	contradiction := strings.Replace(success, `"outcome":"success"`, `"outcome":"failed"`, 1)
	w.sameAs(w.spec.Components.Responses["Conflict"].Value, "contradiction", http.MethodPost, "/observe", contradiction)
	const nameless = `{"observations": [
		{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "named", "outcome": "success", "memory_max_bytes": 5368709120},
		{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "", "outcome": "success"}]}`
	w.exact("ObserveBatch", "one_failed", http.MethodPost, "/observe/batch", nameless)
	w.exact("GetSeries", "series", http.MethodGet, task+"/series?run_id=emea__2020-04-12__017&map_index=4", "")

	lifted := w.alike("RetryLift", "lift", http.MethodPost, "/retry-lift", w.request("RetryLift", "killed"))
	w.reasons("RetryLift", "lift", lifted, `^OOM at 10Gi, so the peak is above it; lifted to [\d.]+Gi$`)
	w.exact("RetryLift", "not_memory", http.MethodPost, "/retry-lift", w.request("RetryLift", "evicted"))

	w.alike("GetTask", "profile", http.MethodGet, task, "")
	w.alike("ListTasks", "page", http.MethodGet, "/tasks", "")
	w.alike("ListModels", "one", http.MethodGet, task+"/models", "")
	trained := w.alike("TrainTask", "published", http.MethodPost, task+"/train", "")
	w.reasons("TrainTask", "published", trained, `^learned from \d+ runs$`)
	w.exact("TrainTask", "too_little", http.MethodPost, "/tasks/pricing/young/train", "")
	w.exact("GetPolicy", "defaults", http.MethodGet, task+"/policy", "")
	w.exact("PutPolicy", "shadow", http.MethodPut, task+"/policy", w.request("PutPolicy", "shadow"))
	w.alike("ListAudit", "rolled_back", http.MethodGet, "/audit?task_id=predict_demand", "")
	w.alike("Ready", "ready", http.MethodGet, "/readyz", "")
	w.exact("Health", "alive", http.MethodGet, "/healthz", "")

	w.sameAs(w.spec.Components.Responses["NotFound"].Value, "not_found", http.MethodGet, "/tasks/pricing/new_task", "")
	w.sameAs(w.spec.Components.Responses["Problem"].Value, "invalid", http.MethodPost, "/predict",
		`{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350GiB"}}`)
	w.exact("VoidObservation", "voided", http.MethodPost, "/observe/void",
		`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "named"}`)
	w.exact("RenameTask", "new_name", http.MethodPost, task+"/rename", w.request("RenameTask", "new_name"))
}

// operation finds an operation of the contract by its id.
func (w *world) operation(id string) *openapi3.Operation {
	w.t.Helper()
	for _, op := range operations(w.spec) {
		if op.op.OperationID == id {
			return op.op
		}
	}
	require.Fail(w.t, "no operation", id)
	return nil
}

// request is an example of an operation's request.
func (w *world) request(operation, name string) string {
	w.t.Helper()
	body, found := bodies(w.t, w.operation(operation))[name]
	require.True(w.t, found, "%s has no request example %s", operation, name)
	return body
}

// exact compares an answer with an example of the operation's 200.
func (w *world) exact(operation, name, method, target, body string) {
	w.t.Helper()
	w.sameAs(w.operation(operation).Responses.Status(http.StatusOK).Value, name, method, target, body)
}

// sameAs compares an answer with an example of a response, ids apart.
func (w *world) sameAs(response *openapi3.Response, name, method, target, body string) {
	w.t.Helper()
	got := w.do(method, target, body)
	assert.Equal(w.t, masked(w.t, example(w.t, response, name)), masked(w.t, got.json()), "%s %s", method, target)
}

// alike compares the fields of an answer, and the kinds of their values, with an example.
func (w *world) alike(operation, name, method, target, body string) map[string]any {
	w.t.Helper()
	want := masked(w.t, example(w.t, w.operation(operation).Responses.Status(http.StatusOK).Value, name))
	got := w.do(method, target, body).json()
	compareKinds(w.t, operation+"."+name, want, masked(w.t, got))
	return got
}

// reasons holds the reason of an example, and that of an answer, to a form.
func (w *world) reasons(operation, name string, got map[string]any, form string) {
	w.t.Helper()
	want := example(w.t, w.operation(operation).Responses.Status(http.StatusOK).Value, name)
	assert.Regexp(w.t, form, want.(map[string]any)["reason"], "the example")
	assert.Regexp(w.t, form, got["reason"], "the answer")
}

// example is the value of a named example, as decoded JSON.
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

// forms are what ids look like; an id of another form stays, and is a difference.
var forms = map[string]*regexp.Regexp{
	"prediction_id": regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`),
	"request_id":    regexp.MustCompile(`^[A-Z2-7]{26}$`),
}

// masked replaces the ids of a JSON value by their form.
func masked(t *testing.T, value any) any {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if text, isText := v.(string); isText && forms[key] != nil {
				assert.Regexp(t, forms[key], text)
				value[key] = "masked"
				continue
			}
			value[key] = masked(t, v)
		}
		return value
	case []any:
		for i := range value {
			value[i] = masked(t, value[i])
		}
		return value
	default:
		return value
	}
}

// compareKinds fails where two JSON values differ in their fields or in a kind; null may
// stand for any value, and of an array the first element is looked at. What is free form
// (an exam, the two sides of a change) is not descended into.
func compareKinds(t *testing.T, path string, want, got any) {
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
				compareKinds(t, path+"."+key, v, fields[key])
			}
		}
		for key := range fields {
			assert.Contains(t, want, key, path)
		}
	case []any:
		if len(want) > 0 && len(got.([]any)) > 0 {
			compareKinds(t, path+"[]", want[0], got.([]any)[0])
		}
	}
}
