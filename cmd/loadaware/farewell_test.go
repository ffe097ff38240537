package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAServerThatWasSentSIGTERMAnswersOnWhileOthersLearnOfIt(t *testing.T) {
	server := startServer(t, database(t))
	server.signal(syscall.SIGTERM)
	server.said.await(t, "stopping")

	response, err := http.Get(server.url + "/readyz")
	require.NoError(t, err)
	said, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	assert.Contains(t, string(said), `"stopping"`)

	response, err = http.Post(server.url+"/predict", "application/json", strings.NewReader(`{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}`))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.True(t, response.Close, "the connection is not to be used again")
	require.NoError(t, server.wait())
}

func TestNobodyWaitsForTheEndAfterAnInterrupt(t *testing.T) {
	assert.ErrorIs(t, causeOf(syscall.SIGTERM), errTerminated)
	assert.NotErrorIs(t, causeOf(os.Interrupt), errTerminated)
}
