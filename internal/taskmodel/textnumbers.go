package taskmodel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxTextNumbers    = 12 // largest count of numbers in a text, enough for a path with a time; maxColumns bounds the columns of all texts
	maxTextDigits     = 15 // largest length of such a number in characters; a longer one is an id
	minTextNumberRows = 8  // smallest number of rows with a text; with fewer, the numbers get no columns
	rowsPerText       = 3  // mean number of rows per text from which the levels suffice
)

// textNumbers describes a category whose texts differ only in numbers, such as "1920x1080" or
// "s3://bucket/rows=1253/part.parquet", and seldom recur. Then the levels (the values of the category) say little, and the
// numbers get columns. The zero value describes any other category.
type textNumbers struct {
	Between []string  // the text before, between and after the numbers
	Means   []float64 // mean of each number and of its logarithm, in turn; the line gets the means for a text of another form
	Units   []float64 `cbor:",omitempty"` // unit of each number in its logarithm; none: 1
}

// count returns the number of numbers in each text; 0 for a category without such numbers.
func (n *textNumbers) count() int { return max(0, len(n.Between)-1) }

// readTextNumbers sets c.Numbers for field j if at least minTextNumberRows rows have a text, and all texts have the same
// form and seldom recur.
func (c *column) readTextNumbers(j int, rows [][]sizing.Value) {
	var found textNumbers
	var values [][]float64 // by number
	var numbers []float64
	known := 0
	for _, cells := range rows {
		v := &cells[j]
		if v.Kind == sizing.Missing {
			continue
		}
		if known == 0 {
			found.Between = splitNumbers(v.Text)
			values = make([][]float64, found.count())
		}
		known++
		var ok bool
		if numbers, ok = found.read(v.Text, numbers[:0]); !ok {
			return
		}
		for k, x := range numbers {
			values[k] = append(values[k], x)
		}
	}
	if known < minTextNumberRows || rowsPerText*len(c.Levels) <= known {
		return
	}
	for k := range values {
		found.Units = append(found.Units, unitOf(slices.Clone(values[k])))
		mean, meanLog := 0.0, 0.0
		for _, x := range values[k] {
			mean += x / float64(known)
			meanLog += found.logOf(k, x) / float64(known)
		}
		found.Means = append(found.Means, mean, meanLog)
	}
	c.Numbers = found
}

// splitNumbers returns the parts of a text before, between and after its numbers; nil if there are no numbers, too many or
// too long ones.
func splitNumbers(text string) (between []string) {
	for {
		at := strings.IndexFunc(text, isDigit)
		if at < 0 {
			break
		}
		end := endOfNumber(text, at)
		if between = append(between, text[:at]); len(between) > maxTextNumbers || end-at > maxTextDigits {
			return nil
		}
		text = text[end:]
	}
	if between == nil {
		return nil
	}
	return append(between, text)
}

// endOfNumber returns the index after the number that starts at text[at]. There must be a digit at text[at].
func endOfNumber(text string, at int) int {
	end := at + lengthOfDigits(text[at:])
	if end < len(text) && text[end] == '.' {
		if decimals := lengthOfDigits(text[end+1:]); decimals > 0 {
			end += 1 + decimals
		}
	}
	return end
}

func lengthOfDigits(text string) int { return len(text) - len(strings.TrimLeftFunc(text, isDigit)) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// read appends the numbers of a text to dst; ok is false if the text has another form.
func (n *textNumbers) read(text string, dst []float64) (numbers []float64, ok bool) {
	for i, part := range n.Between {
		if i == n.count() {
			return dst, text == part
		}
		if !strings.HasPrefix(text, part) || len(text) == len(part) || !isDigit(rune(text[len(part)])) {
			return dst, false
		}
		text = text[len(part):]
		end := endOfNumber(text, 0)
		x, err := strconv.ParseFloat(text[:end], 64)
		if err != nil || end > maxTextDigits {
			return dst, false
		}
		dst, text = append(dst, x), text[end:]
	}
	return dst, false
}

func (n *textNumbers) logOf(k int, x float64) float64 {
	unit := 1.0
	if k < len(n.Units) {
		unit = n.Units[k]
	}
	return bayes.SignedLog(x, unit)
}

func (n *textNumbers) encode(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	var buffer [maxTextNumbers]float64
	numbers, ok := n.read(v.Text, buffer[:0])
	for k := range n.count() {
		if !ok {
			line, tree = append(line, n.Means[2*k], n.Means[2*k+1]), append(tree, math.NaN())
			continue
		}
		line, tree = append(line, numbers[k], n.logOf(k, numbers[k])), append(tree, numbers[k])
	}
	return line, tree
}

// textInput is a number in the texts of a category as an input of the trend.
type textInput struct {
	_      struct{} `cbor:",toarray"`
	Field  int      // index in the schema
	Number int      // index among the numbers of a text
	Range  interval

	texts *textNumbers // of the field's column
}

func (n *textInput) read(cells []sizing.Value) (x float64, known bool) {
	var buffer [maxTextNumbers]float64
	numbers, known := n.texts.read(cells[n.Field].Text, buffer[:0])
	if !known {
		return 0, false
	}
	return numbers[n.Number], true
}

// write replaces the number in the text of a row. Texts of another form remain.
func (n *textInput) write(cells []sizing.Value, x float64) {
	var buffer [maxTextNumbers]float64
	numbers, ok := n.texts.read(cells[n.Field].Text, buffer[:0])
	if !ok {
		return
	}
	numbers[n.Number] = x
	var text strings.Builder
	for k, number := range numbers {
		text.WriteString(n.texts.Between[k])
		text.WriteString(strconv.FormatFloat(number, 'f', -1, 64))
	}
	text.WriteString(n.texts.Between[len(numbers)])
	cells[n.Field].Text = text.String()
}

func (n *textInput) describe(schema *sizing.Schema) string {
	name := schema.Fields[n.Field].Name
	if n.texts.count() == 1 {
		return name
	}
	return fmt.Sprintf("number %d in %s", n.Number+1, name)
}

// linkTexts connects the inputs of the decoded trends with their columns, and reports whether they fit.
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
		if n.texts = &e.Columns[n.Field].Numbers; n.Number < 0 || n.Number >= n.texts.count() {
			return false
		}
	}
	return true
}
