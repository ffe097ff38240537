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

// crowd is a world of tasks of two namespaces and three prefixes of dag_ids, one
// of them ("etl") within another.
func crowd(t *testing.T) (w *world, names []string) {
	var grants []string
	for _, grant := range []string{"admin", "observe@blue", "observe@blue/etl_", "observe@/etl_", "observe@/ml_", "observe@red/zz"} {
		grants = append(grants, grant+":"+sha(grant))
	}
	for _, grant := range []string{"observe@blue/ml_", "observe@red/etl_"} {
		grants = append(grants, grant+":"+sha("two scopes"))
	}
	w = newWorld(t, tokens(t, grants...))
	var rows []string
	for _, ns := range []string{"blue", "red"} {
		for _, dag := range []string{"a", "etl", "etl_a", "etl_b", "hr_1", "hr_2", "hr_3", "ml_x", "web"} {
			rows = append(rows, fmt.Sprintf(`{"namespace": %q, "dag_id": %q, "task_id": "t", "run_id": "r", "outcome": "success"}`, ns, dag))
			names = append(names, ns+"/"+dag)
		}
	}
	w.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer("admin"))
	return w, names
}

// sees are the tasks that a token may see, by another way than the service's.
func sees(token string, names []string) (seen []string) {
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
			seen = append(seen, name)
		}
	}
	return seen
}

func TestAListShowsAllOfTheCallersTasksAndNoOther(t *testing.T) {
	w, names := crowd(t)
	for _, token := range []string{"admin", "observe@blue", "observe@blue/etl_", "observe@/etl_", "observe@/ml_", "observe@red/zz", "two scopes"} {
		for _, limit := range []int{1, 2, 3, 1000} {
			var listed []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				require.Less(t, pages, 30, "pages end")
				var page struct {
					Tasks []struct {
						Namespace string
						DagID     string `json:"dag_id"`
					}
					NextCursor *string `json:"next_cursor"`
				}
				a := w.do(http.MethodGet, fmt.Sprintf("/tasks?limit=%d&cursor=%s", limit, cursor), "", bearer(token))
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
					assert.Equal(t, listed[len(listed)-1]+"/t", string(key), "a cursor tells what was shown and no more")
				}
			}
			assert.Equal(t, sees(token, names), listed, "%s by %d", token, limit)
		}
	}
}

func TestABatchAnswersForEachItemByItsOwnScope(t *testing.T) {
	w, names := crowd(t)
	for _, token := range []string{"observe@blue/etl_", "observe@/ml_", "two scopes"} {
		var rows []string
		for _, name := range names {
			ns, dag, _ := strings.Cut(name, "/")
			rows = append(rows, fmt.Sprintf(`{"namespace": %q, "dag_id": %q, "task_id": "t", "run_id": "again", "outcome": "success"}`, ns, dag))
		}
		var told struct{ Results []struct{ Recorded bool } }
		w.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer(token)).into(&told)
		var taken []string
		for i, r := range told.Results {
			if r.Recorded {
				taken = append(taken, names[i])
			}
		}
		assert.Equal(t, sees(token, names), taken, token)
	}
}

// A refusal must not tell whether there is such a task.
func TestBeyondTheScopeNothingTellsWhatIsThere(t *testing.T) {
	w, _ := crowd(t)
	for _, call := range []string{"GET /tasks/{dag}/t?namespace=red", "GET /tasks/{dag}/t/models?namespace=red", "GET /tasks/{dag}/t/policy?namespace=red"} {
		method, target, _ := strings.Cut(call, " ")
		there := w.do(method, strings.ReplaceAll(target, "{dag}", "hr_1"), "", bearer("observe@blue/etl_")).json()
		none := w.do(method, strings.ReplaceAll(target, "{dag}", "hr_0"), "", bearer("observe@blue/etl_")).json()
		assert.EqualValues(t, http.StatusForbidden, there["status"])
		assert.Equal(t, none["detail"], strings.ReplaceAll(there["detail"].(string), "hr_1", "hr_0"), call)
	}
	a := w.do(http.MethodGet, "/tasks?namespace=red", "", bearer("observe@blue/etl_"))
	assert.Equal(t, http.StatusForbidden, a.status)
	assert.Contains(t, string(a.body), `dag_ids that begin with \"etl_\"`)
}
