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

// patient is how long a test waits for the server to lose its patience; only a
// server that has no bound reaches it.
const patient = 30 * time.Second

// trickle opens a connection, sends what is begun, then a byte of the rest every
// 100 ms until the server ends it. It returns what was answered.
func trickle(addr, begun, rest string) (answer []byte, ended bool) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patient)) // a connection that is open takes it
	fmt.Fprint(conn, begun)
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
	timeout, ok := err.(net.Error) //nolint:errorlint // the error of a connection as it comes
	return got.Bytes(), !ok || !timeout.Timeout()
}

// Slowloris and slow POST: many callers who keep their connections busy with next to
// nothing. Others are answered all the while, and every one of these is ended.
func TestSlowClientsDoNotAffectOthers(t *testing.T) {
	server := startServer(t, database(t))
	addr := strings.TrimPrefix(server.url, "http://")
	body := "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + `{"dag_id": "`
	for kind, c := range map[string]struct{ begun, rest, said string }{
		"headers": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", strings.Repeat("x", 1000), ""},
		"nothing": {"", "", ""},
		"body":    {body, strings.Repeat("x", 900), "HTTP/1.1 408 "},
	} {
		t.Run(kind, func(t *testing.T) {
			const callers = 100
			type outcome struct {
				answer []byte
				ended  bool
			}
			outcomes := make(chan outcome, callers)
			for range callers {
				go func() {
					answer, ended := trickle(addr, c.begun, c.rest)
					outcomes <- outcome{answer, ended}
				}()
			}
			answered := 0
			for ended := 0; ended < callers; {
				select {
				case o := <-outcomes:
					ended++
					assert.True(t, o.ended, "still open")
					if c.said != "" {
						assert.Contains(t, string(o.answer), c.said)
					}
				case <-time.After(50 * time.Millisecond):
					server.post("/predict", map[string]any{"dag_id": "d", "task_id": "t", "requested": map[string]any{"memory": "1Gi"}}, nil)
					answered++
				}
			}
			assert.Positive(t, answered)
			t.Logf("%d callers of slow %s ended, %d others answered meanwhile", callers, kind, answered)
		})
	}
}

func TestTooLargeRequestIsRejectedEarly(t *testing.T) {
	server := startServer(t, database(t))
	addr := strings.TrimPrefix(server.url, "http://")
	huge := strings.Repeat("x", 80<<10)
	for claim, c := range map[string]struct{ sent, said string }{
		"a header":                  {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Large: " + huge + "\r\n\r\n", "HTTP/1.1 431 "},
		"a path":                    {"GET /" + huge + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 431 "},
		"many headers":              {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-Many: x\r\n", 8<<10) + "\r\n", "HTTP/1.1 431 "},
		"a body that says its size": {"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n\"" + strings.Repeat("x", 1<<20), "HTTP/1.1 413 "},
		"a body in chunks":          {"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n100002\r\n\"" + strings.Repeat("x", 1<<20), "HTTP/1.1 413 "},
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(patient)))
		go func() { fmt.Fprint(conn, c.sent) }()
		line, err := bufio.NewReader(conn).ReadString('\n')
		require.NoError(t, err, claim)
		assert.Contains(t, line, c.said, claim)
		conn.Close()
	}
}

// The handshake counts as well: a caller of TLS who says nothing is ended.
func TestMissingTLSHandshakeTimesOut(t *testing.T) {
	own := newAuthority(t, "own")
	files := newFolder(t, own.signs(1, -time.Hour, 90*24*time.Hour))
	server := startServer(t, database(t), "--tls-cert", files.cert, "--tls-key", files.key)
	// A greeting of 512 bytes is announced, which would take 51 s to come.
	_, ended := trickle(strings.TrimPrefix(server.url, "https://"), "\x16\x03\x01\x02\x00", "\x01"+strings.Repeat("\x00", 511))
	assert.True(t, ended)
}
