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
	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// The server has no tokens. A web page in a browser on the same machine must not change or read the data of the server.
func TestCrossOriginWritesAndPublicHostNamesAreRejected(t *testing.T) {
	e := newTestEnv(t, httpapi.Config{Auth: auth.Config{Disabled: true, CheckOrigin: true}})
	host := func(host string) option { return func(r *http.Request) { r.Host = host } }
	for name, c := range map[string]struct {
		call    string
		options []option
		want    int
	}{
		"curl":                                     {"POST /tasks/d/t/train", []option{host("127.0.0.1:8080")}, 404},
		"curl by name":                             {"GET /tasks", []option{host("localhost:8080")}, 200},
		"curl over IPv6":                           {"GET /tasks", []option{host("[::1]:8080")}, 200},
		"a name of this network":                   {"GET /tasks", []option{host("host.docker.internal:8080")}, 200},
		"a name without a dot":                     {"GET /tasks", []option{host("airflow-dev")}, 200},
		"a browser that shows /docs":               {"GET /docs", []option{host("localhost:8080"), header("Sec-Fetch-Site", "none")}, 200},
		"a public path, from another page":         {"GET /docs", []option{host("localhost:8080"), header("Sec-Fetch-Site", "cross-site")}, 200},
		"another page's form":                      {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Sec-Fetch-Site", "cross-site")}, 403},
		"another port's form":                      {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Sec-Fetch-Site", "same-site")}, 403},
		"an older browser's form":                  {"POST /tasks/d/t/train", []option{host("localhost:8080"), header("Origin", "http://evil.example")}, 403},
		"a public name (DNS rebinding)":            {"GET /tasks", []option{host("evil.example:8080")}, 403},
		"a public path by DNS rebinding":           {"GET /openapi.yaml", []option{host("rebind.evil.example")}, 200},
		"a public name with a final dot":           {"GET /tasks", []option{host("evil.example.")}, 403},
		"a public name that begins with localhost": {"GET /tasks", []option{host("localhost.evil.example")}, 403},
		"a DELETE by DNS rebinding":                {"DELETE /tasks/d/t", []option{host("evil.example:8080"), header("Origin", "http://evil.example:8080")}, 403},
	} {
		method, target, _ := strings.Cut(c.call, " ")
		a := e.do(method, target, "", c.options...)
		assert.Equal(t, c.want, a.status, "%s: %s", name, a.body)
	}
}

func fetch(site, mode, dest string) option {
	return func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
	}
}

// browserCalls are GET requests. `reads` is the expected status of a route that only reads; `stores` is that of a route
// with a side effect and of the admin port.
var browserCalls = map[string]struct {
	options       []option
	reads, stores int
}{
	"curl":                  {nil, 200, 200},
	"the address bar":       {[]option{fetch("none", "navigate", "document")}, 200, 200},
	"a page of this server": {[]option{fetch("same-origin", "cors", "empty")}, 200, 200},
	"a page of this server in an older browser": {[]option{header("Origin", "http://localhost:8080")}, 200, 200},
	"a link on another page":                    {[]option{fetch("cross-site", "navigate", "document")}, 200, 403},
	"a link on a page of another port":          {[]option{fetch("same-site", "navigate", "document")}, 200, 403},
	"an image of another page":                  {[]option{fetch("cross-site", "no-cors", "image")}, 403, 403},
	"a script of another port":                  {[]option{fetch("same-site", "no-cors", "script")}, 403, 403},
	"a frame of another page":                   {[]option{fetch("cross-site", "navigate", "iframe")}, 403, 403},
	"an object of another page":                 {[]option{fetch("cross-site", "navigate", "object")}, 403, 403},
	"fetch() of another page":                   {[]option{fetch("cross-site", "cors", "empty"), header("Origin", "http://evil.example")}, 403, 403},
	"fetch() of an older browser":               {[]option{header("Origin", "http://evil.example")}, 403, 403},
	"fetch() of a page of another port":         {[]option{header("Origin", "http://localhost:3000")}, 403, 403},
	"fetch() of a file or a sandbox":            {[]option{header("Origin", "null")}, 403, 403},
	"Sec-Fetch-Site alone":                      {[]option{header("Sec-Fetch-Site", "cross-site")}, 403, 403},
	"an unknown Sec-Fetch-Site":                 {[]option{fetch("elsewhere", "cors", "empty")}, 403, 403},
}

// GET /predict stores a receipt. Another page must not send it, even by a link. Another page may link to a route
// of the API that only reads, but must not fetch it.
func TestCrossOriginReadsAreRejected(t *testing.T) {
	e := newTestEnv(t, httpapi.Config{Auth: auth.Config{Disabled: true, CheckOrigin: true}})
	here := func(r *http.Request) { r.Host = "localhost:8080" }
	for name, c := range browserCalls {
		options := append([]option{here}, c.options...)
		assert.Equal(t, c.reads, e.do(http.MethodGet, "/tasks", "", options...).status, name)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			a := e.do(method, "/predict?dag_id=d&task_id=t&run_id=victim&x=999999&memory=1Gi", "", options...)
			assert.Equal(t, c.stores, a.status, "%s: %s %s", name, method, a.body)
		}
		assert.Equal(t, 200, e.do(http.MethodGet, "/readyz", "", options...).status, "a public path: %s", name)
		for _, path := range []string{"/metrics", "/debug/pprof/heap", "/debug/pprof/"} {
			rec := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil)
			for _, change := range options {
				change(r)
			}
			httpapi.NewAdmin(e.metrics, auth.Config{Disabled: true, CheckOrigin: true}).ServeHTTP(rec, r)
			assert.Equal(t, c.stores, rec.Code, "%s %s", name, path)
		}
	}
}

