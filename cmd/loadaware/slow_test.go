package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowTimeout is how long a test waits at most for the server to close a connection or to answer.
const slowTimeout = 30 * time.Second

// trickle opens a connection and sends the start. Then it sends a byte of the rest every 100 ms, until the server closes
// the connection or slowTimeout is over. closed reports whether the server closed the connection.
func trickle(addr, start, rest string) (response []byte, closed bool) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(slowTimeout)) // cannot fail on an open connection
	fmt.Fprint(conn, start)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for i := range rest {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
				fmt.Fprint(conn, rest[i:i+1])
			}
		}
	}()
	var got bytes.Buffer
	_, err = io.Copy(&got, conn)
	timeout, ok := err.(net.Error) //nolint:errorlint // io.Copy returns it unwrapped
	return got.Bytes(), !ok || !timeout.Timeout()
}

// This is a Slowloris and a slow POST attack. The server must close every slow connection and answer other callers meanwhile.
func TestSlowClientsDoNotAffectOthers(t *testing.T) {
	// The server handles 64 predictions at the same time for each processor of GOMAXPROCS. With two processors, the 100
	// slow bodies leave capacity for the other callers.
	server := startServer(t, append(database(t), "GOMAXPROCS=2"))
	addr := strings.TrimPrefix(server.url, "http://")
	body := "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + `{"dag_id": "`
	for kind, c := range map[string]struct{ start, rest, want string }{
		"headers": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", strings.Repeat("x", 1000), ""},
		"nothing": {"", "", ""},
		"body":    {body, strings.Repeat("x", 900), "HTTP/1.1 408 "},
	} {
		t.Run(kind, func(t *testing.T) {
			const callers = 100
			type outcome struct {
				response []byte
				closed   bool
			}
			outcomes := make(chan outcome, callers)
			for range callers {
				go func() {
					response, closed := trickle(addr, c.start, c.rest)
					outcomes <- outcome{response, closed}
				}()
			}
			answered := 0
			for ended := 0; ended < callers; {
				select {
				case o := <-outcomes:
					ended++
					assert.True(t, o.closed, "the connection is still open")
					if c.want != "" {
						assert.Contains(t, string(o.response), c.want)
					}
				case <-time.After(50 * time.Millisecond):
					server.post("/predict", map[string]any{"dag_id": "d", "task_id": "t", "requested": map[string]any{"memory": "1Gi"}}, nil)
					answered++
				}
			}
			assert.Positive(t, answered)
			t.Logf("slow %s: the server closed %d connections, and answered %d other requests meanwhile", kind, callers, answered)
		})
	}
}

func TestTooLargeRequestIsRejected(t *testing.T) {
	server := startServer(t, database(t))
	addr := strings.TrimPrefix(server.url, "http://")
	huge := strings.Repeat("x", 80<<10)
	for name, c := range map[string]struct{ sent, want string }{
		"a header":             {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: " + huge + "\r\n\r\n", "HTTP/1.1 431 "},
		"a path":               {"GET /" + huge + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 431 "},
		"many headers":         {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Many: x\r\n", 8<<10) + "\r\n", "HTTP/1.1 431 "},
		"a body with its size": {"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n\"" + strings.Repeat("x", 1<<20), "HTTP/1.1 413 "},
		"a body in chunks":     {"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n100002\r\n\"" + strings.Repeat("x", 1<<20), "HTTP/1.1 413 "},
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(slowTimeout)))
		go func() { fmt.Fprint(conn, c.sent) }()
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err, name)
		assert.Contains(t, line, c.want, name)
		conn.Close()
	}
}

func TestSlowTLSHandshakeTimesOut(t *testing.T) {
	own := newAuthority(t, "own")
	files := newTLSFiles(t, own.sign(1, -time.Hour, 90*24*time.Hour))
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key)
	// The record header announces 512 bytes, which take 51 s.
	_, closed := trickle(strings.TrimPrefix(server.url, "https://"), "\x16\x03\x01\x02\x00", "\x01"+strings.Repeat("\x00", 511))
	assert.True(t, closed)
}
