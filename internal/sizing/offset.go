package sizing

import (
	"math"
	"time"
)

const (
	secondsPerQuarter      = 15 * 60 // of a quarter of an hour, the unit of Value.Offset
	millisecondsPerQuarter = secondsPerQuarter * 1000

	// offsetSteps is the number of offsets per millisecond in a code (see Value.Code). The largest offset is a day, 96 quarter
	// hours, and so changes the date in a code by less than half a millisecond.
	offsetSteps = 256

	// maxOffsetDays bounds the dates with an offset, in days since 1970 (the year 2149). A float64 of a later date has too few
	// digits for the code of an offset.
	maxOffsetDays = 1 << 16
)

// withOffset returns a date with an offset, rounded to quarter hours. A date beyond maxOffsetDays gets none.
func (v Value) withOffset(offset time.Duration) Value {
	if math.Abs(v.Num) < maxOffsetDays {
		v.Offset = int8(offset.Round(secondsPerQuarter*time.Second) / (secondsPerQuarter * time.Second))
	}
	return v
}

// LocalDays returns a date in days since 1970-01-01 on the clock of its sender.
func (v Value) LocalDays() float64 {
	if v.Offset == 0 {
		return v.Num
	}
	return (math.Round(v.Num*millisecondsPerDay) + float64(v.Offset)*millisecondsPerQuarter) / millisecondsPerDay
}

// Code returns the number that stores a value other than a category. The code of a date is Num plus a fraction of a millisecond,
// from which DecodeValue reads Offset. So a date needs one number, and a date without an offset is its own code.
func (v Value) Code() float64 {
	if v.Offset == 0 {
		return v.Num
	}
	return (math.Round(v.Num*millisecondsPerDay) + float64(v.Offset)/offsetSteps) / millisecondsPerDay
}

// DecodeValue returns the value of a code without its text.
func DecodeValue(kind ValueKind, code float64) Value {
	v := Value{Kind: kind, Num: code}
	if kind != Date || !(math.Abs(code) < maxOffsetDays) {
		return v
	}
	milliseconds := code * millisecondsPerDay
	whole := math.Round(milliseconds)
	if offset := math.Round((milliseconds - whole) * offsetSteps); offset != 0 && math.Abs(offset) < offsetSteps/2 {
		v.Num, v.Offset = whole/millisecondsPerDay, int8(offset)
	}
	return v
}

// IsSame reports whether two codes of f, which are no NaN, mean the same value. Two times in different offsets are the same if
// they are the same instant.
func (f *Field) IsSame(a, b float64) bool {
	return a == b || f.Kind == Date && DecodeValue(Date, a).Num == DecodeValue(Date, b).Num
}
