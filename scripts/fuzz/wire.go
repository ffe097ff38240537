package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	took   time.Duration // from the first byte sent to the last one read
	hungUp bool          // the connection ended instead
	err    error         // why it did
}

// wire is one connection that is dialled anew after whatever ended it. Requests go
// out as bytes, since a client library would refuse to send most of them.
type wire struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
}

// patience bounds one request: longer than any deadline of the server.
const patience = 90 * time.Second

// send sends a request and reads its answer. An error is that of the connection's
// making: the server is gone.
func (w *wire) send(r *request) (*answer, error) {
	if w.conn == nil {
		conn, err := net.DialTimeout("tcp", w.addr, 10*time.Second)
		if err != nil {
			return nil, fmt.Errorf("the server is gone: %w", err)
		}
		w.conn, w.in = conn, bufio.NewReader(conn)
	}
	started := time.Now()
	_ = w.conn.SetDeadline(started.Add(patience)) // fails on a closed connection, and then so does Write
	written := make(chan error, 1)
	if len(r.wire) < 64<<10 {
		_, err := w.conn.Write(r.wire)
		written <- err
	} else { // it may be refused before it is read to its end
		go func() {
			_, err := w.conn.Write(r.wire)
			written <- err
		}()
	}
	got, reusable := w.read(r)
	got.took = time.Since(started)
	if !reusable {
		w.close() // ends a Write that is under way
	}
	if err := <-written; err != nil {
		w.close()
	}
	return got, nil
}

// read reads one answer, and says whether another request may follow.
func (w *wire) read(r *request) (got *answer, reusable bool) {
	for {
		response, err := http.ReadResponse(w.in, &http.Request{Method: r.method})
		if err != nil {
			return &answer{hungUp: true, err: err}, false
		}
		got = &answer{status: response.StatusCode, header: response.Header}
		got.body, err = io.ReadAll(response.Body)
		_ = response.Body.Close() // it was read to its end, or the connection is broken
		if err != nil {
			got.hungUp, got.err = true, err
		}
		if response.StatusCode < 200 {
			continue // go on
		}
		return got, err == nil && !response.Close && !r.illegal
	}
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close() // read to its end, or broken
		w.conn = nil
	}
}
