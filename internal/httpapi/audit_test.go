package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type auditPage struct {
	Entries []struct {
		ID            int64
		Who           string
		Action        string
		DagID         string `json:"dag_id"`
		Before, After map[string]any
		Reason        *string
	}
	NextCursor *string `json:"next_cursor"`
}

// audit gets a page of the audit trail; `query` is "" or begins with a question mark.
func (e *testEnv) audit(query, secret string) (page auditPage) {
	e.t.Helper()
	a := e.do(http.MethodGet, "/audit"+query, "", bearer(secret))
	require.Equal(e.t, http.StatusOK, a.status, "%s", a.body)
	a.into(&page)
	return page
}

func TestAuditTrailNamesTheAuthorOfAPolicy(t *testing.T) {
	e := newTestEnv(t, tokens(t, "ada=admin:"+sha("a"), "bob=admin@/ml_:"+sha("b"), "admin:"+sha("c")))
	for dag, secret := range map[string]string{"etl": "a", "ml_x": "b"} {
		a := e.do(http.MethodPut, "/tasks/"+dag+"/t/policy", `{"mode": "shadow"}`, bearer(secret))
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	}
	e.do(http.MethodPut, "/tasks/etl/t/policy", `{"cap": "4Gi"}`, bearer("c"))

	all := e.audit("?dag_id=etl", "a").Entries
	require.Len(t, all, 2)
	assert.Equal(t, []string{"token " + sha("c")[:8], "policy changed"}, []string{all[0].Who, all[0].Action})
	assert.Equal(t, "shadow", all[0].Before["mode"], "the entry has the policy in the form of GET …/policy")
	assert.Equal(t, []any{"enforce", "4Gi"}, []any{all[0].After["mode"], all[0].After["cap"]})
	assert.Equal(t, "ada", all[1].Who)
	assert.Nil(t, all[1].Before)

	visible := e.audit("", "b").Entries
	require.Len(t, visible, 1, "tasks of other scopes are hidden")
	assert.Equal(t, []string{"bob", "ml_x"}, []string{visible[0].Who, visible[0].DagID})

	first := e.audit("?limit=2", "a")
	require.Len(t, first.Entries, 2)
	require.NotNil(t, first.NextCursor)
	rest := e.audit("?limit=2&cursor="+*first.NextCursor, "a")
	require.Len(t, rest.Entries, 1)
	assert.Nil(t, rest.NextCursor)
	for _, bad := range []string{"?limit=0", "?cursor=abc", "?cursor=-1", "?dag_id=", "?task_id=a%2Fb"} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.do(http.MethodGet, "/audit"+bad, "", bearer("a")).status, bad)
	}
}

func TestActivatedModelStaysUntilUnpinned(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const task = "/tasks/pricing/predict_demand"
	e.reportHistory(80)
	train := func() map[string]any { return e.do(http.MethodPost, task+"/train", "").json() }
	require.Equal(t, true, train()["published"])
	require.Equal(t, http.StatusOK, e.do(http.MethodPost, task+"/models/1/activate", "").status)
	pinned := train()
	assert.Equal(t, []any{false, 1.0}, []any{pinned["published"], pinned["version"]})
	assert.Contains(t, pinned["reason"], "version 1 is pinned by local")
	var list struct {
		Models []struct {
			Version   int
			PinnedBy  *string `json:"pinned_by"`
			Withdrawn bool
		}
	}
	e.do(http.MethodGet, task+"/models", "").into(&list)
	require.NotNil(t, list.Models[len(list.Models)-1].PinnedBy)
	assert.Equal(t, "local", *list.Models[len(list.Models)-1].PinnedBy)

	assert.Equal(t, http.StatusNoContent, e.do(http.MethodDelete, task+"/pin", "").status)
	assert.Equal(t, true, train()["published"])
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodDelete, "/tasks/d/unknown/pin", "").status)

	var page auditPage
	e.do(http.MethodGet, "/audit?limit=4", "").into(&page)
	var changes []string
	for _, entry := range page.Entries {
		changes = append(changes, entry.Who+": "+entry.Action)
	}
	assert.Equal(t, []string{"local: model activated", "local: model unpinned", "local: model rolled back", "local: model activated"}, changes)
}
