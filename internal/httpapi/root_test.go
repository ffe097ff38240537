package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
)

func TestLinksOfTheRootExist(t *testing.T) {
	for name, cfg := range map[string]httpapi.Config{"no token is needed": noAuth, "callers need a token": tokens(t, "predict:"+sha("secret"))} {
		e := newTestEnv(t, cfg)
		for _, accept := range []string{"", "*/*", "application/json"} {
			rec := requestRoot(e.handler, http.MethodGet, accept)
			require.Equal(t, http.StatusOK, rec.Code, "%s: %s", name, rec.Body)
			assert.Equal(t, "application/json", rec.Header().Get("Content-Type"))
			var root struct{ Links map[string]string }
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &root))
			assert.Len(t, root.Links, 4)
			for name, path := range root.Links {
				assert.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, e.do(http.MethodGet, path, "").status, name)
			}
		}
		assert.Equal(t, http.StatusOK, requestRoot(e.handler, http.MethodHead, "").Code, name)
		assert.NotEqual(t, http.StatusOK, requestRoot(e.handler, http.MethodPost, "").Code, name)
	}
}
