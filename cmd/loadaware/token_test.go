package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

func newToken(t *testing.T, flags ...string) (token, granted string) {
	t.Helper()
	code, out, stderr := invoke(t, "", append([]string{"token"}, flags...)...)
	require.Zero(t, code, stderr)
	fields := strings.Fields(out) // token: TOKEN granted: GRANT
	require.Len(t, fields, 4, out)
	return fields[1], fields[3]
}

func TestTokenWithSeveralRoles(t *testing.T) {
	_, granted := newToken(t, "--role", "predict, observe", "--namespace", "emea")
	tokens, err := auth.ParseTokens(granted, "LOADAWARE_TOKENS")
	require.NoError(t, err)
	require.Len(t, tokens, 2)
	assert.Equal(t, auth.RolePredict, tokens[0].Role)
	assert.Equal(t, auth.RoleObserve, tokens[1].Role)
	assert.Equal(t, tokens[0].Hash, tokens[1].Hash)
	for _, token := range tokens {
		assert.Equal(t, "emea", token.Namespace)
	}
}

func TestInvalidTokenNamespace(t *testing.T) {
	code, _, stderr := invoke(t, "", "token", "--namespace", "a/b")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "namespace")
}

func TestTokenWithNameAndLimits(t *testing.T) {
	_, granted := newToken(t, "--role", "admin", "--name", "ops", "--namespace", "emea", "--dag-prefix", "etl_")
	tokens, err := auth.ParseTokens(granted, "LOADAWARE_TOKENS")
	require.NoError(t, err)
	tokens[0].Hash = [32]byte{} // it is random, so it is not compared
	assert.Equal(t, []auth.Token{{Name: "ops", Role: auth.RoleAdmin, Namespace: "emea", DAGPrefix: "etl_"}}, tokens)
	_, granted = newToken(t, "--dag-prefix", "etl_")
	assert.Regexp(t, `^observe@/etl_:[0-9a-f]{64}$`, granted)
}

// The values contain separators: a prefix with a comma would parse as two grants.
func TestAmbiguousTokenIsRejected(t *testing.T) {
	for _, flags := range [][]string{{"--dag-prefix", "a,b"}, {"--dag-prefix", "a:b"}, {"--namespace", "a:b"}, {"--name", "a=b"}, {"--name", "a@b"}, {"--name", "a:b"}, {"--dag-prefix", "a/b"}} {
		code, out, stderr := invoke(t, "", append([]string{"token"}, flags...)...)
		assert.Equal(t, 2, code, "%v → %s", flags, out)
		assert.Contains(t, stderr, flags[0], "the message names the flag")
	}
}

func TestTokenForPredictAndObserve(t *testing.T) {
	token, granted := newToken(t, "--role", "predict,observe")
	server := startServer(t, append(database(t), "LOADAWARE_TOKENS="+granted))
	status := func(path, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+path, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		return response.StatusCode
	}
	assert.Equal(t, http.StatusOK, status("/predict", `{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}`))
	assert.Equal(t, http.StatusOK, status("/observe", `{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success"}`))
	assert.Equal(t, http.StatusForbidden, status("/tasks/d/t/train", `{}`), "training needs the role admin")
}