// If the server has tokens, a browser cannot authenticate a request of another page.
func TestTokensReplaceTheOriginCheck(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("secret")))
	for name, c := range browserCalls {
		assert.Equal(t, 200, e.do(http.MethodGet, "/tasks", "", append(c.options, bearer("secret"))...).status, name)
		assert.Equal(t, 401, e.do(http.MethodGet, "/tasks", "", c.options...).status, name)
	}
}

// With CheckOrigin, the server answers paths that are not public only if the Host of the request is an IP address or a
// name outside the public DNS.
func TestOnlyPrivateHostNamesAreServedWithoutTokens(t *testing.T) {
	e := newTestEnv(t, httpapi.Config{Auth: auth.Config{Disabled: true, CheckOrigin: true}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "api.localhost": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "10.0.0.7": 200,
		"loadaware": 200, "my_project-loadaware-1:8080": 200, "host.docker.internal": 200, // Docker
		"loadaware.airflow.svc": 200, "loadaware.airflow.svc.cluster.local:8080": 200, "loadaware.airflow.svc.": 200, // Kubernetes
		"build.test": 200, "nas.home.arpa": 200,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "svc.evil.example": 403,
		"evilsvc.dev": 403, "loadaware.dev": 403, "home.arpa.evil.example": 403, "1.2.3.4.5": 403,
	} {
		a := e.do(http.MethodGet, "/tasks", "", func(r *http.Request) { r.Host = host })
		assert.Equal(t, want, a.status, "%s: %s", host, a.body)
		if want == 403 {
			assert.Contains(t, string(a.body), "Host ")
		}
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil)
		r.Host = host
		httpapi.NewAdmin(e.metrics, auth.Config{Disabled: true, CheckOrigin: true}).ServeHTTP(rec, r)
		assert.Equal(t, want, rec.Code, host)
	}
}

// A server with tokens does not check the Host, because a proxy may forward any host name.
func TestTokensPermitAnyHostName(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("secret")))
	a := e.do(http.MethodGet, "/tasks", "", bearer("secret"), func(r *http.Request) { r.Host = "loadaware.example.org" })
	assert.Equal(t, http.StatusOK, a.status)
}

// A profile of pprof may contain secrets from memory.
func TestProfilesNeedAnUnlimitedAdmin(t *testing.T) {
	auth := tokens(t, "admin:"+sha("all"), "admin@blue:"+sha("blue"), "admin@/etl_:"+sha("etl"), "predict:"+sha("predictor")).Auth
	admin := httpapi.NewAdmin(httpapi.NewMetrics(), auth)
	for _, c := range []struct {
		path, secret string
		want         int
	}{
		{"/metrics", "", 200},
		{"/debug/pprof/", "", 401}, {"/debug/pprof/", "unknown", 401}, {"/debug/pprof/", "predictor", 401},
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

func TestAnswersHaveSecurityHeaders(t *testing.T) {
	e := newTestEnv(t, tokens(t, "predict:"+sha("secret")))
	for _, path := range []string{"/docs", "/openapi.yaml", "/healthz", "/tasks", "/no/such/path", "/predict?dag_id=%00"} {
		for _, options := range [][]option{nil, {bearer("secret")}} {
			h := e.do(http.MethodGet, path, "", options...).header
			assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
			assert.Equal(t, "no-store", h.Get("Cache-Control"), path)
			assert.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
			policy := h.Get("Content-Security-Policy")
			for _, rule := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "style-src 'sha256-"} {
				assert.Contains(t, policy, rule, path)
			}
			assert.NotContains(t, policy, "unsafe", path)
			assert.Empty(t, h.Get("Access-Control-Allow-Origin"), "pages of other origins cannot read answers")
		}
	}
}

// The Content-Security-Policy permits only the style of the page.
func TestDocsPageConformsToItsContentPolicy(t *testing.T) {
	e := newTestEnv(t, noAuth)
	a := e.do(http.MethodGet, "/docs", "")
	html := string(a.body)
	style := html[strings.Index(html, "<style>")+len("<style>") : strings.Index(html, "</style>")]
	sum := sha256.Sum256([]byte(style))
	assert.Contains(t, a.header.Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "the hash belongs to the served style")
	for _, forbidden := range []string{"<script", "<img", "<iframe", "<link", "<form", "style=\"", "onclick", "src=", "@import", "url("} {
		assert.NotContains(t, html, forbidden)
	}
}
