package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func statusAs(t *testing.T, server *process, token string) int {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/tasks", http.NoBody)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// The service starts as with `docker compose up`: on all addresses of the container, with a database and without tokens.
func TestFirstStartCreatesToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	env := append(database(t), "LOADAWARE_TOKENS=", "LOADAWARE_TOKENS_FILE="+file)
	server := startServer(t, env, "--addr", "0.0.0.0:0")
	assert.True(t, strings.HasPrefix(server.url, "http://0.0.0.0:"), "the URL has the configured address: %s", server.url)
	token, found := strings.CutPrefix(server.output.String()[strings.Index(server.output.String(), "token:"):], "token:   ")
	require.True(t, found)
	token, _, _ = strings.Cut(token, "\n")
	server.url = strings.Replace(server.url, "0.0.0.0", "127.0.0.1", 1)
	assert.Equal(t, http.StatusUnauthorized, statusAs(t, server, ""))
	assert.Equal(t, http.StatusUnauthorized, statusAs(t, server, token+"x"))
	assert.Equal(t, http.StatusOK, statusAs(t, server, token))

	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.NotContains(t, string(stored), token, "only the hash is stored")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	server.signal(syscall.SIGINT)
	require.NoError(t, server.wait())
	again := startServer(t, env)
	assert.Equal(t, http.StatusOK, statusAs(t, again, token), "a restart keeps the token")
	assert.NotContains(t, again.output.String(), "token:", "a restart does not print the token")
	again.kill()

	granted := strings.Replace(makeGrant(t), "\n", "", 1)
	other := startServer(t, append(env, "LOADAWARE_TOKENS="+granted))
	assert.Equal(t, http.StatusUnauthorized, statusAs(t, other, token), "LOADAWARE_TOKENS replaces the tokens file")
}

func makeGrant(t *testing.T) string {
	_, out, _ := invoke(t, "", "token", "--role", "admin")
	_, granted, found := strings.Cut(out, "granted: ")
	require.True(t, found)
	return granted
}

func TestInvalidTokensFileStopsStart(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "tokens")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		file, text string
		code       int
	}{
		"no grant":         {file(""), "contains no token", 2},
		"a token, no hash": {filepath.Join(dir, "clear"), "role:hash", 2},
		"a folder":         {dir, "read --tokens-file", 2},
		"a missing folder": {filepath.Join(dir, "none", "tokens"), "make the folder writable", 1},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "clear"), []byte("SECRETSECRET"), 0o600))
		t.Setenv("DATABASE_URL", strings.TrimPrefix(database(t)[0], "DATABASE_URL="))
		code, out, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "", "--tokens-file", c.file)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		assert.Contains(t, stderr, c.text, name)
		assert.NotContains(t, out+stderr, "SECRETSECRET", name)
		assert.NotContains(t, out, "token:", name)
	}
}
