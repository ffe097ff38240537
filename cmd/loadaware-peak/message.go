//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Kubernetes takes 4096 bytes of a termination message at most; ours ends below that.
const largestMessage = 4095

// place joins a report to what the program itself left as its message, which stays:
//
//	nothing ................. the report, as one JSON object
//	a JSON object ........... our members behind its own, none of which is touched
//	other JSON, or a peak ... stays alone: its reader expects just that
//	text .................... the report as a line of its own behind it
//
// The series gets coarser until all fits; where even the figures alone do not, the
// program's message stays alone.
func place(own []byte, r report) []byte {
	for _, points := range []int{mostPoints, mostPoints / 2, mostPoints / 4, 0} {
		if joined := join(own, r.fields(points)); len(joined) <= largestMessage {
			return joined
		}
	}
	return own
}

func join(own []byte, fields []field) []byte {
	text := bytes.TrimSpace(own)
	var object map[string]json.RawMessage
	switch {
	case len(text) == 0:
		return braced(nil, fields)
	case json.Unmarshal(text, &object) == nil && object != nil:
		return merge(own, object, fields)
	case json.Valid(text):
		return own
	case bytes.HasSuffix(own, []byte("\n")):
		return braced(bytes.Clone(own), fields)
	default:
		return braced(append(bytes.Clone(own), '\n'), fields)
	}
}

// merge puts the fields behind the members of an object, without those that it has.
// A program that tells a peak has measured by itself: that stands alone.
func merge(own []byte, object map[string]json.RawMessage, fields []field) []byte {
	if object[peakKey] != nil || object["memory_max"] != nil {
		return own
	}
	var ours []field
	for _, f := range fields {
		if object[f.key] == nil {
			ours = append(ours, f)
		}
	}
	open := bytes.Clone(own[:bytes.LastIndexByte(own, '}')])
	if len(object) > 0 && len(ours) > 0 {
		open = append(open, ',')
	}
	return append(append(open, members(ours)...), '}')
}

func braced(before []byte, fields []field) []byte {
	return append(append(append(before, '{'), members(fields)...), '}')
}

// message is the file of the termination message. It may be a mount of a single file, so
// it is written in place and never replaced.
type message struct {
	path   string
	create bool
	ours   []byte // what we wrote last
}

var errForeign = errors.New("the program has a message of its own")

// draft leaves a report in case that all of the container is killed at once, as the
// kernel does by memory.oom.group. It gives way to whatever the program has written.
func (m *message) draft(r report) error {
	return m.write(func(own []byte) ([]byte, error) {
		if len(own) > 0 {
			return nil, errForeign
		}
		return place(nil, r), nil
	})
}

// final joins the report to what the program has written.
func (m *message) final(r report) error {
	return m.write(func(own []byte) ([]byte, error) { return place(own, r), nil })
}

// write puts a new text in place of the old, of which compose sees what is not ours.
func (m *message) write(compose func(own []byte) ([]byte, error)) error {
	flags := os.O_RDWR | syscall.O_NONBLOCK // a pipe in its place must not hang us
	if m.create {
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(m.path, flags, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is not a regular file", m.path))
	}
	old, err := io.ReadAll(io.LimitReader(file, largestMessage+1))
	if err != nil {
		return err
	}
	if len(old) > largestMessage {
		return errForeign // there is no room, and we have not seen all of it
	}
	text, err := compose(bytes.TrimPrefix(old, m.ours))
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	return m.replace(file, old, text)
}

// replace writes from the first byte that differs, so what a program wrote is not even
// rewritten. Where the disk is full, it takes back what it wrote.
func (m *message) replace(file *os.File, old, text []byte) error {
	same := 0
	for same < min(len(old), len(text)) && old[same] == text[same] {
		same++
	}
	if _, err := file.WriteAt(text[same:], int64(same)); err != nil {
		_, back := file.WriteAt(old[same:], int64(same))
		return errors.Join(err, back, file.Truncate(int64(len(old))))
	}
	m.ours = text
	return file.Truncate(int64(len(text)))
}
