package trace

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Row is one observation and the line where it began, counted from 1.
type Row struct {
	Line        int
	Observation sizing.Observation
	Zoneless    string // column of a time that names no zone, and is read as UTC; "" if there is none
}

// RowError is a row that could not be read, with its bad cells. The rows after it
// can be. It is of kind sizing.Invalid.
type RowError struct {
	Line   int
	Fields []sizing.FieldError // Field is the column, or the JSON field; "" for the row as a whole
}

// Error reads `line 7: memory_max_bytes: "abc" is not a number of bytes`.
func (e *RowError) Error() string {
	var said []string
	for _, f := range e.Fields {
		if f.Field == "" {
			said = append(said, f.Detail)
		} else {
			said = append(said, f.Field+": "+f.Detail)
		}
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(said, "; "))
}

// Unwrap gives the error its kind.
func (e *RowError) Unwrap() error { return &sizing.Error{Kind: sizing.Invalid, Fields: e.Fields} }

// Reader yields the rows of one stream. It is for one goroutine.
type Reader struct {
	rows rowReader
}

// rowReader is one format. It returns *RowError for a row that is lost alone, and
// io.EOF after the last one.
type rowReader interface {
	read() (Row, error)
}

// Open looks at the first bytes of r to tell gzip from plain and JSONL from CSV,
// and reads the header of a CSV. An empty stream, a column that is not known or
// a required one that is missing are errors of kind sizing.Invalid.
func Open(r io.Reader) (*Reader, error) { return OpenAs(r, Layout{}) }

// OpenAs is Open of a file whose CSV columns have other names or units.
func OpenAs(r io.Reader, layout Layout) (*Reader, error) {
	plain, err := gunzip(bufio.NewReader(r))
	if err != nil {
		return nil, err
	}
	if bom, _ := plain.Peek(3); string(bom) == "\ufeff" {
		_, _ = plain.Discard(len(bom)) // buffered already: cannot fail
	}
	in := &lines{in: plain}
	first, err := in.nextFilled()
	if errors.Is(err, io.EOF) {
		return nil, sizing.Errorf(sizing.Invalid, "the file is empty: expected a CSV header or JSON lines")
	}
	if err != nil {
		return nil, err
	}
	in.putBack(first)
	if strings.HasPrefix(strings.TrimSpace(first.text), "{") {
		if layout.isSet() {
			return nil, sizing.Errorf(sizing.Invalid, "the file holds JSON lines, whose fields say their own names and units: other names and units are for CSV")
		}
		return &Reader{rows: newJSONRows(in)}, nil
	}
	rows, err := openCSV(in, layout)
	if err != nil {
		return nil, err
	}
	return &Reader{rows: rows}, nil
}

// gunzip unpacks a stream that begins with gzip's magic bytes (RFC 1952).
func gunzip(r *bufio.Reader) (*bufio.Reader, error) {
	if magic, _ := r.Peek(2); string(magic) != "\x1f\x8b" {
		return r, nil
	}
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "the gzip stream cannot be read: %w", err)
	}
	return bufio.NewReader(zip), nil
}

// Read returns the next row; io.EOF after the last one. After a *RowError reading
// goes on; after any other error it has ended.
func (r *Reader) Read() (Row, error) { return r.rows.read() }

// All yields the rows until the end of the stream: rows that cannot be read with
// their *RowError, and any other error last.
func (r *Reader) All() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(row, err) || err != nil && !isRowError(err) {
				return
			}
		}
	}
}

func isRowError(err error) bool {
	var lost *RowError
	return errors.As(err, &lost)
}
