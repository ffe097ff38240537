package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxLine limits the bytes of one line, so that reading needs constant memory. 200
// features of 500 four-byte characters need less than half of it.
const maxLine = 1 << 20

// line is one physical line without its line ending, or a read error in its place.
type line struct {
	number int
	text   string
	err    error
}

type lines struct {
	in     *bufio.Reader
	number int
	pushed []line // returned before new lines, in order
}

// next returns the next line, and io.EOF after the last. It skips a line that is too long
// or not UTF-8, and returns a *RowError for it.
func (l *lines) next() (line, error) {
	if len(l.pushed) > 0 {
		first := l.pushed[0]
		l.pushed = l.pushed[1:]
		return first, first.err
	}
	text, tooLong, err := l.scan()
	if err != nil {
		return line{}, err
	}
	if tooLong {
		return line{}, rowErrorf(l.number, "", "is longer than %d bytes", maxLine)
	}
	if !utf8.ValidString(text) {
		return line{}, rowErrorf(l.number, "", "is not UTF-8; convert the file, for example with iconv -f %s -t utf-8", guessEncoding(text))
	}
	return line{number: l.number, text: text}, nil
}

// guessEncoding returns the likely encoding of a text that is not UTF-8, as a name for iconv. UTF-16 begins with a byte order
// mark, and every second byte of its ASCII characters is zero.
func guessEncoding(text string) string {
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || strings.Contains(text, "\x00") {
		return "utf-16"
	}
	return "latin1"
}

func (l *lines) nextNonBlank() (line, error) {
	for {
		next, err := l.next()
		if err != nil || strings.TrimSpace(next.text) != "" {
			return next, err
		}
	}
}

func (l *lines) unread(read ...line) { l.pushed = append(read, l.pushed...) }

// scan reads a line and returns at most maxLine bytes of it.
func (l *lines) scan() (_ string, tooLong bool, _ error) {
	var text []byte
	for {
		piece, err := l.in.ReadSlice('\n')
		if len(text)+len(piece) <= maxLine {
			text = append(text, piece...)
		} else {
			tooLong = true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			cause := ""
			if errors.Is(err, io.ErrUnexpectedEOF) {
				cause = "the file is truncated: "
			}
			return "", false, sizing.Errorf(sizing.Invalid, "read after line %d: %s%w", l.number, cause, err)
		}
		if err != nil && len(text) == 0 && !tooLong {
			return "", false, io.EOF
		}
		l.number++
		return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), tooLong, nil
	}
}

// rowErrorf returns the error of a row with one fault: in a column or, if `column` is empty, in the whole row.
func rowErrorf(line int, column, format string, args ...any) *RowError {
	return &RowError{Line: line, Fields: []sizing.FieldError{{Field: column, Detail: fmt.Sprintf(format, args...)}}}
}
