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
}

// fetch is what a browser says of a request: for which site, in which mode, to show where.
func fetch(site, mode, dest string) option {
	return func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", site)
		r.Header.Set("Sec-Fetch-Mode", mode)
		r.Header.Set("Sec-Fetch-Dest", dest)
	}
}

// browserCalls are reads as curl, a person and other pages cause them. reads and stores
// are the statuses of a GET that only reads and of one that stores.
var browserCalls = map[string]struct {
	options       []option
	reads, stores int
}{
	"curl":                              {nil, 200, 200},
	"the address bar":                   {[]option{fetch("none", "navigate", "document")}, 200, 200},
	"a page of this server":             {[]option{fetch("same-origin", "cors", "empty")}, 200, 200},
	"a page of this server, older":      {[]option{header("Origin", "http://localhost:8080")}, 200, 200},
	"a link on another page":            {[]option{fetch("cross-site", "navigate", "document")}, 200, 403},
	"a link on a page of another port":  {[]option{fetch("same-site", "navigate", "document")}, 200, 403},
	"an image of another page":          {[]option{fetch("cross-site", "no-cors", "image")}, 403, 403},
	"a script of another port":          {[]option{fetch("same-site", "no-cors", "script")}, 403, 403},
	"a frame of another page":           {[]option{fetch("cross-site", "navigate", "iframe")}, 403, 403},
	"an object of another page":         {[]option{fetch("cross-site", "navigate", "object")}, 403, 403},
	"fetch() of another page":           {[]option{fetch("cross-site", "cors", "empty"), header("Origin", "http://evil.example")}, 403, 403},
	"fetch() of an older browser":       {[]option{header("Origin", "http://evil.example")}, 403, 403},
	"fetch() of a page of another port": {[]option{header("Origin", "http://localhost:3000")}, 403, 403},
	"fetch() of a file or a sandbox":    {[]option{header("Origin", "null")}, 403, 403},
	"no more than the site":             {[]option{header("Sec-Fetch-Site", "cross-site")}, 403, 403},
	"a site that is not known":          {[]option{fetch("elsewhere", "cors", "empty")}, 403, 403},
}

// A GET /predict with a run_id stores a receipt, so another page must not send one even by
// a link; what it only reads, it must not cause unseen.
func TestAPageOfAnotherOriginSendsNoReads(t *testing.T) {
	w := newWorld(t, httpapi.Config{Auth: httpapi.Auth{Off: true, Wary: true}})
	here := func(r *http.Request) { r.Host = "localhost:8080" }
	for claim, c := range browserCalls {
		options := append([]option{here}, c.options...)
		assert.Equal(t, c.reads, w.do(http.MethodGet, "/tasks", "", options...).status, claim)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			a := w.do(method, "/predict?dag_id=d&task_id=t&run_id=victim&x=999999&memory=1Gi", "", options...)
			assert.Equal(t, c.stores, a.status, "%s: %s %s", claim, method, a.body)
		}
		assert.Equal(t, 200, w.do(http.MethodGet, "/readyz", "", options...).status, "what is public: %s", claim)
		for _, path := range []string{"/metrics", "/debug/pprof/heap", "/debug/pprof/"} {
			rec := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path, nil)
			for _, change := range options {
				change(r)
			}
			httpapi.Admin(w.metrics, httpapi.Auth{Off: true, Wary: true}).ServeHTTP(rec, r)
			assert.Equal(t, c.stores, rec.Code, "%s %s", claim, path)
		}
	}
}

// With tokens, no browser can send one for another page, and a proxy may pass on any host.
func TestWithTokensEverythingButTheTokenIsIgnored(t *testing.T) {
	w := newWorld(t, tokens(t, "admin:"+sha("secret")))
	for claim, c := range browserCalls {
		assert.Equal(t, 200, w.do(http.MethodGet, "/tasks", "", append(c.options, bearer("secret"))...).status, claim)
		assert.Equal(t, 401, w.do(http.MethodGet, "/tasks", "", c.options...).status, claim)
	}
}

// Hosts by which a server without tokens may be reached: names that no web page can own.
func TestHostsThatAWebPageCannotOwn(t *testing.T) {
	w := newWorld(t, httpapi.Config{Auth: httpapi.Auth{Off: true, Wary: true}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "api.localhost": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "10.0.0.7": 200,
		"loadaware": 200, "my_project-loadaware-1:8080": 200, "host.docker.internal": 200, // Docker
		"loadaware.airflow.svc": 200, "loadaware.airflow.svc.cluster.local:8080": 200, "loadaware.airflow.svc.": 200, // Kubernetes
		"build.test": 200, "nas.home.arpa": 200,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "svc.evil.example": 403,
		"evilsvc.dev": 403, "loadaware.dev": 403, "home.arpa.evil.example": 403, "1.2.3.4.5": 403,
	} {
		a := w.do(http.MethodGet, "/tasks", "", func(r *http.Request) { r.Host = host })
		assert.Equal(t, want, a.status, "%s: %s", host, a.body)
		if want == 403 {
			assert.Contains(t, string(a.body), "Host ")
		}
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/debug/pprof/heap", nil)
		r.Host = host
		httpapi.Admin(w.metrics, httpapi.Auth{Off: true, Wary: true}).ServeHTTP(rec, r)
		assert.Equal(t, want, rec.Code, host)
	}
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
