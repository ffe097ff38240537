package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trail is one page of the audit trail.
type trail struct {
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

func (w *world) trail(query, secret string) (page trail) {
	w.t.Helper()
	a := w.do(http.MethodGet, "/audit"+query, "", bearer(secret))
	require.Equal(w.t, http.StatusOK, a.status, "%s", a.body)
	a.into(&page)
	return page
}

func TestThePolicyOfATaskSaysWhoChangedIt(t *testing.T) {
	w := newWorld(t, tokens(t, "ada=admin:"+sha("a"), "bob=admin@/ml_:"+sha("b"), "admin:"+sha("c")))
	for dag, secret := range map[string]string{"etl": "a", "ml_x": "b"} {
		a := w.do(http.MethodPut, "/tasks/"+dag+"/t/policy", `{"mode": "shadow"}`, bearer(secret))
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	}
	w.do(http.MethodPut, "/tasks/etl/t/policy", `{"cap": "4Gi"}`, bearer("c"))

	all := w.trail("?dag_id=etl", "a").Entries
	require.Len(t, all, 2)
	assert.Equal(t, []string{"token " + sha("c")[:8], "policy changed"}, []string{all[0].Who, all[0].Action})
	assert.Equal(t, "shadow", all[0].Before["mode"], "as policies are answered elsewhere")
	assert.Equal(t, []any{"enforce", "4Gi"}, []any{all[0].After["mode"], all[0].After["cap"]})
	assert.Equal(t, "ada", all[1].Who)
	assert.Nil(t, all[1].Before)

	own := w.trail("", "b").Entries
	require.Len(t, own, 1, "others' tasks are not shown")
	assert.Equal(t, []string{"bob", "ml_x"}, []string{own[0].Who, own[0].DagID})

	first := w.trail("?limit=2", "a")
	require.Len(t, first.Entries, 2)
	require.NotNil(t, first.NextCursor)
	rest := w.trail("?limit=2&cursor="+*first.NextCursor, "a")
	require.Len(t, rest.Entries, 1)
	assert.Nil(t, rest.NextCursor)
	for _, bad := range []string{"?limit=0", "?cursor=abc", "?cursor=-1", "?dag_id=", "?task_id=a%2Fb"} {
		assert.Equal(t, http.StatusUnprocessableEntity, w.do(http.MethodGet, "/audit"+bad, "", bearer("a")).status, bad)
	}
}

func TestAnActivatedModelStaysUntilItIsUnpinned(t *testing.T) {
	w := newWorld(t, everybody)
	const task = "/tasks/pricing/predict_demand"
	w.history(80)
	train := func() map[string]any { return w.do(http.MethodPost, task+"/train", "").json() }
	require.Equal(t, true, train()["published"])
	require.Equal(t, http.StatusOK, w.do(http.MethodPost, task+"/models/1/activate", "").status)
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
	w.do(http.MethodGet, task+"/models", "").into(&list)
	require.NotNil(t, list.Models[len(list.Models)-1].PinnedBy)
	assert.Equal(t, "local", *list.Models[len(list.Models)-1].PinnedBy)

	assert.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, task+"/pin", "").status)
	assert.Equal(t, true, train()["published"])
	assert.Equal(t, http.StatusNotFound, w.do(http.MethodDelete, "/tasks/d/nobody/pin", "").status)

	var page trail
	w.do(http.MethodGet, "/audit?limit=4", "").into(&page)
	var told []string
	for _, e := range page.Entries {
		told = append(told, e.Who+": "+e.Action)
	}
	assert.Equal(t, []string{"local: model activated", "local: model unpinned", "local: model rolled back", "local: model activated"}, told)
}
