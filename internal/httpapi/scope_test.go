package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newScopedEnv creates one task in each of nine DAGs, in each of two namespaces, and returns their names as
// namespace/dag_id. The dag_id "etl" is a prefix of two other dag_ids.
func newScopedEnv(t *testing.T) (e *testEnv, names []string) {
	var grants []string
	for _, grant := range []string{"admin", "observe@blue", "observe@blue/etl_", "observe@/etl_", "observe@/ml_", "observe@red/zz"} {
		grants = append(grants, grant+":"+sha(grant))
	}
	for _, grant := range []string{"observe@blue/ml_", "observe@red/etl_"} {
		grants = append(grants, grant+":"+sha("two scopes"))
	}
	e = newTestEnv(t, tokens(t, grants...))
	var rows []string
	for _, ns := range []string{"blue", "red"} {
		for _, dag := range []string{"a", "etl", "etl_a", "etl_b", "hr_1", "hr_2", "hr_3", "ml_x", "web"} {
			rows = append(rows, fmt.Sprintf(`{"namespace": %q, "dag_id": %q, "task_id": "t", "run_id": "r", "outcome": "success"}`, ns, dag))
			names = append(names, ns+"/"+dag)
		}
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer("admin"))
	return e, names
}

// visibleTo returns the tasks in the scope of a token, computed independently of the service.
func visibleTo(token string, names []string) (visible []string) {
	for _, name := range names {
		ns, dag, _ := strings.Cut(name, "/")
		if map[string]bool{
			"admin":             true,
			"observe@blue":      ns == "blue",
			"observe@blue/etl_": ns == "blue" && strings.HasPrefix(dag, "etl_"),
			"observe@/etl_":     strings.HasPrefix(dag, "etl_"),
			"observe@/ml_":      strings.HasPrefix(dag, "ml_"),
			"two scopes":        ns == "blue" && strings.HasPrefix(dag, "ml_") || ns == "red" && strings.HasPrefix(dag, "etl_"),
		}[token] {
			visible = append(visible, name)
		}
	}
	return visible
}

func TestTaskListShowsExactlyTheTasksInScope(t *testing.T) {
	e, names := newScopedEnv(t)
	for _, token := range []string{"admin", "observe@blue", "observe@blue/etl_", "observe@/etl_", "observe@/ml_", "observe@red/zz", "two scopes"} {
		for _, limit := range []int{1, 2, 3, 1000} {
			var listed []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				require.Less(t, pages, 30, "the last page has no cursor")
				var page struct {
					Tasks []struct {
						Namespace string
						DagID     string `json:"dag_id"`
					}
					NextCursor *string `json:"next_cursor"`
				}
				a := e.do(http.MethodGet, fmt.Sprintf("/tasks?limit=%d&cursor=%s", limit, cursor), "", bearer(token))
				require.Equal(t, http.StatusOK, a.status, string(a.body))
				a.into(&page)
				require.LessOrEqual(t, len(page.Tasks), limit)
				for _, task := range page.Tasks {
					listed = append(listed, task.Namespace+"/"+task.DagID)
				}
				cursor = ""
				if page.NextCursor != nil {
					cursor = *page.NextCursor
					key, err := base64.RawURLEncoding.DecodeString(cursor)
					require.NoError(t, err)
					assert.Equal(t, listed[len(listed)-1]+"/t", string(key), "the cursor contains only the last task of the page")
				}
			}
			assert.Equal(t, visibleTo(token, names), listed, "token %s, pages of %d tasks", token, limit)
		}
	}
}

func TestBatchChecksTheScopeOfEachItem(t *testing.T) {
	e, names := newScopedEnv(t)
	for _, token := range []string{"observe@blue/etl_", "observe@/ml_", "two scopes"} {
		var rows []string
		for _, name := range names {
			ns, dag, _ := strings.Cut(name, "/")
			rows = append(rows, fmt.Sprintf(`{"namespace": %q, "dag_id": %q, "task_id": "t", "run_id": "again", "outcome": "success"}`, ns, dag))
		}
		var answer struct{ Results []struct{ Recorded bool } }
		e.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer(token)).into(&answer)
		var recorded []string
		for i, r := range answer.Results {
			if r.Recorded {
				recorded = append(recorded, names[i])
			}
		}
		assert.Equal(t, visibleTo(token, names), recorded, token)
	}
}

// A 403 must not reveal whether the task exists.
func TestScopeErrorsDoNotRevealExistingTasks(t *testing.T) {
	e, _ := newScopedEnv(t)
	for _, call := range []string{"GET /tasks/{dag}/t?namespace=red", "GET /tasks/{dag}/t/models?namespace=red", "GET /tasks/{dag}/t/policy?namespace=red"} {
		method, target, _ := strings.Cut(call, " ")
		existing := e.do(method, strings.ReplaceAll(target, "{dag}", "hr_1"), "", bearer("observe@blue/etl_")).json()
		missing := e.do(method, strings.ReplaceAll(target, "{dag}", "hr_0"), "", bearer("observe@blue/etl_")).json()
		assert.EqualValues(t, http.StatusForbidden, existing["status"])
		assert.Equal(t, missing["detail"], strings.ReplaceAll(existing["detail"].(string), "hr_1", "hr_0"), call)
	}
	a := e.do(http.MethodGet, "/tasks?namespace=red", "", bearer("observe@blue/etl_"))
	assert.Equal(t, http.StatusForbidden, a.status)
	assert.Contains(t, string(a.body), `dag_ids that begin with \"etl_\"`)
}
