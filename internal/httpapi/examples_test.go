package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reportHistory reports n runs of pricing/predict_demand, which need 1 GiB for every 256 products,
// and trains the task.
func (e *testEnv) reportHistory(n int) {
	e.t.Helper()
	reports := make([]string, n)
	for i := range reports {
		products := 100 + (i*37)%1900
		reports[i] = fmt.Sprintf(`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "past-%d", "outcome": "success",
			"memory_max_bytes": %d, "cpu_max_cores": 1.1, "duration_seconds": %d, "requested": {"memory": "350Gi", "cpu": "6"},
			"features": {"product_count": %d, "region": %q, "execution_date": "2020-01-%02d"}}`,
			i, products<<22, 60+products/10, products, []string{"emea", "apac", "amer"}[i%3], 1+i%28)
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(reports, ",")+`]}`)
	e.post("/tasks/pricing/predict_demand/train", "")
}

// lastOperations change, delete or rename objects that the examples of other operations use.
var lastOperations = []string{"ResetCampaignRun", "CancelWhatIf", "VoidObservation", "RenameTask", "DeleteTask"}

// prepareExamples creates the objects to which the example requests refer: tasks, usage profiles, a plan,
// an experiment, a campaign, the structure of a DAG, a prediction and a what-if.
func (e *testEnv) prepareExamples() (predictionID, whatIfID string) {
	e.t.Helper()
	e.reportHistory(60)
	e.reportUsage("default")
	require.NoError(e.t, e.trainer.FindProfiles(e.t.Context(), time.Now()))
	e.post("/observe", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "detailed", "outcome": "success", "memory_max_bytes": 4194304000,
		"allocated": {"memory": "9Gi"}, "detailed_series": {"step_seconds": 15, "memory_bytes": [4194304, 4194304000]}}`)
	require.NoError(e.t, e.trainer.LearnPlans(e.t.Context(), time.Now()))
	e.post("/experiments", `{}`)
	e.post("/campaigns", `{"name": "first", "dag_id": "pricing", "pool": "sandbox"}`)
	e.post("/campaigns/1/runs", `{"runs": [{"scenario": "first", "execution_date": "2020-01-02T00:00:00Z"}]}`)
	e.post("/campaigns/1/claim", `{"branch": "trigger_deploy", "limit": 1}`)
	e.do(http.MethodPut, "/dags/pricing/structure", `{"tasks": [{"task_id": "predict_demand", "upstream": []}]}`)
	var prediction struct {
		PredictionID string `json:"prediction_id"`
	}
	e.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350Gi"}}`).into(&prediction)
	var whatIf struct{ ID string }
	e.do(http.MethodPost, "/whatif", `{"dag_id": "pricing"}`).into(&whatIf)
	return prediction.PredictionID, whatIf.ID
}

// target returns the path and query of an operation with the examples of its parameters.
func (e *testEnv) target(op operation, predictionID, whatIfID string) string {
	e.t.Helper()
	example := e.operation("GetWhatIf").Parameters[0].Value.Example.(string)
	return strings.Replace(fill(op.path, op.params, predictionID), example, whatIfID, 1)
}

func TestExampleRequestsSucceed(t *testing.T) {
	e := newTestEnv(t, noAuth)
	prediction, whatIf := e.prepareExamples()
	succeeded := 0
	for _, op := range operations(e.spec) {
		target := e.target(op, prediction, whatIf)
		for name, body := range bodies(t, op.definition) {
			t.Run(op.definition.OperationID+"/"+name, func(t *testing.T) {
				e.t = t
				a := e.do(op.method, target, body)
				if op.definition.OperationID == "DeleteTask" {
					// The example of RenameTask has renamed the task.
					assert.Equal(t, http.StatusNotFound, a.status)
					a = e.do(op.method, strings.Replace(target, "demand", "demand_v2", 1), body)
				}
				assert.Less(t, a.status, 300, "%s", a.body)
				succeeded++
			})
		}
	}
	assert.GreaterOrEqual(t, succeeded, 25)
}

type operation struct {
	method, path string
	definition   *openapi3.Operation
	params       openapi3.Parameters
}

// operations lists all operations in the order of their paths, with lastOperations at the end.
func operations(spec *openapi3.T) []operation {
	var all []operation
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, operation{method, path, op, slices.Concat(item.Parameters, op.Parameters)})
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		if c := slices.Index(lastOperations, a.definition.OperationID) - slices.Index(lastOperations, b.definition.OperationID); c != 0 {
			return c
		}
		return strings.Compare(a.path+a.method, b.path+b.method)
	})
	return all
}

// fill replaces the parameters of a path by their examples, and adds a query with the examples of the query parameters. The
// parameter prediction_id becomes predictionID.
func fill(path string, params openapi3.Parameters, predictionID string) string {
	query := []string{}
	for _, ref := range params {
		p := ref.Value
		example := fmt.Sprint(p.Example)
		switch {
		case p.Name == "prediction_id":
			example = predictionID
		case p.Example == nil:
			continue
		}
		if p.In == "path" {
			path = strings.Replace(path, "{"+p.Name+"}", example, 1)
		} else {
			query = append(query, p.Name+"="+example)
		}
	}
	return strings.TrimSuffix(path+"?"+strings.Join(query, "&"), "?")
}

// bodies returns the examples of a request body by name, or one empty body.
func bodies(t *testing.T, op *openapi3.Operation) map[string]string {
	if op.RequestBody == nil {
		return map[string]string{"no body": ""}
	}
	out := map[string]string{}
	for name, example := range op.RequestBody.Value.Content["application/json"].Examples {
		b, err := json.Marshal(example.Value.Value)
		require.NoError(t, err)
		out[name] = string(b)
	}
	require.NotEmpty(t, out, "%s has no example", op.OperationID)
	return out
}
