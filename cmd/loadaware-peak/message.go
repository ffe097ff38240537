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

// maxMessage is the maximum length of a message in bytes: less than the 4096 bytes that Kubernetes reads.
const maxMessage = 4095

// combine adds a report to the program's own message. The message keeps all its text except white space at its end, and
// a message of only white space counts as no message:
//
//	no message .............. the report as one JSON object
//	a JSON object ........... its members, then those of the report that it lacks
//	an object with a peak ... no report: the program measures itself
//	other JSON .............. no report: a bare number is a peak only if it is the whole message
//	text .................... the text, then the report on a separate line
//
// If the result is longer than maxMessage, combine reduces the series to a half and then to a quarter of maxPoints, and
// then omits it. If even the report without a series is too long, combine returns the program's message.
func combine(own []byte, r report) []byte {
	for _, points := range []int{maxPoints, maxPoints / 2, maxPoints / 4, 0} {
		if joined := join(own, r.fields(points)); len(joined) <= maxMessage {
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
		return appendObject(nil, fields)
	case json.Unmarshal(text, &object) == nil && object != nil:
		return merge(own, object, fields)
	case json.Valid(text):
		return own
	case bytes.HasSuffix(own, []byte("\n")):
		return appendObject(bytes.Clone(own), fields)
	default:
		return appendObject(append(bytes.Clone(own), '\n'), fields)
	}
}

// merge appends the fields that an object lacks. `own` is the text of the object.
func merge(own []byte, object map[string]json.RawMessage, fields []field) []byte {
	if object[peakKey] != nil || object["memory_max"] != nil {
		return own
	}
	var added []field
	for _, f := range fields {
		if object[f.key] == nil {
			added = append(added, f)
		}
	}
	open := bytes.Clone(own[:bytes.LastIndexByte(own, '}')])
	if len(object) > 0 && len(added) > 0 {
		open = append(open, ',')
	}
	return append(append(open, members(added)...), '}')
}

func appendObject(before []byte, fields []field) []byte {
	return append(append(append(before, '{'), members(fields)...), '}')
}

// message is the file of the termination message. It may be a bind mount of a file, so the
// wrapper writes it in place and never replaces it.
type message struct {
	path    string
	create  bool
	written []byte // content after the last write
}

// errProgramMessage means that the wrapper leaves the message unchanged: it belongs to the program, or
// is too long for a report.
var errProgramMessage = errors.New("the program wrote its own message")

// draft writes a report in case the kernel kills the whole container at once
// (memory.oom.group). It writes nothing if the program has written a message.
func (m *message) draft(r report) error {
	return m.write(func(own []byte) ([]byte, error) {
		if len(own) > 0 {
			return nil, errProgramMessage
		}
		return combine(nil, r), nil
	})
}

// final adds the report to the message that the program wrote.
func (m *message) final(r report) error {
	return m.write(func(own []byte) ([]byte, error) { return combine(own, r), nil })
}

// write replaces the content of the file with the result of `compose`. `own` is what the program wrote: the content
// without `written` at its beginning.
func (m *message) write(compose func(own []byte) ([]byte, error)) error {
	flags := os.O_RDWR | syscall.O_NONBLOCK // do not block on a pipe
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
	old, err := io.ReadAll(io.LimitReader(file, int64(len(m.written))+maxMessage+1))
	if err != nil {
		return err
	}
	own := bytes.TrimPrefix(old, m.written)
	if len(own) > maxMessage {
		return errProgramMessage // too long to read and to extend
	}
	text, err := compose(own)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	return m.replace(file, old, text)
}

// replace writes from the first byte that differs, so that it does not rewrite a program's part at the beginning. It
// restores the old content if the write fails, such as on a full disk.
func (m *message) replace(file *os.File, old, text []byte) error {
	same := 0
	for same < min(len(old), len(text)) && old[same] == text[same] {
		same++
	}
	if _, err := file.WriteAt(text[same:], int64(same)); err != nil {
		_, restoreErr := file.WriteAt(old[same:], int64(same))
		return errors.Join(err, restoreErr, file.Truncate(int64(len(old))))
	}
	m.written = text
	return file.Truncate(int64(len(text)))
}
