package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"
)

// wireConn is a minimal HTTP/1.1 client on one keep-alive connection. The client of net/http would use most of the CPU core
// of the load generator.
type wireConn struct {
	addr string
	conn net.Conn // nil if not connected
	in   *bufio.Reader
	out  []byte // buffer of a request
}

type wireAnswer struct {
	status        int
	retryAfter    time.Duration
	hasRetryAfter bool
}

func (c *wireConn) dial(deadline time.Duration) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.conn, err = net.DialTimeout("tcp", c.addr, deadline); err != nil {
		c.conn = nil // the next call dials again
		return err
	}
	c.in = bufio.NewReader(c.conn)
	return nil
}

// post sends a request and reads the answer. After an error it closes the connection.
func (c *wireConn) post(path string, body []byte, deadline time.Duration) (a wireAnswer, err error) {
	if err := c.dial(deadline); err != nil {
		return a, err
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	c.out = fmt.Appendf(c.out[:0], "POST %s HTTP/1.1\r\nHost: chaos\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, len(body))
	c.out = append(c.out, body...)
	if err = c.conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		return a, err
	}
	if _, err = c.conn.Write(c.out); err != nil {
		return a, err
	}
	return c.read()
}

// read reads one answer and discards its body. The answer must have a Content-Length, as those to /predict and /observe have.
func (c *wireConn) read() (a wireAnswer, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if len(line) < 12 {
		return a, fmt.Errorf("read answer: no status line: %q", line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, err
	}
	length, closes := -1, false
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return a, err
		}
		name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch {
		case !found:
			if length < 0 {
				return a, fmt.Errorf("read answer: status %d without Content-Length", a.status)
			}
			_, err = c.in.Discard(length)
			if closes {
				c.close()
			}
			return a, err
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, err = strconv.Atoi(string(value))
		case bytes.EqualFold(name, []byte("Retry-After")):
			var seconds int
			seconds, err = strconv.Atoi(string(value))
			a.hasRetryAfter, a.retryAfter = true, time.Duration(seconds)*time.Second
		case bytes.EqualFold(name, []byte("Connection")):
			closes = bytes.EqualFold(value, []byte("close"))
		}
		if err != nil {
			return a, err
		}
	}
}

func (c *wireConn) close() {
	if c.conn != nil {
		_ = c.conn.Close() // all data has been read or is lost
		c.conn = nil
	}
}
