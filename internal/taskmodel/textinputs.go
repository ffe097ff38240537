package taskmodel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// textInput is a number in the texts of a category as an input of the trend. The numbers with columns are those of the whole text
// (textNumbers) or of its parts (textParts), in the order of the text, and after them the periods between its dates (textDates).
type textInput struct {
	_      struct{} `cbor:",toarray"`
	Field  int      // index in the schema
	Number int      // index among the numbers with columns, see column.textNumberCount
	Range  interval

	column *column // of the field
}

// textNumberCount returns how many numbers of the texts of a category have columns, including the periods.
func (c *column) textNumberCount() int {
	n := c.Numbers.count() + c.Dates.count()
	for k := range c.Parts.Columns {
		n += c.Parts.Columns[k].Numbers.count()
	}
	return n
}

// hasTextColumns reports whether parts, numbers or periods of the texts have columns.
func (c *column) hasTextColumns() bool { return len(c.Parts.At) > 0 || c.textNumberCount() > 0 }

// period converts an index among the numbers with columns to the index among the periods. It returns a negative index if the number
// is no period.
func (c *column) period(number int) int { return number - c.textNumberCount() + c.Dates.count() }

// partWithNumber returns the part of a text that contains a number with columns: text[from:to]. The number has the index k among
// the numbers of this part. ok is false if the text lacks the part, or if the number is a period.
func (c *column) partWithNumber(text string, number int) (numbers *textNumbers, k, from, to int, ok bool) {
	if number < c.Numbers.count() {
		return &c.Numbers, number, 0, len(text), true
	}
	for i := range c.Parts.Columns {
		if n := c.Parts.Columns[i].Numbers.count(); number >= n {
			number -= n
			continue
		}
		from, to, ok = c.Parts.find(text, c.Parts.At[i])
		return &c.Parts.Columns[i].Numbers, number, from, to, ok
	}
	return nil, 0, 0, 0, false
}

// read returns the number in the text of a row. known is false if the text has another form.
func (n *textInput) read(cells []sizing.Value) (x float64, known bool) {
	var buffer [max(maxTextNumbers, maxTextDates)]float64
	text := cells[n.Field].Text
	if k := n.column.period(n.Number); k >= 0 {
		lengths, ok := n.column.Dates.read(text, buffer[:0])
		if !ok {
			return 0, false
		}
		return lengths[k], true
	}
	numbers, k, from, to, ok := n.column.partWithNumber(text, n.Number)
	if !ok {
		return 0, false
	}
	values, known := numbers.read(text[from:to], buffer[:0])
	if !known {
		return 0, false
	}
	return values[k], true
}

// write replaces the number in the text of a row. It leaves a text of another form unchanged.
func (n *textInput) write(cells []sizing.Value, x float64) {
	text := cells[n.Field].Text
	if k := n.column.period(n.Number); k >= 0 {
		cells[n.Field].Text = n.column.Dates.replace(text, k, x)
	} else if numbers, k, from, to, ok := n.column.partWithNumber(text, n.Number); ok {
		cells[n.Field].Text = text[:from] + numbers.replace(text[from:to], k, x) + text[to:]
	}
}

// replace returns the text with another value of number k, or the same text if it has another form.
func (n *textNumbers) replace(text string, k int, x float64) string {
	var buffer [maxTextNumbers]float64
	values, ok := n.read(text, buffer[:0])
	if !ok {
		return text
	}
	values[k] = x
	var replaced strings.Builder
	for i, value := range values {
		replaced.WriteString(n.Between[i])
		replaced.WriteString(strconv.FormatFloat(value, 'f', -1, 64))
	}
	replaced.WriteString(n.Between[len(values)])
	return replaced.String()
}

// describe names the number in a reason. The name contains the feature and, if its text in cells has several numbers, the position
// of the number; for a period, it contains the positions of the two dates.
func (n *textInput) describe(schema *sizing.Schema, cells []sizing.Value) string {
	name, text := schema.Fields[n.Field].Name, cells[n.Field].Text
	if k := n.column.period(n.Number); k >= 0 {
		return fmt.Sprintf("days between dates %d and %d in %s", k+1, k+2, name)
	}
	_, k, from, _, ok := n.column.partWithNumber(text, n.Number)
	if !ok || countNumbers(text) == 1 {
		return name
	}
	return fmt.Sprintf("number %d in %s", countNumbers(text[:from])+k+1, name)
}

func countNumbers(text string) (n int) {
	for {
		at := strings.IndexFunc(text, isDigit)
		if at < 0 {
			return n
		}
		n, text = n+1, text[endOfNumber(text, at):]
	}
}

// linkTexts sets the columns of the inputs of decoded trends, and reports whether all inputs exist in these columns.
func (m *models) linkTexts() bool {
	for k := range m.ValueTrends.Trends {
		if !m.ValueTrends.Trends[k].Peaks.linkTexts(m.Enc) {
			return false
		}
	}
	return m.PeakTrend.linkTexts(m.Enc)
}

func (t *trend) linkTexts(e *encoder) bool {
	for k := range t.Texts {
		n := &t.Texts[k]
		if n.Field < 0 || n.Field >= len(e.Columns) {
			return false
		}
		if n.column = &e.Columns[n.Field]; n.Number < 0 || n.Number >= n.column.textNumberCount() {
			return false
		}
	}
	return true
}
