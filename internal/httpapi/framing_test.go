package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/testwait"
)

// exchange sends raw bytes and reads up to the given number of answers. It returns the statuses of the answers. `closed`
// is true if an answer is missing, or if an answer announces the end of the connection and no byte follows.
func exchange(t *testing.T, address, raw string, answers int) (statuses []int, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(testwait.Limit)))
	_, err = io.WriteString(conn, raw)
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	for range answers {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses, true
		}
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		statuses = append(statuses, answer.StatusCode)
		if answer.Close {
			_, err := in.ReadByte()
			return statuses, err == io.EOF
		}
	}
	return statuses, false
}

// If a proxy may see a request end at another byte than the server does (RFC 9112, section 6), the
// server must not answer the bytes that follow.
func TestAmbiguousFramingClosesTheConnection(t *testing.T) {
	const request = `{"dag_id": "d", "task_id": "t", "requested": {"memory": "1Gi"}}`
	const smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	chunks := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }
	post := func(version, framing, body string) string {
		return "POST /predict " + version + "\r\nHost: localhost\r\nContent-Type: application/json\r\n" + framing + "\r\n" + body + smuggled
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", len(request))
	api := httptest.NewServer(newTestEnv(t, noAuth).handler)
	defer api.Close()
	for name, c := range map[string]struct {
		raw    string
		want   []int
		closed bool
	}{
		"a length":                 {post("HTTP/1.1", length, request), []int{200, 200}, false},
		"a length and an encoding": {post("HTTP/1.1", length+"Transfer-Encoding: chunked\r\n", chunks(request)), []int{200}, true},
		"a length and an encoding, encoding first": {post("HTTP/1.1", "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunks(request)), []int{200}, true},
		"a length and an encoding, empty body":     {post("HTTP/1.1", "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), []int{400}, true},
		"a length and an encoding of a GET":        {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, []int{200}, true},
		"a length and an encoding, unknown path":   {"POST /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, []int{404}, true},
		"two lengths":                              {post("HTTP/1.1", length+"Content-Length: 4\r\n", request), []int{400}, true},
		"an unknown encoding":                      {post("HTTP/1.1", "Transfer-Encoding: gzip, chunked\r\n", chunks(request)), []int{501}, true},
		"an encoding in HTTP/1.0":                  {post("HTTP/1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", chunks(request)), []int{400}, true},
		"a length and an encoding in HTTP/1.0":     {post("HTTP/1.0", "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n"+length, request), []int{200}, true},
		"an invalid chunk size":                    {post("HTTP/1.1", "Transfer-Encoding: chunked\r\n", "zz\r\n"), []int{400}, true},
	} {
		statuses, closed := exchange(t, api.Listener.Addr().String(), c.raw, 2)
		assert.Equal(t, c.want, statuses, name)
		assert.Equal(t, c.closed, closed, name)
	}
	admin := httptest.NewServer(httpapi.NewAdmin(httpapi.NewMetrics(), auth.Config{Disabled: true}))
	defer admin.Close()
	raw := strings.ReplaceAll(post("HTTP/1.1", length+"Transfer-Encoding: chunked\r\n", chunks(request)), "/predict", "/metrics")
	_, closed := exchange(t, admin.Listener.Addr().String(), raw, 2)
	assert.True(t, closed, "the admin port must close the connection, too")
}

// Most clients send the whole body before they read the answer. If the server closes the connection while they
// send, they report a broken connection instead of the answer.
func TestAClientThatSendsATooLargeBodyGetsTheAnswer(t *testing.T) {
	api := httptest.NewServer(newTestEnv(t, noAuth).handler)
	defer api.Close()
	const mib = 1 << 20
	post := func(path, headers string, declared, sent int) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n", path, headers, declared) + strings.Repeat(" ", sent)
	}
	for name, c := range map[string]struct {
		raw    string
		closed bool // the server does not read the whole body
	}{
		"a single request":                   {post("/predict", "", 16*mib, 16*mib), false},
		"a batch":                            {post("/observe/batch", "", 40*mib, 40*mib), false},
		"a far too large body":               {post("/predict", "", 200*mib, 0), true},
		"a client that asks before it sends": {post("/predict", "Expect: 100-continue\r\n", 2*mib, 0), true},
	} {
		statuses, closed := exchange(t, api.Listener.Addr().String(), c.raw, 1)
		assert.Equal(t, []int{http.StatusRequestEntityTooLarge}, statuses, name)
		assert.Equal(t, c.closed, closed, name)
	}
}
