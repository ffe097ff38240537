package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
)

// line is one operation of the matrix of who may do what. Its call is about the
// task {dag}/t of namespace blue, of which one run and one answer {id} are known.
type line struct {
	roles   string // that suffice beside admin; "public" needs none
	call    string // target and body
	done    int    // the status where it is allowed
	outside int    // the status where the task is beyond the scope; 0: names no task
	whole   bool   // refuses every token that is limited to some tasks
}

var matrix = map[string]line{
	"POST /predict":       {"predict", `/predict {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "requested": {"memory": "1Gi"}}`, 200, 403, false},
	"GET /predict":        {"predict", `/predict?namespace=blue&dag_id={dag}&task_id=t&memory=1Gi`, 200, 403, false},
	"POST /predict/batch": {"predict", `/predict/batch {"tasks": [{"namespace": "blue", "dag_id": "{dag}", "task_id": "t"}]}`, 200, 403, false},
	"POST /retry-lift": {"predict", `/retry-lift {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "k", "failed": {"memory": "1Gi"}}`,
		200, 403, false},
	"POST /observe":       {"observe", `/observe {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "o", "outcome": "success"}`, 200, 403, false},
	"POST /observe/batch": {"observe", `/observe/batch {"observations": [{"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "b", "outcome": "success"}]}`, 200, 403, false},
	"POST /observe/void":  {"observe", `/observe/void {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "r"}`, 200, 403, false},

	"GET /tasks":                                               {"predict observe", `/tasks`, 200, 0, false},
	"GET /tasks/{dag_id}/{task_id}":                            {"predict observe", `/tasks/{dag}/t?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/models":                     {"predict observe", `/tasks/{dag}/t/models?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/policy":                     {"predict observe", `/tasks/{dag}/t/policy?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/series":                     {"observe", `/tasks/{dag}/t/series?namespace=blue&run_id=r`, 200, 403, false},
	"GET /predictions/{prediction_id}":                         {"predict observe", `/predictions/{id}`, 200, 404, false},
	"PUT /tasks/{dag_id}/{task_id}/policy":                     {"", `/tasks/{dag}/t/policy?namespace=blue {"mode": "shadow"}`, 200, 403, false},
	"POST /tasks/{dag_id}/{task_id}/models/{version}/activate": {"", `/tasks/{dag}/t/models/7/activate?namespace=blue`, 404, 403, false},
	"POST /tasks/{dag_id}/{task_id}/train":                     {"", `/tasks/{dag}/t/train?namespace=blue`, 200, 403, false},
	"POST /tasks/{dag_id}/{task_id}/rename":                    {"", `/tasks/{dag}/t/rename?namespace=blue {"namespace": "blue", "dag_id": "{dag}", "task_id": "u"}`, 200, 403, false},
	"DELETE /tasks/{dag_id}/{task_id}":                         {"", `/tasks/{dag}/t?namespace=blue`, 204, 403, false},
	"DELETE /tasks/{dag_id}/{task_id}/pin":                     {"", `/tasks/{dag}/t/pin?namespace=blue`, 204, 403, false},
	"GET /audit":                                               {"", `/audit?limit=1`, 200, 0, false},

	"GET /experiments":              {roles: "predict observe", call: `/experiments`, done: 200, whole: true},
	"GET /experiments/{experiment}": {roles: "predict observe", call: `/experiments/absent`, done: 404, whole: true},
	"POST /experiments":             {call: `/experiments {"fingerprint": "ab"}`, done: 200, whole: true},

	"GET /healthz":      {"public", `/healthz`, 200, 0, false},
	"GET /readyz":       {"public", `/readyz`, 200, 0, false},
	"GET /openapi.yaml": {"public", `/openapi.yaml`, 200, 0, false},
	"GET /docs":         {"public", `/docs`, 200, 0, false},
}

// scopes are how a token may be limited, and whether that reaches etl_… of blue.
var scopes = map[string]bool{
	"": true, "@blue": true, "@/etl_": true, "@blue/etl_": true,
	"@red": false, "@/ml_": false, "@blue/ml_": false, "@red/etl_": false, "@blu": false, "@blue/etl_load_and_more": false,
}

// bearers is one token of each role and scope, called by its grant, and a
// keeper's that prepares what the others ask for.
func bearers(t *testing.T) httpapi.Config {
	grants := []string{"admin:" + sha("keeper")}
	for _, role := range []string{"predict", "observe", "admin"} {
		for scope := range scopes {
			grants = append(grants, role+scope+":"+sha(role+scope))
		}
	}
	return tokens(t, grants...)
}

// faultsOf plays the matrix: every operation with every token, on a task of its
// own. It returns how many calls it made, and what was answered otherwise than the
// matrix says.
func faultsOf(w *world) (calls int, faults []string) {
	for name, l := range matrix {
		try := func(secret string, want int) {
			calls++
			if got := w.callAs(l, name, secret, calls); got != want {
				faults = append(faults, fmt.Sprintf("%s as %q: %d, not %d", name, secret, got, want))
			}
		}
		if l.roles == "public" {
			try("", l.done)
			try("nobody's", l.done)
			continue
		}
		try("", http.StatusUnauthorized)
		try("nobody's", http.StatusUnauthorized)
		try(sha("keeper"), http.StatusUnauthorized) // a hash that was stolen opens nothing
		for _, role := range []string{"predict", "observe", "admin"} {
			for scope, reaches := range scopes {
				want := l.done
				switch {
				case role != "admin" && !slices.Contains(strings.Fields(l.roles), role):
					want = http.StatusForbidden
				case !reaches && l.outside != 0:
					want = l.outside
				case scope != "" && l.whole:
					want = http.StatusForbidden
				}
				try(role+scope, want)
			}
		}
	}
	return calls, faults
}

// callAs makes the nth call, and returns its status; of a batch that of its item.
func (w *world) callAs(l line, name, secret string, nth int) int {
	w.t.Helper()
	dag := fmt.Sprintf("etl_load_%d", nth)
	id := ""
	if l.outside != 0 {
		w.post("/observe", `{"namespace": "blue", "dag_id": "`+dag+`", "task_id": "t", "run_id": "r", "outcome": "success", "usage_series": {"step_seconds": 1, "memory_bytes": [1]}}`, bearer("keeper"))
		id = w.post("/predict", `{"namespace": "blue", "dag_id": "`+dag+`", "task_id": "t", "run_id": "a", "requested": {"memory": "1Gi"}}`,
			bearer("keeper")).json()["prediction_id"].(string)
	}
	method, _, _ := strings.Cut(name, " ")
	target, body, _ := strings.Cut(strings.NewReplacer("{dag}", dag, "{id}", id).Replace(l.call), " ")
	var options []option
	if secret != "" {
		options = append(options, bearer(secret))
	}
	a := w.do(method, target, body, options...)
	if a.status != http.StatusOK || !strings.HasSuffix(target, "/batch") {
		return a.status
	}
	var batch struct {
		Predictions, Results []struct{ Error *struct{ Status int } }
	}
	a.into(&batch)
	item := append(batch.Predictions, batch.Results...)
	require.Len(w.t, item, 1)
	if item[0].Error != nil && item[0].Error.Status != http.StatusNotFound { // 404: nothing was requested
		return item[0].Error.Status
	}
	return a.status
}

func TestEveryOperationOfTheContractHasItsLineOfTheMatrix(t *testing.T) {
	spec, _ := contract(t)
	left := map[string]bool{}
	for name := range matrix {
		left[name] = true
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			l, ok := matrix[name]
			if !assert.True(t, ok, "%s has no line: say who may call it", name) {
				continue
			}
			delete(left, name)
			roles := []string{}
			listed, _ := op.Extensions["x-roles"].([]any)
			for _, role := range listed {
				if role != "admin" {
					roles = append(roles, role.(string))
				}
			}
			if op.Security != nil && len(*op.Security) == 0 {
				roles = []string{"public"}
			} else {
				assert.NotEmpty(t, listed, "%s says who may call it", name)
			}
			assert.ElementsMatch(t, strings.Fields(l.roles), roles, name)
		}
	}
	assert.Empty(t, left, "lines of no operation")
}

func TestEveryTokenMayDoWhatTheMatrixSaysAndNoMore(t *testing.T) {
	w := newWorld(t, bearers(t))
	calls, faults := faultsOf(w)
	assert.Empty(t, faults)
	t.Logf("%d calls of %d operations, %d faults", calls, len(matrix), len(faults))
	assert.Greater(t, calls, 500)
}

// The matrix is worth something if it sees a hole.
func TestTheMatrixSeesAHole(t *testing.T) {
	for hole, swap := range map[string][2]string{
		"a role that does too much":   {"observe", "admin"},
		"a scope that is not held to": {"admin@blue/ml_", "admin"},
		"a stranger let in":           {"nobody's", "predict"},
	} {
		t.Run(hole, func(t *testing.T) {
			w := newWorld(t, bearers(t))
			whole := w.handler
			w.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer "+swap[0] {
					r.Header.Set("Authorization", "Bearer "+swap[1])
				}
				whole.ServeHTTP(out, r)
			})
			_, faults := faultsOf(w)
			require.NotEmpty(t, faults)
			for _, fault := range faults {
				assert.Contains(t, fault, fmt.Sprintf("as %q", swap[0]))
			}
		})
	}
}
