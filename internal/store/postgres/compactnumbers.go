package postgres

import (
	"encoding/binary"
	"math"
)

// A short decimal is a number with at most maxDecimals decimals whose digits, without the decimal point, are an
// integer of a magnitude below maxDecimal.

var powersOfTen = [maxDecimals + 1]float64{1, 1e1, 1e2, 1e3, 1e4}

func (w *compactWriter) numbers(list []float64) {
	w.length(len(list), list == nil)
	for _, v := range list {
		w.number(v)
	}
}

// decimal returns v as digits / 10^decimals; ok is false if v is not a short decimal.
func decimal(v float64) (digits int64, decimals int, ok bool) {
	// A short decimal times 1e4 is at most 2.2e13, so rounding moves it at most 0.01 away from a whole number. This
	// test excludes most other numbers.
	scaled := v * powersOfTen[maxDecimals]
	if rest := scaled - math.Floor(scaled); rest > 0.02 && rest < 0.98 {
		return 0, 0, false
	}
	bits := math.Float64bits(v)
	for d, power := range powersOfTen {
		scaled := math.Round(v * power)
		if !(math.Abs(scaled) < maxDecimal) {
			return 0, 0, false
		}
		if math.Float64bits(float64(int64(scaled))/power) == bits {
			return int64(scaled), d, true
		}
	}
	return 0, 0, false
}

// number writes a float64 with the first tag that fits: a short decimal, a repetition, 1.5 times the number that was
// remembered last, or its bits. It remembers only numbers whose bits it writes.
func (w *compactWriter) number(v float64) {
	if digits, decimals, ok := decimal(v); ok {
		w.b = append(w.b, byte(tagDecimal+decimals))
		w.int(digits)
		return
	}
	bits := math.Float64bits(v)
	for distance := 1; distance <= min(len(w.bits), maxRepeated); distance++ {
		if w.bits[len(w.bits)-distance] == bits {
			w.b = append(w.b, byte(tagRepeated+distance))
			return
		}
	}
	if bits == oneAndAHalf(previousBits(w.bits)) {
		w.b = append(w.b, tagOneAndAHalf)
		return
	}
	var buffer [8]byte
	binary.BigEndian.PutUint64(buffer[:], bits^previousBits(w.bits))
	equal := 0
	for equal < 7 && buffer[equal] == 0 {
		equal++
	}
	w.b = append(append(w.b, byte(tagBits+equal)), buffer[equal:]...)
	w.remember(bits)
}

func (w *compactWriter) remember(bits uint64) { w.bits = append(w.bits, bits) }

func previousBits(bits []uint64) uint64 {
	if len(bits) == 0 {
		return 0
	}
	return bits[len(bits)-1]
}

func oneAndAHalf(bits uint64) uint64 { return math.Float64bits(1.5 * math.Float64frombits(bits)) }
