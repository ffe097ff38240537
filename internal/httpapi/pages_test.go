package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/httpapi"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// requestRoot requests / with an Accept header. openapi.yaml does not contain /, so the answer is not
// validated.
func requestRoot(handler http.Handler, method, accept string, options ...option) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", nil)
	r.Host = "localhost:8080"
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	for _, change := range options {
		change(r)
	}
	handler.ServeHTTP(rec, r)
	return rec
}

// fixedPages implements httpapi.Pages. It answers every path below /ui with the path itself.
type fixedPages struct{}

func (fixedPages) Handles(path string) bool { return strings.HasPrefix(path, "/ui") }
func (fixedPages) Home() string             { return "/prefix/ui/" }
func (fixedPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, r.URL.Path)
}

func TestRootRedirectsBrowsersToThePages(t *testing.T) {
	for name, cfg := range map[string]httpapi.Config{"a server without tokens": noAuth, "a server with tokens": tokens(t, "admin:"+sha("secret"))} {
		cfg.Pages = fixedPages{}
		e := newTestEnv(t, cfg)
		rec := requestRoot(e.handler, http.MethodGet, browserAccept, fetch("none", "navigate", "document"))
		assert.Equal(t, http.StatusSeeOther, rec.Code, name)
		assert.Equal(t, "/prefix/ui/", rec.Header().Get("Location"), name)
		assert.Equal(t, "application/json", requestRoot(e.handler, http.MethodGet, "*/*").Header().Get("Content-Type"), name)
		rec = httptest.NewRecorder()
		e.handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/ui/tasks", nil))
		assert.Equal(t, "/ui/tasks", rec.Body.String(), "the API must not require a token for a page, which identifies its callers itself: %s", name)
	}
}

func TestPagesHaveTheirOwnRouteInMetrics(t *testing.T) {
	cfg := noAuth
	cfg.Pages = fixedPages{}
	e := newTestEnv(t, cfg)
	e.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/ui/tasks", nil))
	rec := httptest.NewRecorder()
	httpapi.NewAdmin(e.metrics, noAuth.Auth).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Contains(t, rec.Body.String(), `loadaware_http_requests_total{route="GET /ui/",status="200"} 1`)
}

func TestRootReturnsLinksIfTheClientIsNoBrowser(t *testing.T) {
	cfg := noAuth
	cfg.Pages = fixedPages{}
	e := newTestEnv(t, cfg)
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0", "text/*", "text/html-like", "text/html;q=x", ";,;"} {
		rec := requestRoot(e.handler, http.MethodGet, accept)
		assert.Equal(t, http.StatusOK, rec.Code, accept)
		assert.Equal(t, "application/json", rec.Header().Get("Content-Type"), accept)
	}
	for _, accept := range []string{"text/html", "application/xml, text/html;q=0.5", ";,text/html"} {
		assert.Equal(t, http.StatusSeeOther, requestRoot(e.handler, http.MethodGet, accept).Code, accept)
	}
	assert.Equal(t, http.StatusNotFound, requestRoot(e.handler, http.MethodPost, browserAccept).Code)
}

func TestRootReturnsLinksIfThereAreNoPages(t *testing.T) {
	withTokens := newTestEnv(t, tokens(t, "admin:"+sha("secret")))
	assert.Equal(t, http.StatusOK, requestRoot(withTokens.handler, http.MethodGet, "*/*").Code)
	assert.Equal(t, http.StatusUnauthorized, requestRoot(withTokens.handler, http.MethodPost, "*/*").Code)
	rec := requestRoot(withTokens.handler, http.MethodGet, browserAccept)
	assert.Equal(t, "application/json", rec.Header().Get("Content-Type"), "without pages a browser must get JSON, too")
}
