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

// accessRule is the expected access control of one operation. The call may name the task {dag}/t of
// namespace blue, which has one run, and the prediction {id} of the task.
type accessRule struct {
	roles          string // sufficient roles except admin; "public" needs none
	call           string // target and body
	allowed        int    // status for a permitted token
	outOfScope     int    // status for a task outside the scope; 0 if the call names no task
	needsUnlimited bool   // rejects every token with a limited scope
}

var accessRules = map[string]accessRule{
	"POST /phase":         {"predict", `/phase {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "r", "elapsed_seconds": 1, "limit_bytes": 1000}`, 200, 403, false},
	"POST /predict":       {"predict", `/predict {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "requested": {"memory": "1Gi"}}`, 200, 403, false},
	"GET /predict":        {"predict", `/predict?namespace=blue&dag_id={dag}&task_id=t&memory=1Gi`, 200, 403, false},
	"POST /predict/batch": {"predict", `/predict/batch {"tasks": [{"namespace": "blue", "dag_id": "{dag}", "task_id": "t"}]}`, 200, 403, false},
	"POST /retry-lift": {"predict", `/retry-lift {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "k", "failed": {"memory": "1Gi"}}`,
		200, 403, false},
	"POST /explain":       {"predict", `/explain {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "requested": {"memory": "1Gi"}}`, 200, 403, false},
	"POST /observe":       {"observe", `/observe {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "o", "outcome": "success"}`, 200, 403, false},
	"POST /observe/batch": {"observe", `/observe/batch {"observations": [{"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "b", "outcome": "success"}]}`, 200, 403, false},
	"POST /observe/void":  {"observe", `/observe/void {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "run_id": "r"}`, 200, 403, false},

	"GET /tasks":                                               {"predict observe", `/tasks`, 200, 0, false},
	"GET /tasks/{dag_id}/{task_id}":                            {"predict observe", `/tasks/{dag}/t?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/models":                     {"predict observe", `/tasks/{dag}/t/models?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/policy":                     {"predict observe", `/tasks/{dag}/t/policy?namespace=blue`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/series":                     {"observe", `/tasks/{dag}/t/series?namespace=blue&run_id=r`, 200, 403, false},
	"GET /tasks/{dag_id}/{task_id}/runtime":                    {"predict observe", `/tasks/{dag}/t/runtime?namespace=blue`, 404, 403, false},
	"GET /tasks/{dag_id}/{task_id}/phases":                     {"predict observe", `/tasks/{dag}/t/phases?namespace=blue`, 404, 403, false},
	"GET /tasks/{dag_id}/{task_id}/runtime/whatif":             {"predict observe", `/tasks/{dag}/t/runtime/whatif?namespace=blue`, 404, 403, false},
	"PUT /dags/{dag_id}/structure":                             {"observe", `/dags/{dag}/structure?namespace=blue {"tasks": [{"task_id": "t", "upstream": []}]}`, 200, 403, false},
	"GET /dags/{dag_id}/forecast":                              {"predict observe", `/dags/{dag}/forecast?namespace=blue`, 404, 403, false},
	"GET /predictions/{prediction_id}":                         {"predict observe", `/predictions/{id}`, 200, 404, false},
	"GET /predictions/{prediction_id}/explanation":             {"predict observe", `/predictions/{id}/explanation`, 200, 404, false},
	"PUT /tasks/{dag_id}/{task_id}/policy":                     {"", `/tasks/{dag}/t/policy?namespace=blue {"mode": "shadow"}`, 200, 403, false},
	"POST /tasks/{dag_id}/{task_id}/models/{version}/activate": {"", `/tasks/{dag}/t/models/7/activate?namespace=blue`, 404, 403, false},
	"POST /tasks/{dag_id}/{task_id}/train":                     {"", `/tasks/{dag}/t/train?namespace=blue`, 200, 403, false},
	"POST /tasks/{dag_id}/{task_id}/rename":                    {"", `/tasks/{dag}/t/rename?namespace=blue {"namespace": "blue", "dag_id": "{dag}", "task_id": "u"}`, 200, 403, false},
	"DELETE /tasks/{dag_id}/{task_id}":                         {"", `/tasks/{dag}/t?namespace=blue`, 204, 403, false},
	"DELETE /tasks/{dag_id}/{task_id}/pin":                     {"", `/tasks/{dag}/t/pin?namespace=blue`, 204, 403, false},
	"GET /savings":                                             {"predict observe", `/savings`, 200, 0, false},
	"GET /report":                                              {"predict observe", `/report?static=true`, 200, 0, false},
	"GET /audit":                                               {"", `/audit?limit=1`, 200, 0, false},

	"POST /whatif":               {"predict observe", `/whatif {"namespace": "blue", "dag_id": "{dag}", "task_id": "t", "settings": []}`, 404, 403, false},
	"GET /whatif/{whatif_id}":    {roles: "predict observe", call: `/whatif/absent`, allowed: 404},
	"DELETE /whatif/{whatif_id}": {roles: "predict observe", call: `/whatif/absent`, allowed: 404},

	"GET /profiles":              {roles: "predict observe", call: `/profiles`, allowed: 404},
	"GET /profiles/{profile_id}": {roles: "predict observe", call: `/profiles/1`, allowed: 404},

	"GET /experiments":              {roles: "predict observe", call: `/experiments`, allowed: 200, needsUnlimited: true},
	"GET /experiments/{experiment}": {roles: "predict observe", call: `/experiments/absent`, allowed: 404, needsUnlimited: true},
	"POST /experiments":             {call: `/experiments {"fingerprint": "ab"}`, allowed: 200, needsUnlimited: true},

	"GET /campaigns":                             {roles: "campaign predict observe", call: `/campaigns`, allowed: 200},
	"POST /campaigns":                            {"campaign", `/campaigns {"name": "c", "namespace": "blue", "dag_id": "{dag}", "pool": "sandbox"}`, 200, 403, false},
	"GET /campaigns/{campaign}":                  {roles: "campaign predict observe", call: `/campaigns/999999`, allowed: 404},
	"POST /campaigns/{campaign}/claim":           {roles: "campaign", call: `/campaigns/999999/claim {"branch": "check_run", "limit": 1}`, allowed: 404},
	"POST /campaigns/{campaign}/pause":           {roles: "campaign", call: `/campaigns/999999/pause`, allowed: 404},
	"POST /campaigns/{campaign}/release":         {roles: "campaign", call: `/campaigns/999999/release {}`, allowed: 404},
	"POST /campaigns/{campaign}/resume":          {roles: "campaign", call: `/campaigns/999999/resume {}`, allowed: 404},
	"GET /campaigns/{campaign}/runs":             {roles: "campaign predict observe", call: `/campaigns/999999/runs`, allowed: 404},
	"POST /campaigns/{campaign}/runs":            {roles: "campaign", call: `/campaigns/999999/runs {"runs": [{"scenario": "s", "execution_date": "2020-01-03T00:00:00Z"}]}`, allowed: 404},
	"POST /campaigns/{campaign}/runs/{n}/reset":  {roles: "campaign", call: `/campaigns/999999/runs/1/reset {"to": 0}`, allowed: 404},
	"POST /campaigns/{campaign}/runs/{n}/result": {roles: "campaign", call: `/campaigns/999999/runs/1/result {"from": 10, "to": 11}`, allowed: 404},

	"GET /campaigns/{campaign}/runs/{n}/tasks": {roles: "campaign predict observe", call: `/campaigns/999999/runs/1/tasks`, allowed: 404},

	"GET /healthz":      {"public", `/healthz`, 200, 0, false},
	"GET /readyz":       {"public", `/readyz`, 200, 0, false},
	"GET /openapi.yaml": {"public", `/openapi.yaml`, 200, 0, false},
	"GET /docs":         {"public", `/docs`, 200, 0, false},
}

// scopes maps the scope of a token to whether it covers the tasks of callAs: DAGs etl_load_<number> of namespace blue.
var scopes = map[string]bool{
	"": true, "@blue": true, "@/etl_": true, "@blue/etl_": true,
	"@red": false, "@/ml_": false, "@blue/ml_": false, "@red/etl_": false, "@blu": false, "@blue/etl_load_and_more": false,
}

// allTokens configures one token for each role and scope, whose secret is the text of both, and the token
// "setup", which creates the data.
func allTokens(t *testing.T) httpapi.Config {
	grants := []string{"admin:" + sha("setup")}
	for _, role := range []string{"predict", "observe", "campaign", "admin"} {
		for scope := range scopes {
			grants = append(grants, role+scope+":"+sha(role+scope))
		}
	}
	return tokens(t, grants...)
}

// findViolations calls each operation of `rules` without a token, with invalid tokens and, unless it is public, with
// the token of each role and scope. Each call has its own DAG. findViolations returns the number of calls, and a
// description of each answer that differs from the rules.
func findViolations(e *testEnv, rules map[string]accessRule) (calls int, violations []string) {
	for name, rule := range rules {
		check := func(secret string, want int) {
			calls++
			if got := e.callAs(rule, name, secret, calls); got != want {
				violations = append(violations, fmt.Sprintf("%s as %q: %d, not %d", name, secret, got, want))
			}
		}
		if rule.roles == "public" {
			check("", rule.allowed)
			check("unknown", rule.allowed)
			continue
		}
		check("", http.StatusUnauthorized)
		check("unknown", http.StatusUnauthorized)
		check(sha("setup"), http.StatusUnauthorized) // a stolen hash is not a token
		for _, role := range []string{"predict", "observe", "campaign", "admin"} {
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
				check(role+scope, want)
			}
		}
	}
	return calls, violations
}

