package httpserver

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testTimeout is long enough for a slow machine.
const testTimeout = 30 * time.Second

// startFastServer starts a server with a hundredth of the usual timeouts.
func startFastServer(t *testing.T, handler http.Handler) (addr string) {
	s := newHTTPServer(handler, slog.New(slog.DiscardHandler))
	for _, bound := range []*time.Duration{&s.ReadHeaderTimeout, &s.ReadTimeout, &s.WriteTimeout, &s.IdleTimeout} {
		require.Positive(t, *bound, "every timeout must be set")
		*bound /= 100
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }() // ends with the test
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// TestWriteTimeoutEndsResponse checks that a client that reads nothing does not block a
// handler.
func TestWriteTimeoutEndsResponse(t *testing.T) {
	writeErr := make(chan error, 1)
	addr := startFastServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		page := make([]byte, 1<<20)
		for {
			if _, err := w.Write(page); err != nil {
				writeErr <- err
				return
			}
		}
	}))
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case err := <-writeErr:
		assert.ErrorContains(t, err, "timeout")
	case <-time.After(testTimeout):
		require.FailNow(t, "the handler still writes")
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	addr := startFastServer(t, http.NotFoundHandler())
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(testTimeout)))
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = in.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
}
