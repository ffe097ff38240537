package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnectionBeyondLimitWaits(t *testing.T) {
	server := startServer(t, append(database(t), "LOADAWARE_MAX_CONNECTIONS=2"))
	connect := func() (conn net.Conn, answered func(within time.Duration) bool) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
		require.NoError(t, err, "the kernel accepts the connection")
		t.Cleanup(func() { conn.Close() })
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		return conn, func(within time.Duration) bool {
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(within)))
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return false
			}
			return response.Body.Close() == nil && response.StatusCode == http.StatusOK
		}
	}
	first, answered := connect()
	require.True(t, answered(slowTimeout))
	_, answered = connect()
	require.True(t, answered(slowTimeout))
	_, answered = connect()
	assert.False(t, answered(300*time.Millisecond), "a third connection gets no answer while two are in use")
	require.NoError(t, first.Close())
	assert.True(t, answered(slowTimeout), "the waiting connection gets its answer after another one is closed")
}

func TestInvalidConnectionLimit(t *testing.T) {
	t.Setenv("LOADAWARE_MAX_CONNECTIONS", "0")
	code, _, stderr := invoke(t, "", "serve", "--addr", "127.0.0.1:0", "--admin-addr", "")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "LOADAWARE_MAX_CONNECTIONS must be 1 or more")
}