// callAs calls an operation and returns the status of the answer or, for a batch, of its item. Each call
// needs another number, from which the name of its DAG is derived.
func (e *testEnv) callAs(rule accessRule, name, secret string, number int) int {
	e.t.Helper()
	dag := fmt.Sprintf("etl_load_%d", number)
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
	for name := range accessRules {
		unused[name] = true
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			rule, ok := accessRules[name]
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
	assert.Empty(t, unused, "every access rule must have an operation")
}

func TestEveryTokenHasExactlyItsPermissions(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of requests take long; they run one after the other, so the race detector finds nothing here")
	}
	e := newTestEnv(t, allTokens(t))
	calls, violations := findViolations(e, accessRules)
	assert.Empty(t, violations)
	t.Logf("%d calls of %d operations, %d violations", calls, len(accessRules), len(violations))
	assert.Greater(t, calls, 500)
}

func TestFindViolationsDetectsWrongPermissions(t *testing.T) {
	for name, swap := range map[string][2]string{
		"a role with too many permissions": {"observe", "admin"},
		"a scope without effect":           {"admin@blue/ml_", "admin"},
		"an unknown token is accepted":     {"unknown", "predict"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, allTokens(t))
			handler := e.handler
			e.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer "+swap[0] {
					r.Header.Set("Authorization", "Bearer "+swap[1])
				}
				handler.ServeHTTP(w, r)
			})
			sample := map[string]accessRule{}
			for _, operation := range []string{"POST /predict", "GET /tasks/{dag_id}/{task_id}", "PUT /tasks/{dag_id}/{task_id}/policy"} {
				require.Contains(t, accessRules, operation)
				sample[operation] = accessRules[operation]
			}
			_, violations := findViolations(e, sample)
			require.NotEmpty(t, violations)
			for _, violation := range violations {
				assert.Contains(t, violation, fmt.Sprintf("as %q", swap[0]))
			}
		})
	}
}
