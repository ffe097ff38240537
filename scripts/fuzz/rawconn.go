package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

type answer struct {
	status   int
	header   http.Header
	body     []byte
	took     time.Duration // from the first byte sent to the last byte read
	noAnswer bool          // there is no complete answer
	err      error         // why there is no answer
}

// rawConn writes requests as bytes, because a client library would reject some of them. After the connection has ended, send
// opens a new one.
type rawConn struct {
	addr string
	conn net.Conn // nil if not connected
	in   *bufio.Reader
}

const requestTimeout = 90 * time.Second

// send sends a request and reads its answer. It returns an error only if it cannot connect.
func (w *rawConn) send(r *request) (*answer, error) {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.addr, 10*time.Second)
		if err != nil {
			return nil, fmt.Errorf("connect to the server: %w", err)
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	started := time.Now()
	_ = w.conn.SetDeadline(started.Add(requestTimeout)) // fails only on a closed connection; then Write fails, too
	written := make(chan error, 1)
	if len(r.encoded) < 64<<10 {
		_, err := w.conn.Write(r.encoded)
		written <- err
	} else { // the server may reject the request before it has read the whole body
		go func() {
			_, err := w.conn.Write(r.encoded)
			written <- err
		}()
	}
	got, reusable := w.read(r)
	got.took = time.Since(started)
	if !reusable {
		w.close() // ends a Write in progress
	}
	if err := <-written; err != nil {
		w.close()
	}
	return got, nil
}

// read reads the answer to a request, and reports whether the connection is reusable.
func (w *rawConn) read(r *request) (got *answer, reusable bool) {
	for {
		response, err := http.ReadResponse(w.in, &http.Request{Method: r.method})
		if err != nil {
			return &answer{noAnswer: true, err: err}, false
		}
		got = &answer{status: response.StatusCode, header: response.Header}
		got.body, err = io.ReadAll(response.Body)
		_ = response.Body.Close() // all data has been read, or the connection is broken
		if err != nil {
			got.noAnswer, got.err = true, err
		}
		if response.StatusCode < 200 {
			continue // an interim answer, such as 100 Continue
		}
		return got, err == nil && !response.Close && !r.illegal
	}
}

func (w *rawConn) close() {
	if w.conn != nil {
		_ = w.conn.Close() // all data has been read, or the connection is broken
		w.conn = nil
	}
}
