package taskmodel

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// calendarNumber is a number in the features that equals the month, the quarter, the ISO week or the day of the year at the start
// of the runs. It restarts each year. An input such as a number of rows may grow for a year, too, but it does not follow the
// calendar, and a small value of it is no restart.
type calendarNumber struct {
	Column int     // index of the feature
	Index  int     // of the number in a text; 0 for a number and for the name of a month
	Middle float64 // of the range of the number in the fitted rows
}

const (
	minCalendarShare  = 0.95 // smallest share of the rows whose number equals the calendar
	minCalendarValues = 3    // smallest range of the number
	maxCalendarNumber = 366  // the last day of a leap year; most inputs are larger, and need no comparison with dates
)

// calendarShifts are the days by which the date of a feature may differ from the start of the run in UTC: logical dates are those of
// the day before, and the local date may be that of the day after.
var calendarShifts = [...]int{0, -1, 1}

// numbersOfCalendar returns the numbers of a date that restart each year.
func numbersOfCalendar(at time.Time) [4]float64 {
	_, week := at.ISOWeek()
	return [...]float64{float64(at.Month()), float64((at.Month() + 2) / 3), float64(week), float64(at.YearDay())}
}

// findCalendarNumbers returns the numbers in the features that equal a number of the calendar in nearly all rows with the feature.
func findCalendarNumbers(columns []column, rows []row) (found []calendarNumber) {
	for j := range columns {
		if k := columns[j].Kind; k != sizing.Number && k != sizing.Category {
			continue
		}
		numbers := maxTextNumbers
		if columns[j].Kind == sizing.Number {
			numbers = 1
		}
		for index := range numbers {
			if low, high, ok := calendarRange(j, index, rows); ok {
				found = append(found, calendarNumber{Column: j, Index: index, Middle: (low + high) / 2})
			}
		}
	}
	return found
}

// calendarRange returns the range of a number of feature j if it equals a number of the calendar, with the same shift, in most rows.
func calendarRange(j, index int, rows []row) (low, high float64, ok bool) {
	var equal [len(calendarShifts)][4]int
	var buffer [maxTextNumbers]float64
	low, high = math.Inf(1), math.Inf(-1)
	known := 0
	for i := range rows {
		v := &rows[i].Cells[j]
		if v.Kind == sizing.Missing {
			continue
		}
		known++
		numbers := calendarNumbersIn(v, buffer[:0])
		if index >= len(numbers) || rows[i].At == 0 || numbers[index] < 1 || numbers[index] > maxCalendarNumber {
			continue
		}
		low, high = min(low, numbers[index]), max(high, numbers[index])
		for s, shift := range calendarShifts {
			for k, x := range numbersOfCalendar(time.Unix(rows[i].At, 0).UTC().AddDate(0, 0, shift)) {
				equal[s][k] += boolToInt(x == numbers[index])
			}
		}
	}
	if known < minRestartRows || high-low < minCalendarValues {
		return 0, 0, false
	}
	for s := range equal {
		for _, n := range equal[s] {
			ok = ok || float64(n) >= minCalendarShare*float64(known)
		}
	}
	return low, high, ok
}

// calendarNumbersIn appends the number of a value, the number of a month's name, or the numbers of a text.
func calendarNumbersIn(v *sizing.Value, dst []float64) []float64 {
	switch v.Kind {
	case sizing.Number:
		return append(dst, v.Num)
	case sizing.Category:
		return numbersInText(v.Text, dst)
	}
	return dst
}

func numbersInText(text string, dst []float64) []float64 {
	for month := time.January; month <= time.December; month++ {
		if name := month.String(); strings.EqualFold(text, name) || strings.EqualFold(text, name[:3]) {
			return append(dst, float64(month))
		}
	}
	for len(dst) < maxTextNumbers {
		at := strings.IndexFunc(text, isDigit)
		if at < 0 {
			return dst
		}
		end := endOfNumber(text, at)
		x, err := strconv.ParseFloat(text[at:end], 64)
		if err != nil {
			return dst
		}
		dst, text = append(dst, x), text[end:]
	}
	return dst
}

// isRestarted reports whether a number of the calendar is in the lower half of its range.
func (s *restart) isRestarted(cells []sizing.Value) bool {
	var buffer [maxTextNumbers]float64
	for _, c := range s.Calendar {
		if numbers := calendarNumbersIn(&cells[c.Column], buffer[:0]); c.Index < len(numbers) && numbers[c.Index] < c.Middle {
			return true
		}
	}
	return false
}
