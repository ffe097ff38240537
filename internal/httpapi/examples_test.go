package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reportHistory reports n runs of pricing/predict_demand, which need 1 GiB for every 250 products,
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

// lastOperations delete or rename the task of the other examples.
var lastOperations = []string{"VoidObservation", "RenameTask", "DeleteTask"}

func TestExampleRequestsSucceed(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(60)
	e.post("/experiments", `{}`)
	var prediction struct {
		PredictionID string `json:"prediction_id"`
	}
	e.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350Gi"}}`).into(&prediction)

	succeeded := 0
	for _, op := range operations(e.spec) {
		target := fill(op.path, op.params, prediction.PredictionID)
		for name, body := range bodies(t, op.op) {
			t.Run(op.op.OperationID+"/"+name, func(t *testing.T) {
				e.t = t
				a := e.do(op.method, target, body)
				if op.op.OperationID == "DeleteTask" {
					// RenameTask has renamed it.
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
	op           *openapi3.Operation
	params       openapi3.Parameters
}

// operations lists all operations by path, those of lastOperations at the end.
func operations(spec *openapi3.T) []operation {
	var all []operation
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, operation{method, path, op, slices.Concat(item.Parameters, op.Parameters)})
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		if c := slices.Index(lastOperations, a.op.OperationID) - slices.Index(lastOperations, b.op.OperationID); c != 0 {
			return c
		}
		return strings.Compare(a.path+a.method, b.path+b.method)
	})
	return all
}

// fill replaces the parameters of a path and its query by their examples.
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

// bodies returns the examples of a request body, or one empty body.
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
