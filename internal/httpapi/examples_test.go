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

// history reports n runs of pricing/predict_demand that need 1 GiB for every 250
// products, and trains.
func (w *world) history(n int) {
	w.t.Helper()
	reports := make([]string, n)
	for i := range reports {
		products := 100 + (i*37)%1900
		reports[i] = fmt.Sprintf(`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "past-%d", "outcome": "success",
			"memory_max_bytes": %d, "cpu_max_cores": 1.1, "duration_seconds": %d, "requested": {"memory": "350Gi", "cpu": "6"},
			"features": {"product_count": %d, "region": %q, "execution_date": "2020-01-%02d"}}`,
			i, products<<22, 60+products/10, products, []string{"emea", "apac", "amer"}[i%3], 1+i%28)
	}
	w.post("/observe/batch", `{"observations": [`+strings.Join(reports, ",")+`]}`)
	w.post("/tasks/pricing/predict_demand/train", "")
}

// What comes last when the examples are played, since nothing is left to play
// with afterwards.
var closing = []string{"VoidObservation", "RenameTask", "DeleteTask"}

func TestExamplesOfTheContractArePlayed(t *testing.T) {
	w := newWorld(t, everybody)
	w.history(60)
	w.post("/experiments", `{}`)
	var asked struct {
		PredictionID string `json:"prediction_id"`
	}
	w.post("/predict", `{"dag_id": "pricing", "task_id": "predict_demand", "requested": {"memory": "350Gi"}}`).into(&asked)

	played := 0
	for _, op := range operations(w.spec) {
		target := fill(op.path, op.params, asked.PredictionID)
		for name, body := range bodies(t, op.op) {
			t.Run(op.op.OperationID+"/"+name, func(t *testing.T) {
				w.t = t
				a := w.do(op.method, target, body)
				if op.op.OperationID == "DeleteTask" {
					// It was renamed just before.
					assert.Equal(t, http.StatusNotFound, a.status)
					a = w.do(op.method, strings.Replace(target, "demand", "demand_v2", 1), body)
				}
				assert.Less(t, a.status, 300, "%s", a.body)
				played++
			})
		}
	}
	assert.GreaterOrEqual(t, played, 25)
}

type called struct {
	method, path string
	op           *openapi3.Operation
	params       openapi3.Parameters
}

// operations lists all of a contract, by path, those in closing last.
func operations(spec *openapi3.T) []called {
	var all []called
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			all = append(all, called{method, path, op, slices.Concat(item.Parameters, op.Parameters)})
		}
	}
	slices.SortFunc(all, func(a, b called) int {
		if c := slices.Index(closing, a.op.OperationID) - slices.Index(closing, b.op.OperationID); c != 0 {
			return c
		}
		return strings.Compare(a.path+a.method, b.path+b.method)
	})
	return all
}

// fill puts the examples of all parameters into a path and its query.
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

// bodies are the examples of a request's body; one empty body where it has none.
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
