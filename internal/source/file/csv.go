package file

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// maxRecordLines limits the lines that join appends to one record. Without this limit, join would read up to
// maxLine bytes after each quote that is never closed. A record with a cell of more lines is rejected.
const maxRecordLines = 1000

// csvReader reads RFC 4180 records below a header.
type csvReader struct {
	in          *lines
	header      []headerCell
	hasFeatures bool          // the header has feature columns
	upstream    int           // index of the column of upstream tasks, or -1
	buf         *bufio.Reader // reused for every record
}

// headerCell is one column of the file: its name among Columns ("" if the layout ignores the column), and the
// function that stores its cells.
type headerCell struct {
	name string
	set  func(o *sizing.Observation, cell string) error
}

func openCSV(in *lines, layout Layout) (*csvReader, error) {
	c := &csvReader{in: in, upstream: -1, buf: bufio.NewReaderSize(nil, 4096)}
	first, err := in.nextNonBlank()
	if err != nil {
		return nil, err
	}
	if strings.Contains(first.text, ";") && !strings.Contains(first.text, ",") {
		return nil, sizing.Errorf(sizing.Invalid, "line %d: the columns are separated by semicolons, and only commas are read; convert the file, for example "+
			`with Python: pandas.read_csv("old.csv", sep=";", decimal=",").to_csv("new.csv", index=False)`, first.number)
	}
	names, err := c.split(first.text)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "line %d: parse the CSV header: %w", first.number, err)
	}
	var unknown, missing, duplicate []string
	seen := map[string]bool{}
	if err := layout.check(first.number, names); err != nil {
		return nil, err
	}
	for _, name := range names {
		column := strings.TrimSpace(name)
		field, set := layout.field(column), layout.setter(column)
		switch {
		case set == nil && cellSetter(strings.ToLower(column)) != nil:
			unknown = append(unknown, fmt.Sprintf("%.60q (write it in lower case)", field))
		case set == nil:
			unknown = append(unknown, fmt.Sprintf("%.60q", field))
		case seen[field] && field != "":
			duplicate = append(duplicate, field)
		}
		seen[field] = true
		if field == upstreamColumn {
			c.upstream = len(c.header)
		}
		c.hasFeatures = c.hasFeatures || strings.HasPrefix(field, featurePrefix)
		c.header = append(c.header, headerCell{name: field, set: set})
	}
	for i := range columns {
		if columns[i].required && !seen[columns[i].name] {
			missing = append(missing, columns[i].name)
		}
	}
	return c, headerError(first.number, unknown, missing, duplicate)
}

func headerError(line int, unknown, missing, duplicate []string) error {
	var faults []string
	if len(unknown) > 0 {
		faults = append(faults, "unknown "+strings.Join(unknown, ", "))
	}
	if len(missing) > 0 {
		faults = append(faults, "missing "+strings.Join(missing, ", "))
	}
	if len(duplicate) > 0 {
		faults = append(faults, "duplicate "+strings.Join(duplicate, ", "))
	}
	if len(faults) == 0 {
		return nil
	}
	return sizing.Errorf(sizing.Invalid, "line %d: invalid header: %s; use the columns %s, separated by commas",
		line, strings.Join(faults, "; "), strings.Join(Columns(), ", "))
}

func cellSetter(name string) func(*sizing.Observation, string) error {
	if feature, ok := strings.CutPrefix(name, featurePrefix); ok && feature != "" {
		return func(o *sizing.Observation, cell string) error {
			if v := parseFeature(cell); v.Kind != sizing.Missing {
				o.Features[feature] = v
			}
			return nil
		}
	}
	if entry, ok := strings.CutPrefix(name, metadataPrefix); ok && entry != "" {
		return func(o *sizing.Observation, cell string) error {
			if o.Metadata == nil {
				o.Metadata = sizing.Metadata{}
			}
			o.Metadata[entry] = parseValues(cell)
			return nil
		}
	}
	if name == upstreamColumn {
		return func(_ *sizing.Observation, cell string) error { _, err := parseUpstream(cell); return err }
	}
	for i := range columns {
		if columns[i].name == name {
			return columns[i].set
		}
	}
	return nil
}

// read returns the next row. Of a malformed record it consumes only the first line: the next call reads the other lines, even
// if an open quote seemed to include them.
func (c *csvReader) read() (Row, error) {
	first, err := c.in.nextNonBlank()
	if err != nil {
		return Row{}, err
	}
	text, continuation := c.join(first.text)
	cells, err := c.split(text)
	if err == nil && len(cells) == len(c.header) {
		return c.observation(first.number, cells)
	}
	c.in.unread(continuation...)
	var parseError *csv.ParseError
	if errors.As(err, &parseError) {
		return Row{}, rowErrorf(first.number, "", "unbalanced quotes; quote a cell that contains quotes, and double each quote inside")
	}
	return Row{}, rowErrorf(first.number, "", "has %d cells, but the header has %d columns", len(cells), len(c.header))
}

// join appends the next lines while a quote is open. It also returns these lines.
func (c *csvReader) join(text string) (string, []line) {
	if strings.Count(text, `"`)%2 == 0 {
		return text, nil
	}
	var record strings.Builder
	record.WriteString(text)
	var continuation []line
	for len(continuation) < maxRecordLines && record.Len() < maxLine {
		next, err := c.in.next()
		if err != nil {
			continuation = append(continuation, line{err: err}) // the caller can unread the error with the lines
			break
		}
		continuation = append(continuation, next)
		record.WriteString("\n" + next.text)
		if strings.Count(next.text, `"`)%2 == 1 {
			break
		}
	}
	return record.String(), continuation
}

func (c *csvReader) split(text string) ([]string, error) {
	c.buf.Reset(strings.NewReader(text))
	return csv.NewReader(c.buf).Read()
}

func (c *csvReader) observation(number int, cells []string) (Row, error) {
	o := blankObservation()
	if c.hasFeatures {
		o.Features = sizing.Features{}
	}
	bad, columnWithoutZone := &RowError{Line: number}, ""
	for i, cell := range cells {
		if strings.TrimSpace(cell) == "" {
			continue
		}
		if name := c.header[i].name; (name == "started_at" || name == "ended_at") && !zonedTime.MatchString(cell) {
			columnWithoutZone = name
		}
		if err := c.header[i].set(&o, cell); err != nil {
			bad.Fields = append(bad.Fields, sizing.FieldError{Field: c.header[i].name, Detail: err.Error()})
		}
	}
	invalid := o.Validate()
	for i := range invalid {
		invalid[i].Field = columnForField(invalid[i].Field)
	}
	bad.Fields = appendMissing(bad.Fields, invalid)
	if len(bad.Fields) > 0 {
		return Row{}, bad
	}
	row := Row{Line: number, Observation: o, Zoneless: columnWithoutZone}
	if c.upstream >= 0 {
		row.Upstream, _ = parseUpstream(cells[c.upstream]) // its setter has returned the error
	}
	return row, nil
}

// zonedTime matches a time of day with a zone at the end.
var zonedTime = regexp.MustCompile(`:.*([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)\s*$`)

// appendMissing appends the errors of fields that have no error yet. Validation treats an unreadable cell as missing, and
// this second error would be misleading.
func appendMissing(errs, more []sizing.FieldError) []sizing.FieldError {
	for _, f := range more {
		if !slices.ContainsFunc(errs, func(e sizing.FieldError) bool { return e.Field == f.Field }) {
			errs = append(errs, f)
		}
	}
	return errs
}
