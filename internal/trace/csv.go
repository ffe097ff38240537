package trace

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

// maxRecordLines bounds how far a quoted cell may run on. A quote that is never
// closed must not swallow the rest of the file.
const maxRecordLines = 1000

// csvRows reads records of RFC 4180 under a header.
type csvRows struct {
	in     *lines
	header []cellReader
	asks   bool          // the header has features
	buf    *bufio.Reader // reused for every record
}

// cellReader is one column of a header.
type cellReader struct {
	name string
	set  func(o *sizing.Observation, cell string) error
}

// openCSV reads and judges the header.
func openCSV(in *lines, layout Layout) (*csvRows, error) {
	c := &csvRows{in: in, buf: bufio.NewReaderSize(nil, 4096)}
	first, err := in.nextFilled()
	if err != nil {
		return nil, err
	}
	names, err := c.split(first.text)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "line %d: the header is not CSV: %w", first.number, err)
	}
	var unknown, missing, twice []string
	seen := map[string]bool{}
	if err := layout.check(first.number, names); err != nil {
		return nil, err
	}
	for _, name := range names {
		column := strings.TrimSpace(name)
		name, set := layout.field(column), layout.setter(column)
		switch {
		case set == nil:
			unknown = append(unknown, fmt.Sprintf("%.60q", name))
		case seen[name] && name != "":
			twice = append(twice, name)
		}
		seen[name] = true
		c.asks = c.asks || strings.HasPrefix(name, featurePrefix)
		c.header = append(c.header, cellReader{name: name, set: set})
	}
	for i := range columns {
		if columns[i].required && !seen[columns[i].name] {
			missing = append(missing, columns[i].name)
		}
	}
	return c, headerError(first.number, unknown, missing, twice)
}

// headerError says everything that is wrong with a header at once, or is nil.
func headerError(line int, unknown, missing, twice []string) error {
	var wrong []string
	if len(unknown) > 0 {
		wrong = append(wrong, "unknown "+strings.Join(unknown, ", "))
	}
	if len(missing) > 0 {
		wrong = append(wrong, "missing "+strings.Join(missing, ", "))
	}
	if len(twice) > 0 {
		wrong = append(wrong, "twice "+strings.Join(twice, ", "))
	}
	if len(wrong) == 0 {
		return nil
	}
	return sizing.Errorf(sizing.Invalid, "line %d: the header has columns that are wrong: %s; known are %s, separated by commas",
		line, strings.Join(wrong, "; "), strings.Join(Columns(), ", "))
}

// cellSetter is how the cells of a column are read; nil if it is not known.
func cellSetter(name string) func(*sizing.Observation, string) error {
	if feature, ok := strings.CutPrefix(name, featurePrefix); ok && feature != "" {
		return func(o *sizing.Observation, cell string) error {
			if v := readFeature(cell); v.Kind != sizing.Missing {
				o.Features[feature] = v
			}
			return nil
		}
	}
	for i := range columns {
		if columns[i].name == name {
			return columns[i].set
		}
	}
	return nil
}

// read is one record as an observation. A record that cannot be read costs its
// first line only, whatever its quotes seem to say of the next ones.
func (c *csvRows) read() (Row, error) {
	first, err := c.in.nextFilled()
	if err != nil {
		return Row{}, err
	}
	text, more := c.join(first.text)
	cells, err := c.split(text)
	if err == nil && len(cells) == len(c.header) {
		return c.observation(first.number, cells)
	}
	c.in.putBack(more...)
	var quotes *csv.ParseError
	if errors.As(err, &quotes) {
		return Row{}, lost(first.number, "", "the quotes do not match: a cell with a quote is quoted, and its quotes are written twice")
	}
	return Row{}, lost(first.number, "", "has %d cells under %d columns", len(cells), len(c.header))
}

// join appends the lines that an open quote runs on to, and says which they were.
func (c *csvRows) join(text string) (string, []line) {
	if strings.Count(text, `"`)%2 == 0 {
		return text, nil
	}
	var whole strings.Builder
	whole.WriteString(text)
	var more []line
	for len(more) < maxRecordLines && whole.Len() < maxLine {
		next, err := c.in.next()
		if err != nil {
			more = append(more, line{err: err}) // the quote stayed open: put back with the rest
			break
		}
		more = append(more, next)
		whole.WriteString("\n" + next.text)
		if strings.Count(next.text, `"`)%2 == 1 {
			break
		}
	}
	return whole.String(), more
}

// split cuts one record into cells.
func (c *csvRows) split(text string) ([]string, error) {
	c.buf.Reset(strings.NewReader(text))
	return csv.NewReader(c.buf).Read()
}

func (c *csvRows) observation(number int, cells []string) (Row, error) {
	o := blankObservation()
	if c.asks {
		o.Features = sizing.Features{}
	}
	bad, zoneless := &RowError{Line: number}, ""
	for i, cell := range cells {
		if strings.TrimSpace(cell) == "" {
			continue
		}
		if name := c.header[i].name; (name == "started_at" || name == "ended_at") && !zoned.MatchString(cell) {
			zoneless = name
		}
		if err := c.header[i].set(&o, cell); err != nil {
			bad.Fields = append(bad.Fields, sizing.FieldError{Field: c.header[i].name, Detail: err.Error()})
		}
	}
	wrong := o.Validate()
	for i := range wrong {
		wrong[i].Field = columnOf(wrong[i].Field)
	}
	bad.Fields = addNew(bad.Fields, wrong)
	if len(bad.Fields) > 0 {
		return Row{}, bad
	}
	return Row{Line: number, Observation: o, Zoneless: zoneless}, nil
}

// zoned is a time of day with its zone at the end.
var zoned = regexp.MustCompile(`:.*([zZ]|[+-][0-9]{2}(:?[0-9]{2})?)\s*$`)

// addNew appends the errors of fields that have none yet: a cell that could not
// be read is blank to the validation, which has nothing to add.
func addNew(told, more []sizing.FieldError) []sizing.FieldError {
	for _, f := range more {
		if !slices.ContainsFunc(told, func(t sizing.FieldError) bool { return t.Field == f.Field }) {
			told = append(told, f)
		}
	}
	return told
}
