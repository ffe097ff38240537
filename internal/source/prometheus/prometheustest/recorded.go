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

// Env is the environment variable that enables recording from a real server.
const Env = "LOADAWARE_RECORD"

// Recorded starts a server that replays the responses in `file`, and returns the URL of this server. An
// unknown request fails the test.
func Recorded(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var responses map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &responses))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, ok := responses[requestKey(r)]
		if !assert.Truef(t, ok, "unknown request; record it with %s=1: %s", Env, requestKey(r)) {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(response) // the client sees the error
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Recording returns `server`, the URL of a server. If Env is set, it returns the URL of a proxy instead, which at the
// end of the test adds the responses of the server to `file`. A response that `file` already has for a request stays.
func Recording(t testing.TB, server, file string) string {
	t.Helper()
	if os.Getenv(Env) == "" {
		return server
	}
	var mu sync.Mutex
	responses := map[string]json.RawMessage{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := requestKey(r)
		forwarded, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.RequestURI(), r.Body)
		if !assert.NoError(t, err) {
			return
		}
		forwarded.Header.Set("Content-Type", r.Header.Get("Content-Type"))
		response, err := http.DefaultClient.Do(forwarded)
		if !assert.NoError(t, err) {
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		assert.NoError(t, err)
		mu.Lock()
		defer mu.Unlock()
		responses[key] = body
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(body) // the client sees the error
	}))
	t.Cleanup(func() {
		proxy.Close()
		if known, err := os.ReadFile(file); err == nil {
			require.NoError(t, json.Unmarshal(known, &responses))
		}
		text, err := json.MarshalIndent(responses, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o600))
	})
	return proxy.URL
}

// requestKey returns the key under which the response to a request is recorded. The body of the request stays readable.
func requestKey(r *http.Request) string {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // a truncated body gives another key
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	form, _ := url.ParseQuery(string(body))
	for name, values := range r.URL.Query() {
		form[name] = values
	}
	return r.URL.Path + "?" + form.Encode()
}
