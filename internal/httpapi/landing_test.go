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
)

// What browsers send when a person opens an address.
const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// open gets / as a client with this Accept. The landing page is not in the contract, so it
// is not held to it.
func open(handler http.Handler, method, accept string, options ...option) *httptest.ResponseRecorder {
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

func TestABrowserAtTheRootGetsALandingPage(t *testing.T) {
	w := newWorld(t, httpapi.Config{Auth: httpapi.Auth{Off: true, Wary: true}})
	rec := open(w.handler, http.MethodGet, browserAccept, fetch("none", "navigate", "document"))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	assert.Equal(t, "text/html; charset=utf-8", rec.Header().Get("Content-Type"))
	page := rec.Body.String()
	here := func(r *http.Request) { r.Host = "localhost:8080" }
	for _, link := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		assert.Equal(t, http.StatusOK, w.do(http.MethodGet, link[1], "", here, fetch("same-origin", "navigate", "document")).status, link[1])
	}
	for _, path := range []string{"/docs", "/openapi.yaml", "/tasks", "/readyz"} {
		assert.Contains(t, page, `href="`+path+`"`)
	}
	for _, needs := range []string{"<script", "<img", "<iframe", "<link", "<form", `style="`, "onclick", "src=", "@import", "url("} {
		assert.NotContains(t, page, needs)
	}
	assert.Contains(t, page, "color-scheme: light dark")
	style := page[strings.Index(page, "<style>")+len("<style>") : strings.Index(page, "</style>")]
	sum := sha256.Sum256([]byte(style))
	assert.Contains(t, rec.Header().Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	assert.Equal(t, http.StatusOK, open(w.handler, http.MethodHead, browserAccept).Code)
}

// The commands of the page work as they stand, with a token and without one.
func TestTheCommandsOfTheLandingPageWork(t *testing.T) {
	for claim, cfg := range map[string]httpapi.Config{"nobody needs a token": everybody, "callers need a token": tokens(t, "predict:"+sha("secret"), "observe:"+sha("secret"))} {
		server := httptest.NewServer(newWorld(t, cfg).handler)
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
			assert.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", claim, line)
			require.NoError(t, answer.Body.Close())
		}
		server.Close()
	}
}

func TestOtherClientsAtTheRootGetNoPage(t *testing.T) {
	w := newWorld(t, everybody)
	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0", "text/*", "text/html-like", "text/html;q=x", ";,;"} {
		rec := open(w.handler, http.MethodGet, accept)
		assert.Equal(t, http.StatusOK, rec.Code, accept)
		assert.Equal(t, "application/json", rec.Header().Get("Content-Type"), accept)
	}
	assert.Equal(t, http.StatusNotFound, open(w.handler, http.MethodPost, browserAccept).Code)
	assert.Equal(t, http.StatusOK, open(w.handler, http.MethodGet, "application/xml, text/html;q=0.5").Code)
	closed := newWorld(t, tokens(t, "admin:"+sha("secret")))
	assert.Equal(t, http.StatusOK, open(closed.handler, http.MethodGet, "*/*").Code)
	assert.Equal(t, http.StatusUnauthorized, open(closed.handler, http.MethodPost, "*/*").Code)
	assert.Equal(t, http.StatusOK, open(closed.handler, http.MethodGet, browserAccept).Code)
}

// A Host is the caller's to choose: none ends up in the commands that a shell would read
// otherwise.
func TestTheLandingPageNamesOnlyPlainHosts(t *testing.T) {
	w := newWorld(t, everybody)
	for host, shown := range map[string]string{
		"airflow-dev:8080": "http://airflow-dev:8080/predict", "[::1]:8080": "http://[::1]:8080/predict", "a'b": "http://localhost/predict",
		"a;reboot": "http://localhost/predict", "$(x)": "http://localhost/predict", "<b>": "http://localhost/predict", "": "http://localhost/predict",
	} {
		rec := open(w.handler, http.MethodGet, browserAccept, func(r *http.Request) { r.Host = host })
		assert.Contains(t, html.UnescapeString(rec.Body.String()), shown, host)
	}
}
