package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// savedExperiment is a body of POST /experiments. The SHA-256 of its blob, "abc", begins with
// ba7816bf (FIPS 180-2, B.1).
const savedExperiment = `{"name": %q, "fingerprint": "abcd", "parameters": {"seeds": 2}, "report": {"trace": "retail.csv"},
	"rows": [{"task": "a", "family": "final"}, {"task": "a", "family": "svm"}, {"task": "b", "family": "final"}],
	"models": [{"task": "a", "family": "serving", "blob": "YWJj"}]}`

func TestSavedExperimentIsReadBack(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for id, name := range []string{"first try", "50 % / half", "ünïcode"} {
		a := e.do(http.MethodPost, "/experiments", fmt.Sprintf(savedExperiment, name))
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		assert.JSONEq(t, fmt.Sprintf(`{"saved": true, "id": %d}`, id+1), string(a.body))

		var byID, byName api.Experiment
		e.do(http.MethodGet, fmt.Sprintf("/experiments/%d", id+1), "").into(&byID)
		e.do(http.MethodGet, "/experiments/"+url.PathEscape(name)+"?blobs=true", "").into(&byName)
		assert.Equal(t, name, *byID.Name)
		assert.JSONEq(t, `{"seeds": 2}`, string(byID.Parameters))
		assert.JSONEq(t, `{"trace": "retail.csv"}`, string(byID.Report))
		assert.Nil(t, byID.Models[0].Blob)
		assert.Equal(t, 3, byID.Models[0].Bytes)
		assert.True(t, strings.HasPrefix(byID.Models[0].Sha256, "ba7816bf8f01"))
		assert.Equal(t, "abc", string(*byName.Models[0].Blob))
		byName.Models[0].Blob = nil
		assert.Equal(t, byID, byName)
	}
}

func TestPagesContainEveryExperimentOnce(t *testing.T) {
	e := newTestEnv(t, noAuth)
	assert.JSONEq(t, `{"experiments": [], "next_cursor": null}`, string(e.do(http.MethodGet, "/experiments", "").body))
	for range 5 {
		e.post("/experiments", `{}`)
	}
	e.post("/experiments", fmt.Sprintf(savedExperiment, "last"))
	var ids []int64
	cursor := ""
	for range 10 {
		var page api.ExperimentPage
		e.do(http.MethodGet, "/experiments?limit=2&cursor="+cursor, "").into(&page)
		for _, summary := range page.Experiments {
			ids = append(ids, summary.ID)
			if summary.ID == 6 {
				assert.Equal(t, []any{3, []string{"a", "b"}, []string{"final", "svm"}}, []any{summary.Rows, summary.Tasks, summary.Families})
			}
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	assert.Equal(t, []int64{6, 5, 4, 3, 2, 1}, ids)
	for _, large := range []string{"2147483648", "9007199254740992", "9223372036854775807"} {
		var page api.ExperimentPage
		e.do(http.MethodGet, "/experiments?limit=1&cursor="+large, "").into(&page)
		assert.Len(t, page.Experiments, 1, large)
	}
	for _, bad := range []string{"?limit=0", "?limit=1001", "?cursor=abc", "?cursor=-1", "?cursor=9223372036854775808"} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.do(http.MethodGet, "/experiments"+bad, "").status, bad)
	}
}

func TestDryRunValidatesAndStoresNothing(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("a"), "observe:"+sha("o"), "admin@blue:"+sha("blue")))
	e.post("/experiments", `{"name": "taken"}`, bearer("a"))
	for body, c := range map[string]struct {
		secret string
		status int
	}{
		`{"name": "free"}`:           {"a", http.StatusOK},
		`{}`:                         {"a", http.StatusOK},
		`{"name": "taken"}`:          {"a", http.StatusConflict},
		`{"name": "7"}`:              {"a", http.StatusUnprocessableEntity},
		`{"name": "by an observer"}`: {"o", http.StatusForbidden},
		`{"name": "by an admin of another scope"}`: {"blue", http.StatusForbidden},
		`{"name": "a\u0000b"}`:                     {"a", http.StatusUnprocessableEntity},
		`{"rows": {}}`:                             {"a", http.StatusUnprocessableEntity},
		`{"parameters": []}`:                       {"a", http.StatusUnprocessableEntity},
		`{"report": []}`:                           {"a", http.StatusUnprocessableEntity},
		`{"rows": [[{"task": "a"}]]}`:              {"a", http.StatusUnprocessableEntity},
		`{"rows": [{}, 1]}`:                        {"a", http.StatusUnprocessableEntity},
		`{"rows": [null]}`:                         {"a", http.StatusUnprocessableEntity},
		`null`:                                     {"a", http.StatusBadRequest},
		`{"name": null}`:                           {"a", http.StatusUnprocessableEntity},
		`{"name": ""}`:                             {"a", http.StatusUnprocessableEntity},
		`{"fingerprint": null}`:                    {"a", http.StatusUnprocessableEntity},
		`{"parameters": null}`:                     {"a", http.StatusUnprocessableEntity},
		`{"rows": null}`:                           {"a", http.StatusUnprocessableEntity},
		`{"report": null}`:                         {"a", http.StatusUnprocessableEntity},
		`{"models": null}`:                         {"a", http.StatusUnprocessableEntity},
		`{"models": [null]}`:                       {"a", http.StatusUnprocessableEntity},
		`{"models": [{"task": null, "family": "b", "blob": "YWJj"}]}`:                                                                             {"a", http.StatusUnprocessableEntity},
		`{"models": [{"task": "a", "family": "b", "blob": null}]}`:                                                                                {"a", http.StatusUnprocessableEntity},
		`{"models": [` + strings.Repeat(`{"task": "a", "family": "b", "blob": "YWJj"},`, 1000) + `{"task": "a", "family": "b", "blob": "YWJj"}]}`: {"a", http.StatusUnprocessableEntity},
		`{"unknown": 1}`: {"a", http.StatusUnprocessableEntity},
		`{"models": [{"task": "a", "family": "b", "blob": ""}]}`: {"a", http.StatusUnprocessableEntity},
	} {
		for _, target := range []string{"/experiments?dry_run=true", "/experiments"} {
			if c.status == http.StatusOK && target == "/experiments" {
				continue
			}
			a := e.do(http.MethodPost, target, body, bearer(c.secret))
			assert.Equal(t, c.status, a.status, "%s %s: %s", target, body, a.body)
		}
	}
	var page api.ExperimentPage
	e.do(http.MethodGet, "/experiments", "", bearer("a")).into(&page)
	assert.Len(t, page.Experiments, 1, "only the first one is stored")
}

func TestRowsOfAnExperimentAreStoredUnchanged(t *testing.T) {
	e := newTestEnv(t, noAuth)
	rows := []map[string]any{{"task": "a", "family": "f", "u_score": 1e-300, "bins_gb": []any{0.1, 1e300}, "note": "\u2028 ' \" \\"}}
	body, err := json.Marshal(map[string]any{"rows": rows})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, e.do(http.MethodPost, "/experiments", string(body)).status)
	var got struct{ Rows []map[string]any }
	e.do(http.MethodGet, "/experiments/1", "").into(&got)
	assert.Equal(t, rows, got.Rows)
}
