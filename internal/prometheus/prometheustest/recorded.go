package prometheustest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Env asks for the answers of a real server to be recorded anew.
const Env = "LOADAWARE_RECORD"

// Recorded is the URL of a server that answers as a real one did, by file. A question
// that was never recorded fails the test.
func Recorded(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var answers map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &answers))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[question(r)]
		if !assert.Truef(t, ok, "this was never recorded, run the test with %s=1: %s", Env, question(r)) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // the client sees what broke
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Recording is the URL of a door to a real server. Where the environment says so, all
// that it answers is added to file.
func Recording(t testing.TB, server, file string) string {
	t.Helper()
	if os.Getenv(Env) == "" {
		return server
	}
	var mu sync.Mutex
	answers := map[string]json.RawMessage{}
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := question(r)
		passed, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.RequestURI(), r.Body)
		if !assert.NoError(t, err) {
			return
		}
		passed.Header.Set("Content-Type", r.Header.Get("Content-Type"))
		answer, err := http.DefaultClient.Do(passed)
		if !assert.NoError(t, err) {
			return
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		assert.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		answers[asked] = body
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = w.Write(body) // the client sees what broke
	}))
	t.Cleanup(func() {
		door.Close()
		if known, err := os.ReadFile(file); err == nil {
			require.NoError(t, json.Unmarshal(known, &answers))
		}
		text, err := json.MarshalIndent(answers, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o600))
	})
	return door.URL
}

// question is what a request asks, in its address or in its body, which stays to be read.
func question(r *http.Request) string {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // what broke off asks something else
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	form, _ := url.ParseQuery(string(body))
	for name, values := range r.URL.Query() {
		form[name] = values
	}
	return r.URL.Path + "?" + form.Encode()
}
