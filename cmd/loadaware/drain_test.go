package main

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerDrainsAfterSIGTERM(t *testing.T) {
	server := startServer(t, database(t))
	server.signal(syscall.SIGTERM)
	server.output.await(t, "stopping")

	response, err := http.Get(server.url + "/readyz")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Contains(t, string(body), `"stopping"`)

	response, err = http.Post(server.url+"/predict", "application/json", strings.NewReader(`{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.True(t, response.Close, "a draining server asks for the end of the connection")
	require.NoError(t, server.wait())
}
