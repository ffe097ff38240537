package trace

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Cells are forgiving in form where the meaning is plain: tools that know only
// floating-point columns write 4 as "4.0" and 8 GB as "8e9".

// parseNumber reads a decimal number. strconv alone would also read "0x1p4".
func parseNumber(cell string) (float64, bool) {
	cell = strings.TrimSpace(cell)
	for i := range len(cell) {
		if c := cell[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil
}

func readBytes(cell string, b *sizing.Bytes) error {
	v, ok := parseNumber(cell)
	if !ok {
		return fmt.Errorf("%.40q is not a number of bytes, such as 3560151999", cell)
	}
	if !(v > 0 && v <= sizing.MaxBytes) {
		return fmt.Errorf("%.40q must be 1 to %d bytes; leave it out where it is not known", cell, int64(sizing.MaxBytes))
	}
	*b = sizing.Bytes(math.Ceil(v))
	return nil
}

// readCores takes 0 for "not known": meters round an idle container to nothing.
func readCores(cell string, c *sizing.Cores) error {
	v, ok := parseNumber(cell)
	if !ok || v < 0 || v > float64(sizing.MaxCores) {
		return fmt.Errorf("%.40q is not a number of cores, such as 0.76", cell)
	}
	*c = sizing.Cores(v)
	return nil
}

// readSeconds keeps microseconds, the grain of the store.
func readSeconds(cell string, d *time.Duration) error {
	v, ok := parseNumber(cell)
	if !ok || v < 0 || v > sizing.MaxDuration.Seconds() {
		return fmt.Errorf("%.40q is not a number of seconds from 0 to %.0f", cell, sizing.MaxDuration.Seconds())
	}
	*d = time.Duration(math.Round(v*1e6)) * time.Microsecond
	return nil
}

func readInt(cell string, i *int) error {
	v, ok := parseNumber(cell)
	if !ok || v != math.Trunc(v) {
		return fmt.Errorf("%.40q is not a whole number", cell)
	}
	if math.Abs(v) > math.MaxInt32 {
		return fmt.Errorf("%.40q is beyond %d, the largest number understood here", cell, math.MaxInt32)
	}
	*i = int(v)
	return nil
}

func readOutcome(cell string, o *sizing.Outcome) error {
	outcome, ok := sizing.ParseOutcome(strings.TrimSpace(cell))
	if !ok {
		return fmt.Errorf("%.40q must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable", cell)
	}
	*o = outcome
	return nil
}

// readTime reads RFC 3339 and what Python and Postgres write; a time without a
// zone is UTC.
func readTime(cell string, t *time.Time) error {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05", time.DateTime, time.DateOnly,
	} {
		if read, err := time.Parse(layout, strings.TrimSpace(cell)); err == nil {
			if !possibleYear(read) {
				return fmt.Errorf("%.40q must be between 1970 and 2200", cell)
			}
			*t = read.UTC().Truncate(time.Microsecond)
			return nil
		}
	}
	return errors.New(strconv.Quote(cell[:min(len(cell), 40)]) + " is not a time, such as 2020-01-03T02:00:00Z")
}

// possibleYear reports whether a run can have been at t. A year far off is a unit mixed
// up; POST /observe refuses it, too.
func possibleYear(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year < 2200
}

// readFeature tells numbers, bools, dates and categories by their form. A number
// that is not finite is missing.
func readFeature(cell string) sizing.Value {
	if v, ok := parseNumber(cell); ok {
		return sizing.NumberValue(v)
	}
	switch cell {
	case "true", "True", "TRUE":
		return sizing.BoolValue(true)
	case "false", "False", "FALSE":
		return sizing.BoolValue(false)
	case "nan", "NaN", "inf", "-inf":
		return sizing.Value{}
	}
	return sizing.TextValue(cell)
}

func writeFeature(v sizing.Value) string {
	switch v.Kind {
	case sizing.Missing:
		return ""
	case sizing.Number:
		return strconv.FormatFloat(v.Num, 'f', -1, 64)
	case sizing.Bool:
		return strconv.FormatBool(v.Num != 0)
	case sizing.Date:
		if v.Text == "" { // decoded from a stored row, which keeps the day only as a number
			return dateOf(v.Num)
		}
	}
	return v.Text
}

// dateOf writes days since 1970-01-01 UTC as a date, or as a time of day.
func dateOf(days float64) string {
	t := time.UnixMilli(int64(math.Round(days * 24 * 3600 * 1000))).UTC()
	if days == math.Trunc(days) {
		return t.Format(time.DateOnly)
	}
	return t.Format(time.RFC3339Nano)
}

// writeNumber leaves 0 blank: it stands for "not known".
func writeNumber(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func writeInt(i, usual int) string {
	if i == usual {
		return ""
	}
	return strconv.Itoa(i)
}

func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
