package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
)

func TestAProgramAtTheRootGetsLinks(t *testing.T) {
	for claim, cfg := range map[string]httpapi.Config{"no token is needed": noAuth, "callers need a token": tokens(t, "predict:"+sha("secret"))} {
		w := newTestEnv(t, cfg)
		for _, accept := range []string{"", "*/*", "application/json"} {
			rec := getRoot(w.handler, http.MethodGet, accept)
			require.Equal(t, http.StatusOK, rec.Code, "%s: %s", claim, rec.Body)
			assert.Equal(t, "application/json", rec.Header().Get("Content-Type"))
			var root struct{ Links map[string]string }
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &root))
			assert.Len(t, root.Links, 4)
			for name, path := range root.Links {
				assert.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, w.do(http.MethodGet, path, "").status, name)
			}
		}
		assert.Equal(t, http.StatusOK, getRoot(w.handler, http.MethodHead, "").Code, claim)
		assert.NotEqual(t, http.StatusOK, getRoot(w.handler, http.MethodPost, "").Code, claim)
	}
}

func TestANumberInAQueryMayHaveSpacesAround(t *testing.T) {
	w := newTestEnv(t, noAuth)
	for _, value := range []string{"50", "%2050", "50%20"} {
		answer := w.do(http.MethodGet, "/predict?dag_id=etl&task_id=load&memory=1Gi&x="+value, "")
		assert.Equal(t, http.StatusOK, answer.status, value)
	}
}
