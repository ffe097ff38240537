package taskmodel

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

const maxTextDates = 4 // largest number of dates in a text

// textDates describes a category whose texts contain at least two dates, such as "2025-01-01/2025-01-31", and seldom recur. A
// period is the time from a date to the next one in the text. The length of each period gets columns, like the difference of two
// date features (inputPair), because the numbers in the dates do not show it. The zero value describes any other category.
type textDates struct {
	Count int       // number of dates in a text
	Means []float64 // mean of each length in days and of its logarithm, in turn; the line gets the means for a text with another number of dates
	Units []float64 // unit of each length in its logarithm

	// Inside lists the numbers with columns, see column.textNumberCount, that are parts of dates, such as the year or the day. They
	// are no inputs of the trend, because only the periods are amounts.
	Inside []int `cbor:",omitempty"`
}

// count returns the number of periods in each text; 0 for a category without them.
func (d *textDates) count() int { return max(0, d.Count-1) }

// readTextDates sets c.Dates for field j if its texts seldom recur.
func (c *column) readTextDates(j int, rows [][]sizing.Value) {
	if !c.seldomRecurs(j, rows) {
		return
	}
	c.Dates = findTextDates(j, rows)
	for number := 0; c.Dates.Count > 0 && c.period(number) < 0; number++ {
		if c.isInsideDate(number, j, rows) {
			c.Dates.Inside = append(c.Dates.Inside, number)
		}
	}
}

// isInsideDate reports whether a number is part of a date. It looks at the first text of field j that has this number.
func (c *column) isInsideDate(number, j int, rows [][]sizing.Value) bool {
	for _, cells := range rows {
		text := cells[j].Text
		_, k, from, to, ok := c.partWithNumber(text, number)
		if !ok {
			continue
		}
		for range k {
			from += strings.IndexFunc(text[from:to], isDigit)
			from = endOfNumber(text, from)
		}
		from += strings.IndexFunc(text[from:to], isDigit)
		var buffer [maxTextDates]textDate
		return slices.ContainsFunc(datesIn(text, buffer[:0]), func(d textDate) bool { return d.from <= from && from < d.from+len(d.layout) })
	}
	return false
}

// findTextDates describes the dates in the texts of field j if at least minTextNumberRows rows have a text, nearly all texts have
// the same number of dates, and the lengths of the periods vary. Otherwise it returns the zero value.
func findTextDates(j int, rows [][]sizing.Value) textDates {
	known, counts := 0, [maxTextDates + 1]int{}
	var all [][]float64 // lengths by row
	for _, cells := range rows {
		if cells[j].Kind == sizing.Missing {
			continue
		}
		known++
		var buffer [maxTextDates]textDate
		if found := datesIn(cells[j].Text, buffer[:0]); len(found) <= maxTextDates {
			counts[len(found)]++
			all = append(all, periods(found, nil))
		}
	}
	d := textDates{}
	for n, texts := range counts {
		if n >= 2 && float64(texts) >= minFormShare*float64(known) {
			d.Count = n
		}
	}
	all = slices.DeleteFunc(all, func(lengths []float64) bool { return len(lengths) != d.count() })
	if d.Count == 0 || known < minTextNumberRows || !slices.ContainsFunc(all, func(lengths []float64) bool { return !slices.Equal(lengths, all[0]) }) {
		return textDates{}
	}
	values := make([][]float64, d.count())
	for _, lengths := range all {
		for k, x := range lengths {
			values[k] = append(values[k], x)
		}
	}
	d.Units, d.Means = describeNumbers(values)
	return d
}

// read appends the lengths of the periods in a text to dst, in days; ok is false if the text has another number of dates.
func (d *textDates) read(text string, dst []float64) (lengths []float64, ok bool) {
	var buffer [maxTextDates]textDate
	found := datesIn(text, buffer[:0])
	return periods(found, dst), len(found) == d.Count
}

func periods(dates []textDate, dst []float64) []float64 {
	for k := 1; k < len(dates); k++ {
		dst = append(dst, dates[k].days-dates[k-1].days)
	}
	return dst
}

// replace returns the text with another length of period k: it moves the later one of its two dates. A text with another number of
// dates remains unchanged.
func (d *textDates) replace(text string, k int, days float64) string {
	var buffer [maxTextDates]textDate
	found := datesIn(text, buffer[:0])
	if len(found) != d.Count {
		return text
	}
	moved, at := found[k+1], found[k].days+days
	if found[k+1].days < found[k].days {
		moved, at = found[k], found[k+1].days-days
	}
	date := time.Unix(int64(math.Round(at*secondsPerDay)), 0).UTC()
	return text[:moved.from] + date.Format(moved.layout) + text[moved.from+len(moved.layout):]
}

func (d *textDates) encode(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	if d.Count == 0 {
		return line, tree
	}
	var buffer [maxTextDates]float64
	lengths, ok := d.read(v.Text, buffer[:0])
	if !ok {
		lengths = nil
	}
	return appendNumbers(lengths, d.Units, d.Means, line, tree)
}

func (d *textDates) isValid() bool {
	return d.Count >= 0 && d.Count <= maxTextDates && len(d.Means) == 2*d.count() && len(d.Units) == d.count()
}

// textDate is a date in a text: text[from : from+len(layout)].
type textDate struct {
	from   int
	layout string  // of package time
	days   float64 // since 1970, in UTC
}

// dateLayouts are the forms of a date in a text, the longest first.
var dateLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// datesIn appends the dates in a text to dst, at most maxTextDates+1. A time zone after a time has no effect: it is usually the same
// in both dates of a period.
func datesIn(text string, dst []textDate) []textDate {
	for at := 0; at+len(time.DateOnly) <= len(text) && len(dst) <= maxTextDates; {
		if !isDigit(rune(text[at])) {
			at++
			continue
		}
		date, ok := dateAt(text, at)
		if !ok {
			at += lengthOfDigits(text[at:])
			continue
		}
		dst, at = append(dst, date), at+len(date.layout)
	}
	return dst
}

func dateAt(text string, at int) (date textDate, ok bool) {
	for _, layout := range dateLayouts {
		end := at + len(layout)
		if end > len(text) || end < len(text) && isDigit(rune(text[end])) || !hasDigitsLike(text[at:end], layout) {
			continue
		}
		if t, err := time.Parse(layout, text[at:end]); err == nil {
			return textDate{at, layout, float64(t.Unix()) / secondsPerDay}, true
		}
	}
	return textDate{}, false
}

// hasDigitsLike reports whether a text has digits where a layout has them, and otherwise the same characters. It is a fast test
// before time.Parse, whose errors are slow.
func hasDigitsLike(text, layout string) bool {
	for i := range len(layout) {
		if isLayoutDigit := isDigit(rune(layout[i])); isLayoutDigit != isDigit(rune(text[i])) || !isLayoutDigit && text[i] != layout[i] {
			return false
		}
	}
	return true
}
