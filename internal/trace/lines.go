package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxLine bounds one line: 200 features of 500 four-byte characters fit in half
// of it. Reading in constant memory needs a bound.
const maxLine = 1 << 20

// line is one physical line without its end, or the error in its place.
type line struct {
	number int
	text   string
	err    error // what the reading of it came to
}

// lines reads physical lines, and takes back those that were read too far.
type lines struct {
	in     *bufio.Reader
	number int
	again  []line // to be read again, in order
}

// next is the next line; io.EOF after the last. A line that is too long,
// or not text, is a *RowError, and is passed over.
func (l *lines) next() (line, error) {
	if len(l.again) > 0 {
		first := l.again[0]
		l.again = l.again[1:]
		return first, first.err
	}
	text, tooLong, err := l.scan()
	if err != nil {
		return line{}, err
	}
	if tooLong {
		return line{}, lost(l.number, "", "is longer than %d bytes", maxLine)
	}
	if !utf8.ValidString(text) {
		return line{}, lost(l.number, "", "is not UTF-8: convert the file, such as by iconv -f %s -t utf-8", encodingOf(text))
	}
	return line{number: l.number, text: text}, nil
}

// encodingOf guesses the encoding of text that is not UTF-8: UTF-16 begins with a byte
// order mark, and every second byte of its ASCII characters is zero.
func encodingOf(text string) string {
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || strings.Contains(text, "\x00") {
		return "utf-16"
	}
	return "latin1"
}

// nextFilled is next, past lines that hold only white space.
func (l *lines) nextFilled() (line, error) {
	for {
		next, err := l.next()
		if err != nil || strings.TrimSpace(next.text) != "" {
			return next, err
		}
	}
}

// putBack makes the lines the next ones.
func (l *lines) putBack(read ...line) { l.again = append(read, l.again...) }

// scan reads to the end of the line, keeping at most maxLine bytes of it.
func (l *lines) scan() (text string, tooLong bool, err error) {
	var kept []byte
	for {
		piece, err := l.in.ReadSlice('\n')
		if len(kept)+len(piece) <= maxLine {
			kept = append(kept, piece...)
		} else {
			tooLong = true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", false, sizing.Errorf(sizing.Invalid, "the file breaks off after line %d: %w", l.number, err)
		}
		if err != nil && len(kept) == 0 && !tooLong {
			return "", false, io.EOF
		}
		l.number++
		return strings.TrimSuffix(strings.TrimSuffix(string(kept), "\n"), "\r"), tooLong, nil
	}
}

// lost makes the error of a row with one bad cell.
func lost(line int, column, format string, args ...any) *RowError {
	return &RowError{Line: line, Fields: []sizing.FieldError{{Field: column, Detail: fmt.Sprintf(format, args...)}}}
}
