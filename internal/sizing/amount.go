package sizing

import (
	"math"
	"strconv"
	"strings"
)

// units are the factors of the units that an amount in a text may have: bytes and seconds. Letters
// without B are the suffixes of Kubernetes quantities and of counts (500M, 16Gi). m is minutes.
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

// maxAmount is the longest text that can be an amount.
const maxAmount = 32

// parseAmount reads a decimal number with a unit, such as "37.5GB" or "90 min". The result is in
// bytes, seconds, counts or, for a percentage, as a fraction.
func parseAmount(s string) (v float64, ok bool) {
	if s == "" || len(s) > maxAmount || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	factor, known := units[strings.TrimPrefix(s[end:], " ")]
	if !known {
		return 0, false
	}
	v, err := strconv.ParseFloat(s[:end], 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, false
	}
	return v * factor, true
}
