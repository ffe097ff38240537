package httpapi_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// browserAccept is the Accept header of a browser navigation.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// getRoot requests / with an Accept header. openapi.yaml does not contain the landing page, so
// the answer is not validated.
func getRoot(handler http.Handler, method, accept string, options ...option) *httptest.ResponseRecorder {
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

func TestBrowserAtTheRootGetsTheLandingPage(t *testing.T) {
	e := newTestEnv(t, httpapi.Config{Auth: auth.Config{Disabled: true, CheckOrigin: true}})
	rec := getRoot(e.handler, http.MethodGet, browserAccept, fetch("none", "navigate", "document"))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	assert.Equal(t, "text/html; charset=utf-8", rec.Header().Get("Content-Type"))
	page := rec.Body.String()
	here := func(r *http.Request) { r.Host = "localhost:8080" }
	for _, link := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		assert.Equal(t, http.StatusOK, e.do(http.MethodGet, link[1], "", here, fetch("same-origin", "navigate", "document")).status, link[1])
	}
	for _, path := range []string{"/docs", "/openapi.yaml", "/tasks", "/readyz"} {
		assert.Contains(t, page, `href="`+path+`"`)
	}
	for _, forbidden := range []string{"<script", "<img", "<iframe", "<link", "<form", `style="`, "onclick", "src=", "@import", "url("} {
		assert.NotContains(t, page, forbidden)
	}
	assert.Contains(t, page, "color-scheme: light dark")
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	sum := sha256.Sum256([]byte(style))
	assert.Contains(t, rec.Header().Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	assert.Equal(t, http.StatusOK, getRoot(e.handler, http.MethodHead, browserAccept).Code)
}

// The commands of the page work unchanged, with and without a token.
func TestLandingPageCommandsWork(t *testing.T) {
	for title, cfg := range map[string]httpapi.Config{"without tokens": noAuth, "with tokens": tokens(t, "predict:"+sha("secret"), "observe:"+sha("secret"))} {
		server := httptest.NewServer(newTestEnv(t, cfg).handler)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		request.Header.Set("Accept", browserAccept)
		answer, err := server.Client().Do(request)
		require.NoError(t, err)
		page, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		commands := regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindAllStringSubmatch(string(page), -1)
		require.Len(t, commands, 2)
		for _, command := range commands {
			line := strings.ReplaceAll(html.UnescapeString(command[1]), "$TOKEN", "secret")
			words := regexp.MustCompile(`'[^']*'|"[^"]*"|[^ ]+`).FindAllString(line, -1)
			method, target, body, headers := http.MethodGet, "", "", http.Header{}
			for n := 1; n < len(words); n++ {
				switch word := strings.Trim(words[n], `'"`); word {
				case "-H":
					n++
					name, value, _ := strings.Cut(strings.Trim(words[n], `'"`), ": ")
					headers.Set(name, value)
				case "-d":
					n++
					method, body = http.MethodPost, strings.Trim(words[n], "'")
				default:
					target = word
				}
			}
			request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
			require.NoError(t, err)
			request.Header = headers
			answer, err := server.Client().Do(request)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", title, line)
			require.NoError(t, answer.Body.Close())
		}
		server.Close()
	}
}

func TestOtherClientsAtTheRootGetLinks(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0", "text/*", "text/html-like", "text/html;q=x", ";,;"} {
		rec := getRoot(e.handler, http.MethodGet, accept)
		assert.Equal(t, http.StatusOK, rec.Code, accept)
		assert.Equal(t, "application/json", rec.Header().Get("Content-Type"), accept)
	}
	assert.Equal(t, http.StatusNotFound, getRoot(e.handler, http.MethodPost, browserAccept).Code)
	assert.Equal(t, http.StatusOK, getRoot(e.handler, http.MethodGet, "application/xml, text/html;q=0.5").Code)
	withTokens := newTestEnv(t, tokens(t, "admin:"+sha("secret")))
	assert.Equal(t, http.StatusOK, getRoot(withTokens.handler, http.MethodGet, "*/*").Code)
	assert.Equal(t, http.StatusUnauthorized, getRoot(withTokens.handler, http.MethodPost, "*/*").Code)
	assert.Equal(t, http.StatusOK, getRoot(withTokens.handler, http.MethodGet, browserAccept).Code)
}

// The client chooses the Host. The commands must not contain one that a shell would interpret.
func TestLandingPageShowsOnlyShellSafeHosts(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for host, shown := range map[string]string{
		"airflow-dev:8080": "http://airflow-dev:8080/predict", "[::1]:8080": "http://[::1]:8080/predict", "a'b": "http://localhost/predict",
		"a;reboot": "http://localhost/predict", "$(x)": "http://localhost/predict", "<b>": "http://localhost/predict", "": "http://localhost/predict",
	} {
		rec := getRoot(e.handler, http.MethodGet, browserAccept, func(r *http.Request) { r.Host = host })
		assert.Contains(t, html.UnescapeString(rec.Body.String()), shown, host)
	}
}
