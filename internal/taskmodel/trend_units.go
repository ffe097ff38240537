package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
)

// logOffsetOf returns the log offset of an input: its unit in log(1 + x/unit). It is 1 for counts with zeros. It is less if small
// magnitudes are below 1000 and all numbers are positive or all negative, or if fractions are below 1: the unit 1 would hide the
// ratios of such values; see unitOf. Before the first fit, and in models of earlier releases, it is 1.
func (t *trend) logOffsetOf(j int) float64 {
	if i := j - t.firstInput(); i < len(t.Units) {
		return t.Units[i]
	}
	return 1
}

// logOffsetQuantile is the level of the quantile of the magnitudes above 0 that stands for the small numbers of an input. A few
// values that are almost 0, such as rounding errors, must not decide.
const logOffsetQuantile = 0.1

func (t *trend) setLogOffsets(rows []row) {
	t.Units = nil
	var numbers []float64
	for j := t.firstInput(); j < len(t.Ranges); j++ {
		numbers = numbers[:0]
		for i := range rows {
			if v, known := t.value(j, rows[i].Cells); known {
				numbers = append(numbers, v)
			}
		}
		if offset := unitOf(numbers); offset < 1 {
			for len(t.Units) <= j-t.firstInput() {
				t.Units = append(t.Units, 1)
			}
			t.Units[j-t.firstInput()] = offset
		}
	}
}

// unitOf returns the unit of the numbers of an input in a logarithm, log(1 + number/unit). It is at most 1. Unless some numbers are
// 0 or signs differ, they are far above the unit, so that the result is nearly the logarithm of the number: a line of log(1 + x)
// cannot follow a peak that is proportional to sizes from 0.5 to 60 GB. unitOf overwrites the numbers.
func unitOf(numbers []float64) float64 {
	reachesZero, areIntegers := false, true
	sign := 0.0 // of the first number
	magnitudes := numbers[:0]
	for i, x := range numbers {
		if i == 0 {
			sign = math.Copysign(1, x)
		}
		reachesZero, areIntegers = reachesZero || x*sign <= 0, areIntegers && x == math.Trunc(x)
		if x != 0 {
			magnitudes = append(magnitudes, math.Abs(x))
		}
	}
	// If some numbers are 0 or signs differ, a peak is no power of the numbers. Then the unit is only their logOffsetQuantile, or 1
	// for counts.
	if len(magnitudes) == 0 || reachesZero && areIntegers {
		return 1
	}
	slices.Sort(magnitudes)
	small := magnitudes[int(logOffsetQuantile*float64(len(magnitudes)))]
	if reachesZero {
		return min(1, small)
	}
	return min(1, small/bayes.UnitsPerSize)
}
