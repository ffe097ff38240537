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

// accessRule is the expected access control of one operation. Its call concerns the task {dag}/t
// of namespace blue, which has one run and one prediction {id}.
type accessRule struct {
	roles          string // sufficient roles except admin; "public" needs none
	call           string // target and body
	allowed        int    // status for a permitted token
	outOfScope     int    // status for a task outside the scope; 0 if the call names no task
	needsUnlimited bool   // rejects every token with a limited scope
}

var matrix = map[string]accessRule{
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

	"GET /experiments":              {roles: "predict observe", call: `/experiments`, allowed: 200, needsUnlimited: true},
	"GET /experiments/{experiment}": {roles: "predict observe", call: `/experiments/absent`, allowed: 404, needsUnlimited: true},
	"POST /experiments":             {call: `/experiments {"fingerprint": "ab"}`, allowed: 200, needsUnlimited: true},

	"GET /healthz":      {"public", `/healthz`, 200, 0, false},
	"GET /readyz":       {"public", `/readyz`, 200, 0, false},
	"GET /openapi.yaml": {"public", `/openapi.yaml`, 200, 0, false},
	"GET /docs":         {"public", `/docs`, 200, 0, false},
}

// scopes maps the scope of a token to whether it covers etl_… of blue.
var scopes = map[string]bool{
	"": true, "@blue": true, "@/etl_": true, "@blue/etl_": true,
	"@red": false, "@/ml_": false, "@blue/ml_": false, "@red/etl_": false, "@blu": false, "@blue/etl_load_and_more": false,
}

// allTokens configures one token for each role and scope, named after its grant, and a setup token
// that creates the data.
func allTokens(t *testing.T) httpapi.Config {
	grants := []string{"admin:" + sha("setup")}
	for _, role := range []string{"predict", "observe", "admin"} {
		for scope := range scopes {
			grants = append(grants, role+scope+":"+sha(role+scope))
		}
	}
	return tokens(t, grants...)
}

// findViolations calls every operation with every token, each on its own task. It returns the
// number of calls and the answers that differ from the matrix.
func findViolations(e *testEnv) (calls int, violations []string) {
	for name, rule := range matrix {
		try := func(secret string, want int) {
			calls++
			if got := e.callAs(rule, name, secret, calls); got != want {
				violations = append(violations, fmt.Sprintf("%s as %q: %d, not %d", name, secret, got, want))
			}
		}
		if rule.roles == "public" {
			try("", rule.allowed)
			try("unknown", rule.allowed)
			continue
		}
		try("", http.StatusUnauthorized)
		try("unknown", http.StatusUnauthorized)
		try(sha("setup"), http.StatusUnauthorized) // a stolen hash is no token
		for _, role := range []string{"predict", "observe", "admin"} {
			for scope, covers := range scopes {
				want := rule.allowed
				switch {
				case role != "admin" && !slices.Contains(strings.Fields(rule.roles), role):
					want = http.StatusForbidden
				case !covers && rule.outOfScope != 0:
					want = rule.outOfScope
				case scope != "" && rule.needsUnlimited:
					want = http.StatusForbidden
				}
				try(role+scope, want)
			}
		}
	}
	return calls, violations
}

// callAs makes call number nth and returns its status; for a batch that of its item.
func (e *testEnv) callAs(rule accessRule, name, secret string, nth int) int {
	e.t.Helper()
	dag := fmt.Sprintf("etl_load_%d", nth)
	id := ""
	if rule.outOfScope != 0 {
		e.post("/observe", `{"namespace": "blue", "dag_id": "`+dag+`", "task_id": "t", "run_id": "r", "outcome": "success", "usage_series": {"step_seconds": 1, "memory_bytes": [1]}}`, bearer("setup"))
		id = e.post("/predict", `{"namespace": "blue", "dag_id": "`+dag+`", "task_id": "t", "run_id": "a", "requested": {"memory": "1Gi"}}`,
			bearer("setup")).json()["prediction_id"].(string)
	}
	method, _, _ := strings.Cut(name, " ")
	target, body, _ := strings.Cut(strings.NewReplacer("{dag}", dag, "{id}", id).Replace(rule.call), " ")
	var options []option
	if secret != "" {
		options = append(options, bearer(secret))
	}
	a := e.do(method, target, body, options...)
	if a.status != http.StatusOK || !strings.HasSuffix(target, "/batch") {
		return a.status
	}
	var batch struct {
		Predictions, Results []struct{ Error *struct{ Status int } }
	}
	a.into(&batch)
	item := append(batch.Predictions, batch.Results...)
	require.Len(e.t, item, 1)
	if item[0].Error != nil && item[0].Error.Status != http.StatusNotFound { // 404: the item has no static request
		return item[0].Error.Status
	}
	return a.status
}

func TestEveryOperationHasAnAccessRule(t *testing.T) {
	spec, _ := loadOpenAPI(t)
	unused := map[string]bool{}
	for name := range matrix {
		unused[name] = true
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			rule, ok := matrix[name]
			if !assert.True(t, ok, "%s has no access rule", name) {
				continue
			}
			delete(unused, name)
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
				assert.NotEmpty(t, listed, "%s has no x-roles", name)
			}
			assert.ElementsMatch(t, strings.Fields(rule.roles), roles, name)
		}
	}
	assert.Empty(t, unused, "rules without an operation")
}

func TestEveryTokenHasExactlyItsPermissions(t *testing.T) {
	e := newTestEnv(t, allTokens(t))
	calls, violations := findViolations(e)
	assert.Empty(t, violations)
	t.Logf("%d calls of %d operations, %d violations", calls, len(matrix), len(violations))
	assert.Greater(t, calls, 500)
}

// The check of the matrix must be able to fail.
func TestAccessMatrixDetectsViolations(t *testing.T) {
	for name, swap := range map[string][2]string{
		"a role with too many permissions": {"observe", "admin"},
		"a scope without effect":           {"admin@blue/ml_", "admin"},
		"an unknown token is accepted":     {"unknown", "predict"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, allTokens(t))
			handler := e.handler
			e.handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer "+swap[0] {
					r.Header.Set("Authorization", "Bearer "+swap[1])
				}
				handler.ServeHTTP(out, r)
			})
			_, violations := findViolations(e)
			require.NotEmpty(t, violations)
			for _, violation := range violations {
				assert.Contains(t, violation, fmt.Sprintf("as %q", swap[0]))
			}
		})
	}
}
