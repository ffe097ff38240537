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

	"github.com/loadaware/loadaware/internal/testwait"
)

// startFastServer starts a server in which one timeout, which selectTimeout selects, is a hundredth of its usual value.
// The other timeouts stay long, because a client on a busy machine may be slow to send its request.
func startFastServer(t *testing.T, handler http.Handler, selectTimeout func(*http.Server) *time.Duration) (addr string) {
	s := newHTTPServer(handler, slog.New(slog.DiscardHandler))
	for _, timeout := range []time.Duration{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout} {
		require.Positive(t, timeout, "every timeout must be set")
	}
	*selectTimeout(s) /= 100
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }() // ends with the test
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// TestWriteTimeoutEndsResponse checks that a client that reads nothing blocks a handler only until the write timeout.
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
	}), func(s *http.Server) *time.Duration { return &s.WriteTimeout })
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case err := <-writeErr:
		assert.ErrorContains(t, err, "timeout")
	case <-time.After(testwait.Limit):
		require.FailNow(t, "the handler still writes")
	}
}

func TestIdleConnectionIsClosed(t *testing.T) {
	addr := startFastServer(t, http.NotFoundHandler(), func(s *http.Server) *time.Duration { return &s.IdleTimeout })
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(testwait.Limit)))
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
