// Package file reads and writes history files: one row for each try of a task.
//
//	CSV    the columns of Columns, in any order
//	JSONL  one body of POST /observe on each line
//
// Files may be gzipped. Reading makes one pass in constant memory and detects the format
// from the first bytes. After a row that cannot be read, reading continues with the next row.
//
// The package depends on the wire format of package api and the domain types of sizing, not on servers, stores or
// learning.
package file

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/textfile"
)

// Row is one observation with the number of its first line, counted from 1.
type Row struct {
	Line        int
	Observation sizing.Observation
	Zoneless    string   // name of a column whose time has no zone or no time of day and is read as UTC; "" if there is none
	Upstream    []string // ids of the upstream tasks; nil if the file has no column for them
}

// RowError reports a row that cannot be read, with its invalid cells. Reading can
// continue after it. It is of kind sizing.Invalid.
type RowError struct {
	Line   int
	Fields []sizing.FieldError // Field is the column, or the JSON field; "" for the whole row
}

// Error returns for example `line 7: memory_max_bytes: "abc" is not a number of bytes, such as 3560151999`.
func (e *RowError) Error() string {
	var messages []string
	for _, f := range e.Fields {
		if f.Field == "" {
			messages = append(messages, f.Detail)
		} else {
			messages = append(messages, f.Field+": "+f.Detail)
		}
	}
	return fmt.Sprintf("line %d: %s", e.Line, strings.Join(messages, "; "))
}

// Unwrap returns an error of kind sizing.Invalid.
func (e *RowError) Unwrap() error { return &sizing.Error{Kind: sizing.Invalid, Fields: e.Fields} }

// Reader reads the rows of one stream. It is not safe for concurrent use.
type Reader struct {
	rows rowReader
}

// rowReader reads one format. It returns a *RowError for a row that cannot be read, and
// io.EOF after the last row.
type rowReader interface {
	read() (Row, error)
}

const bufferSize = 4096

// Open detects gzip and the format from the first bytes of r, and reads the header of a
// CSV. An empty stream, and an unknown, a duplicate or a missing required column, are errors of
// kind sizing.Invalid.
func Open(r io.Reader) (*Reader, error) { return OpenAs(r, Layout{}) }

// OpenAs is like Open, for a CSV whose columns have the names and units of `layout`.
func OpenAs(r io.Reader, layout Layout) (*Reader, error) {
	text, err := textfile.Open(r, bufferSize)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "%w", err)
	}
	in := &lines{in: text}
	first, err := in.nextNonBlank()
	if errors.Is(err, io.EOF) {
		return nil, sizing.Errorf(sizing.Invalid, "the file is empty; it needs a CSV header or JSON lines")
	}
	if err != nil {
		return nil, err
	}
	in.unread(first)
	start := strings.TrimSpace(first.text)
	if strings.HasPrefix(start, "[") {
		return nil, sizing.Errorf(sizing.Invalid, "line %d: a JSON array is not read; write one object per line", first.number)
	}
	if strings.HasPrefix(start, "{") {
		if layout.isSet() {
			return nil, sizing.Errorf(sizing.Invalid, "the file holds JSON lines; column names and units can be changed for CSV only")
		}
		return &Reader{rows: newJSONReader(in)}, nil
	}
	rows, err := openCSV(in, layout)
	if err != nil {
		return nil, err
	}
	return &Reader{rows: rows}, nil
}

// IsCSV reports whether the stream is CSV and not JSON lines.
func (r *Reader) IsCSV() bool { _, isCSV := r.rows.(*csvReader); return isCSV }

// Features returns the names of the features in the order of the columns of a CSV; none for JSON lines, which have no header.
func (r *Reader) Features() (names []string) {
	if c, isCSV := r.rows.(*csvReader); isCSV {
		for _, cell := range c.header {
			if name, ok := strings.CutPrefix(cell.name, featurePrefix); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// Read returns the next row, and io.EOF after the last. Reading can continue after a
// *RowError, but not after any other error. A row without a duration gets the time from its start to its end;
// see sizing.Observation.DeriveDuration.
func (r *Reader) Read() (Row, error) {
	row, err := r.rows.read()
	row.Observation.DeriveDuration()
	return row, err
}

// All yields the rows until the end of the stream. It yields a *RowError for a row that
// cannot be read, and stops after any other error.
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
	var rowError *RowError
	return errors.As(err, &rowError)
}
