package sizing

import (
	"strings"
	"time"
)

// parseDate reads a date or a time. A date usually begins with its year: 2020-01-03, 2020/01/03 or, from 1970 to 2099,
// 20200103. A time may end after its minute, its second or a fraction of the second, and after a T also after its hour. It has
// all its colons or none: 2020-01-03 02:15, 2020-01-03T02:15:00.123Z, 2020-01-03 02:15:00+00:00, 20200103T021500+0000. A time without an offset is UTC. A name of a zone
// is read and ignored: 2020-01-03T02:15+01:00[Europe/Berlin]. With dots and a year from 1970 to 2099, the day comes first:
// 03.01.2020. Other dates that begin with a day or a month are ambiguous.
//
// A list of layouts for time.Parse takes ten times as long for a time with an offset, and 350 times as long for a text that is
// no date (BenchmarkParseDate).
func parseDate(s string) (v Value, ok bool) {
	if len(s) < compactDateDigits || s[0] < '0' || s[0] > '9' { // true for most texts
		return Value{}, false
	}
	d := dateReader{rest: s}
	year, month, day, isCompact := d.date()
	if d.failed {
		return Value{}, false
	}
	var clock, offset time.Duration
	if d.rest != "" {
		clock, offset = d.time(isCompact)
	}
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if d.failed || d.rest != "" || at.Month() != time.Month(month) || at.Day() != day {
		return Value{}, false
	}
	v = Value{Kind: Date, Num: float64(at.Add(clock-offset).UnixMilli()) / millisecondsPerDay, Text: s}
	return v.withOffset(offset), true
}

type dateReader struct {
	rest   string
	failed bool // a part that must be there was missing, or out of its range
}

func (d *dateReader) date() (year, month, day int, isCompact bool) {
	if len(d.rest) > 2 && d.rest[2] == '.' {
		day = d.number(2)
		d.accept(".")
		month = d.number(2)
		d.failed = d.failed || d.accept(".") == ""
		year = d.number(4)
		d.failed = d.failed || year < 1970 || year > 2099
		return year, month, day, false
	}
	year = d.number(4)
	separator := d.accept("-/")
	month = d.number(2)
	d.failed = d.failed || separator != d.accept(separator)
	day = d.number(2)
	isCompact = separator == ""
	d.failed = d.failed || isCompact && (year < 1970 || year > 2099)
	return year, month, day, isCompact
}

// time reads a time of day and its offset from UTC. An hour without minutes must follow a T, and so must a time after a
// compact date.
func (d *dateReader) time(isCompact bool) (clock, offset time.Duration) {
	separator := d.accept("Tt ")
	if len(d.rest) > 1 && d.rest[1] == ':' { // 2:15
		clock = time.Duration(d.number(1)) * time.Hour
	} else {
		clock = time.Duration(d.twoDigitsBelow(24)) * time.Hour
	}
	hasMinute, hasSecond := false, false
	if colon := d.accept(":"); colon != "" || d.hasDigit() {
		hasMinute = true
		clock += time.Duration(d.twoDigitsBelow(60)) * time.Minute
		if colon != "" && d.accept(":") != "" || colon == "" && d.hasDigit() {
			hasSecond = true
			clock += time.Duration(d.twoDigitsBelow(60)) * time.Second
			if d.accept(".,") != "" {
				clock += d.fraction()
			}
		}
	}
	d.failed = d.failed || separator == "" || separator == " " && (isCompact || !hasMinute)
	return clock, d.zone(hasSecond)
}

// zone reads the offset from UTC and ignores the name of the zone. In a query string, a + that is not escaped is a blank. So
// digits after a blank are an offset if the time has seconds; otherwise they may be the end of a range.
func (d *dateReader) zone(hasSecond bool) (offset time.Duration) {
	hasBlank := d.accept(" ") != ""
	if sign := d.accept("+-"); sign != "" || hasBlank && hasSecond && d.hasDigit() {
		offset = time.Duration(d.twoDigitsBelow(24)) * time.Hour
		if d.accept(":") != "" || d.hasDigit() {
			offset += time.Duration(d.twoDigitsBelow(60)) * time.Minute
		}
		if sign == "-" {
			offset = -offset
		}
		hasBlank = d.accept(" ") != ""
	} else if !hasBlank {
		d.accept("Zz")
	}
	name, isName := d.rest, hasBlank
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") && !hasBlank {
		name, isName = name[1:len(name)-1], true
	}
	if isName {
		d.failed, d.rest = d.failed || !isZoneName(name), ""
	}
	return offset
}

// isZoneName reports whether s has the form of the name of a time zone: UTC, letters that end with T (CET, GMT, AEDT), Z, or a
// region and a place (Europe/Berlin).
func isZoneName(s string) bool {
	if region, place, ok := strings.Cut(s, "/"); ok {
		return region != "" && place != "" && strings.Trim(strings.ToLower(region+place), "abcdefghijklmnopqrstuvwxyz0123456789_+-/") == ""
	}
	isAbbreviation := len(s) >= 3 && len(s) <= 5 && s[len(s)-1] == 'T' && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	return s == "Z" || s == "UTC" || isAbbreviation
}

func (d *dateReader) number(n int) (v int) {
	for range n {
		if !d.hasDigit() {
			d.failed = true
			return 0
		}
		v, d.rest = 10*v+int(d.rest[0]-'0'), d.rest[1:]
	}
	return v
}

func (d *dateReader) twoDigitsBelow(limit int) int {
	v := d.number(2)
	d.failed = d.failed || v >= limit
	return v
}

// fraction reads a fraction of a second. It ignores digits beyond nanoseconds.
func (d *dateReader) fraction() (v time.Duration) {
	d.failed = d.failed || !d.hasDigit()
	for unit := time.Second / 10; d.hasDigit(); unit /= 10 {
		v, d.rest = v+time.Duration(d.rest[0]-'0')*unit, d.rest[1:]
	}
	return v
}

func (d *dateReader) hasDigit() bool { return d.rest != "" && d.rest[0] >= '0' && d.rest[0] <= '9' }

// accept reads one of the characters in `set`, or nothing.
func (d *dateReader) accept(set string) (c string) {
	if d.rest == "" || !strings.Contains(set, d.rest[:1]) {
		return ""
	}
	c, d.rest = d.rest[:1], d.rest[1:]
	return c
}
