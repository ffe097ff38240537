package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"
)

// wireConn is one keep-alive connection that speaks just enough HTTP/1.1. The
// generator shares its core with nobody, and net/http's client would need most of it.
type wireConn struct {
	addr string
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// wireAnswer is what the generator wants to know of an answer.
type wireAnswer struct {
	status     int
	retryAfter time.Duration
	polite     bool // Retry-After was there
}

// dial connects, unless it is connected.
func (c *wireConn) dial(deadline time.Duration) (err error) {
	if c.conn != nil {
		return nil
	}
	if c.conn, err = net.DialTimeout("tcp", c.addr, deadline); err != nil {
		c.conn = nil // not a nil pointer in an interface
		return err
	}
	c.in = bufio.NewReader(c.conn)
	return nil
}

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

// read takes one answer off the connection. Every answer of this API has a length.
func (c *wireConn) read() (a wireAnswer, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return a, err
	}
	if len(line) < 12 {
		return a, fmt.Errorf("no status line: %q", line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return a, err
	}
	length, shut := -1, false
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return a, err
		}
		name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch {
		case !found:
			if length < 0 {
				return a, fmt.Errorf("an answer of status %d without Content-Length", a.status)
			}
			_, err = c.in.Discard(length)
			if shut {
				c.close()
			}
			return a, err
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, err = strconv.Atoi(string(value))
		case bytes.EqualFold(name, []byte("Retry-After")):
			var seconds int
			seconds, err = strconv.Atoi(string(value))
			a.polite, a.retryAfter = true, time.Duration(seconds)*time.Second
		case bytes.EqualFold(name, []byte("Connection")):
			shut = bytes.EqualFold(value, []byte("close"))
		}
		if err != nil {
			return a, err
		}
	}
}

func (c *wireConn) close() {
	if c.conn != nil {
		_ = c.conn.Close() // there is nothing left to say
		c.conn = nil
	}
}
