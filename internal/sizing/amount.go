package sizing

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// units are the factors that convert an amount with a unit to bytes, seconds, a count or a fraction. Ki to Pi and
// k to T are suffixes of Kubernetes quantities or of counts (16Gi, 500M); m is minutes, not milli.
var units = map[string]float64{
	"B": 1, "bytes": 1, "byte": 1,
	"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50,
	"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	"ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
	"d": 86400, "day": 86400, "days": 86400, "week": 7 * 86400, "weeks": 7 * 86400,
	"%": 0.01,
}

// maxDigits bounds the digits of an amount that may be an id (see mayBeID). A float64 cannot represent every longer id exactly.
const maxDigits = 15

// maxExponent bounds the exponent of a text such as 1e6, which may be a git commit. With a larger exponent it is a category.
const maxExponent = 15

// thousands matches a number with separators, such as 1,234,567.50, 1 234 567.50 (ISO 80000-1) or, as in Python, 1_234_567.50.
// Other underscores are part of a code, such as 2025_01.
var thousands = regexp.MustCompile(`^[1-9]\d{0,2}((,\d{3})+|(_\d{3})+|( \d{3})+|(\x{a0}\d{3})+|(\x{2009}\d{3})+|(\x{202f}\d{3})+)(\.\d+)?$`)

// separators are the separators of thousands. The last three are a no-break, a thin and a narrow no-break space.
const separators = ",_ \u00a0\u2009\u202f"

var withoutSeparators = strings.NewReplacer(",", "", "_", "", " ", "", "\u00a0", "", "\u2009", "", "\u202f", "")

// firstInexact is the smallest integer that a float64 does not distinguish from the next one.
const firstInexact = 1 << 53

// ParseNumber returns the value of a decimal number that was not sent as a text, such as a number in JSON. An integer without
// an exponent is a category if its magnitude is at least firstInexact, because it may be an id; a present time in microseconds
// since 1970 is smaller. An integer in the form of a compact date (20250401) is a date, as in a text; a field of kind Number
// in a Schema stores it as the number 20250401.
// ok is false if the category has more than MaxFeatureString characters, or if another number is too large for a float64.
func ParseNumber(number string) (v Value, ok bool) {
	if len(number) == compactDateDigits {
		if date, isDate := parseDate(number); isDate {
			return date, true
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	if isLongInteger(number) && math.Abs(x) >= firstInexact {
		return Value{Kind: Category, Text: number}, len(number) <= MaxFeatureString
	}
	return NumberValue(x), err == nil
}

// isLongInteger reports whether s is an integer of more than maxDigits digits, written without a fraction or an exponent.
func isLongInteger(s string) bool {
	if len(s) <= maxDigits { // true for most numbers
		return false
	}
	digits := strings.TrimPrefix(s, "-")
	return len(digits) > maxDigits && strings.Trim(digits, "0123456789") == ""
}

// parseDecimal reads a decimal number without separators, also with an exponent, leading zeros or white space around it. It
// rejects forms such as 0x1p4 and inf, which strconv.ParseFloat alone would accept.
func parseDecimal(s string) (v float64, ok bool) {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// mayBeID reports whether a number has no decimal point, and no + or - in its exponent. Programs write floating-point
// numbers, such as 1.5e300 or 1e-05, with a point or such a sign; ids, such as the git commit 7e943102, have neither.
func mayBeID(number string) bool {
	return !strings.ContainsAny(strings.TrimPrefix(number, "-"), ".+-")
}

// parseAmount reads a decimal number, alone or with a unit or an exponent: "1253", "1,234,567", "1 234 567", "1_234_567", "90 min",
// "1e6". The result is in bytes or seconds, a count or, for a percentage, a fraction. ok is false for every other text. These
// include a number with leading zeros, which is a code, and an id: a number for which mayBeID is true, with more than maxDigits
// digits or an exponent above maxExponent.
func parseAmount(s string) (v float64, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' { // true for most texts
		return 0, false
	}
	if strings.ContainsAny(digits, separators) && thousands.MatchString(digits) {
		digits = withoutSeparators.Replace(digits)
	}
	end := 0
	for end < len(digits) && (digits[end] >= '0' && digits[end] <= '9' || digits[end] == '.') {
		end++
	}
	number, unit, factor := digits[:end], digits[end:], 1.0
	if end > 1 && digits[0] == '0' && digits[1] != '.' || end > maxDigits && mayBeID(digits) {
		return 0, false
	}
	if unit != "" && (unit[0] == 'e' || unit[0] == 'E') {
		if exponent, err := strconv.Atoi(unit[1:]); err != nil || exponent > maxExponent && mayBeID(digits) {
			return 0, false
		}
		number = digits
	} else if unit != "" {
		if factor, ok = units[strings.TrimPrefix(unit, " ")]; !ok {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if s[0] == '-' {
		v = -v
	}
	v *= factor
	return v, err == nil && !math.IsInf(v, 0)
}
