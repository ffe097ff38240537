package taskmodel

import (
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
	maxTriedForms     = 3  // number of first texts whose forms are tried; if nearly all texts have one form, it is very likely among these
	rowsPerText       = 3  // mean number of rows per text from which the texts count as recurring, so that their levels suffice
)

// textNumbers describes a category whose texts differ only in numbers, such as "1920x1080" or
// "s3://bucket/rows=1253/part.parquet", and seldom recur. Then the levels (the values of the category) say little, and the
// numbers get columns. It also describes one part of the texts of a category (see textParts); for a part, it suffices that at
// least the share minFormShare of the values differs only in numbers. The zero value describes any other category or part.
type textNumbers struct {
	Between []string  // the text before, between and after the numbers
	Means   []float64 // mean of each number and of its logarithm, in turn; the line gets the means for a text of another form
	Units   []float64 `cbor:",omitempty"` // unit of each number in its logarithm; none: 1
}

// count returns the number of numbers in each text; 0 for a category without such numbers.
func (n *textNumbers) count() int { return max(0, len(n.Between)-1) }

// readTextNumbers sets c.Numbers for field j if at least minTextNumberRows rows have a text, all texts have the same form, and they
// seldom recur.
func (c *column) readTextNumbers(j int, rows [][]sizing.Value) {
	if c.seldomRecurs(j, rows) {
		c.Numbers = findTextNumbers(j, rows, 1)
	}
}

// seldomRecurs reports whether the texts of field j seldom recur.
func (c *column) seldomRecurs(j int, rows [][]sizing.Value) bool {
	known := 0
	for _, cells := range rows {
		known += boolToInt(cells[j].Kind != sizing.Missing)
	}
	return rowsPerText*len(c.Levels) > known
}

// findTextNumbers describes the numbers in the texts of field j if at least minTextNumberRows rows have a text, and at least the
// share minShare of these texts has the same form as one of the first texts. Otherwise it returns the zero value.
func findTextNumbers(j int, rows [][]sizing.Value, minShare float64) textNumbers {
	var first []string
	known := 0
	for _, cells := range rows {
		if v := &cells[j]; v.Kind != sizing.Missing {
			if known++; known <= maxTriedForms {
				first = append(first, v.Text)
			}
		}
	}
	if known < minTextNumberRows {
		return textNumbers{}
	}
	for _, text := range first {
		found := textNumbers{Between: splitNumbers(text)}
		if values := found.readAll(j, rows); found.count() > 0 && float64(len(values[0])) >= minShare*float64(known) {
			found.Units, found.Means = describeNumbers(values)
			return found
		}
	}
	return textNumbers{}
}

// readAll returns, by number, the values in the texts of field j that have the form of n.
func (n *textNumbers) readAll(j int, rows [][]sizing.Value) [][]float64 {
	values := make([][]float64, n.count())
	var numbers []float64
	for _, cells := range rows {
		var ok bool
		if numbers, ok = n.read(cells[j].Text, numbers[:0]); !ok {
			continue
		}
		for k, x := range numbers {
			values[k] = append(values[k], x)
		}
	}
	return values
}

// describeNumbers returns, by number, the unit, and the mean and the mean logarithm in turn; see textNumbers.
func describeNumbers(values [][]float64) (units, means []float64) {
	for _, of := range values {
		unit := unitOf(slices.Clone(of))
		mean, meanLog, known := 0.0, 0.0, float64(len(of))
		for _, x := range of {
			mean += x / known
			meanLog += bayes.SignedLog(x, unit) / known
		}
		units, means = append(units, unit), append(means, mean, meanLog)
	}
	return units, means
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

func (n *textNumbers) encode(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	var buffer [maxTextNumbers]float64
	numbers, ok := n.read(v.Text, buffer[:0])
	if !ok {
		numbers = nil
	}
	return appendNumbers(numbers, n.Units, n.Means, line, tree)
}

// appendNumbers appends the columns of the numbers of a text, whose units and means describeNumbers has returned; nil: the text has
// another form. Without units, all are 1.
func appendNumbers(numbers, units, means, line, tree []float64) ([]float64, []float64) {
	if numbers == nil {
		for k := 0; k < len(means); k += 2 {
			tree = append(tree, math.NaN())
		}
		return append(line, means...), tree
	}
	for k, x := range numbers {
		unit := 1.0
		if k < len(units) {
			unit = units[k]
		}
		line, tree = append(line, x, bayes.SignedLog(x, unit)), append(tree, x)
	}
	return line, tree
}
