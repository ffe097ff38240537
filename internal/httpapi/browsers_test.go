package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/httpapi"
)

// Where no token is asked for, a page that somebody opens on the same machine must
// not act as they might.
func TestAWebPageOfAnotherHostIsNotThisMachine(t *testing.T) {
	w := newWorld(t, httpapi.Config{Auth: httpapi.Auth{Off: true, Wary: true}})
	host := func(name string) option { return func(r *http.Request) { r.Host = name } }
	for claim, c := range map[string]struct {
		call    string
		options []option
		want    int
	}{
		"curl":                            {"POST /tasks/d/t/train", []option{host("127.0.0.1:8080")}, 404},
		"curl by name":                    {"GET /tasks", []option{host("localhost:8080")}, 200},
		"over IPv6":                       {"GET /tasks", []option{host("[::1]:8080")}, 200},
		"a name of this network":          {"GET /tasks", []option{host("host.docker.internal:8080")}, 200},
		"a name without a dot":            {"GET /tasks", []option{host("airflow-dev")}, 200},
		"a browser that shows /docs":      {"GET /docs", []option{host("localhost:8080"), header("Sec-Fetch-Site", "none")}, 200},
		"a link from another page":        {"GET /docs", []option{host("localhost:8080"), header("Sec-Fetch-Site", "cross-site")}, 200},
		"another page's form":             {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Sec-Fetch-Site", "cross-site")}, 403},
		"another port's form":             {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Sec-Fetch-Site", "same-site")}, 403},
		"an older browser's form":         {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Origin", "http://evil.example")}, 403},
		"a name that was made to point":   {"GET /tasks", []option{host("evil.example:8080")}, 403},
		"what is public":                  {"GET /openapi.yaml", []option{host("rebind.evil.example")}, 200},
		"a name with a dot behind":        {"GET /tasks", []option{host("evil.example.")}, 403},
		"a name that ends like this one":  {"GET /tasks", []option{host("localhost.evil.example")}, 403},
		"a page that deletes by its name": {"DELETE /tasks/d/t", []option{host("evil.example:8080"), header("Origin", "http://evil.example:8080")}, 403},
	} {
		method, target, _ := strings.Cut(c.call, " ")
		a := w.do(method, target, "", c.options...)
		assert.Equal(t, c.want, a.status, "%s: %s", claim, a.body)
	}
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil)
	r.Host = "evil.example"
	httpapi.Admin(w.metrics, httpapi.Auth{Off: true, Wary: true}).ServeHTTP(rec, r)
	assert.Equal(t, http.StatusForbidden, rec.Code)
}

func TestWithTokensAnyNameIsServed(t *testing.T) {
	w := newWorld(t, tokens(t, "admin:"+sha("secret")))
	a := w.do(http.MethodGet, "/tasks", "", bearer("secret"), func(r *http.Request) { r.Host = "loadaware.example.org" })
	assert.Equal(t, http.StatusOK, a.status)
}

// A profile shows the memory, and in it whatever is secret.
func TestProfilesAreForAdminsOfEverything(t *testing.T) {
	auth := tokens(t, "admin:"+sha("all"), "admin@blue:"+sha("blue"), "admin@/etl_:"+sha("etl"), "predict:"+sha("asks")).Auth
	admin := httpapi.Admin(httpapi.NewMetrics(), auth)
	for _, c := range []struct {
		path, secret string
		want         int
	}{
		{"/metrics", "", 200},
		{"/debug/pprof/", "", 401}, {"/debug/pprof/", "nobody's", 401}, {"/debug/pprof/", "asks", 401},
		{"/debug/pprof/heap", "blue", 401}, {"/debug/pprof/heap", "etl", 401}, {"/debug/pprof/heap", "all", 200},
		{"/debug/pprof/cmdline", "", 401}, {"/debug/pprof/cmdline", "all", 404},
		{"/tasks", "all", 404},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		if c.secret != "" {
			bearer(c.secret)(r)
		}
		admin.ServeHTTP(rec, r)
		assert.Equal(t, c.want, rec.Code, "%s as %q", c.path, c.secret)
	}
}

// What a browser is told of every answer, whatever became of it.
func TestEveryAnswerIsSafeToShowInABrowser(t *testing.T) {
	w := newWorld(t, tokens(t, "predict:"+sha("secret")))
	for _, path := range []string{"/docs", "/openapi.yaml", "/healthz", "/tasks", "/no/such/path", "/predict?dag_id=%00"} {
		for _, options := range [][]option{nil, {bearer("secret")}} {
			h := w.do(http.MethodGet, path, "", options...).header
			assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "no-store", h.Get("Cache-Control"), path)
			assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
			policy := h.Get("Content-Security-Policy")
			for _, rule := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "style-src 'sha256-"} {
				assert.Contains(t, policy, rule, path)
			}
			assert.NotContains(t, policy, "unsafe", path)
			assert.Empty(t, h.Get("Access-Control-Allow-Origin"), "no other page may read an answer")
		}
	}
}

// The policy lets the page's own style pass and nothing else: the page needs
// nothing else.
func TestThePageNeedsNoMoreThanItsPolicyAllows(t *testing.T) {
	w := newWorld(t, everybody)
	a := w.do(http.MethodGet, "/docs", "")
	html := string(a.body)
	style := html[strings.Index(html, "<style>")+len("<style>") : strings.Index(html, "</style>")]
	sum := sha256.Sum256([]byte(style))
	assert.Contains(t, a.header.Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the hash is that of the style as it is sent")
	for _, needs := range []string{"<script", "<img", "<iframe", "<link", "<form", "style=\"", "onclick", "src=", "@import", "url("} {
		assert.NotContains(t, html, needs)
	}
}
