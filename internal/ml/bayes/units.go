package bayes

import "math"

// UnitsPerSize is the number of units in a typical size. It is so large that log(1 + size/unit) is nearly the logarithm of the size.
const UnitsPerSize = 1000

// SetUnit sets the unit of an input to |x|, or for a fraction to |x|/UnitsPerSize, but at most 1, unless the unit is set already. Log
// adds 1 to the quotient of a number and the unit, so that the logarithm of 0 exists; without units this 1 would hide the ratios of
// small numbers, such as sizes in TB. A later change of a unit would invalidate the line, so the first number other than 0
// decides. If the line has learned such numbers without a unit, as in averages stored before units existed, the unit
// is 1. isSmall reports that the unit is new and below 1.
func (a *Average) SetUnit(input int, x float64) (isSmall bool) {
	if x == 0 || input < len(a.Units) && a.Units[input] != 0 {
		return false
	}
	for len(a.Units) <= input {
		a.Units = append(a.Units, 0)
	}
	a.Units[input] = min(1, math.Abs(x))
	if x != math.Trunc(x) {
		a.Units[input] = min(1, math.Abs(x)/UnitsPerSize)
	}
	if input < len(a.Lines) && (a.Lines[input].X != 0 || a.Lines[input].XX != 0) {
		a.Units[input] = 1
	}
	return a.Units[input] < 1
}

// Log returns the logarithm of the number x, as Predict gets it.
func (a *Average) Log(input int, x float64) float64 {
	unit := 1.0
	if input < len(a.Units) && a.Units[input] != 0 {
		unit = a.Units[input]
	}
	return SignedLog(x, unit)
}

// SignedLog returns log(1 + |x|/unit) with the sign of x. A quotient that overflows counts as the largest float64.
func SignedLog(x, unit float64) float64 {
	return math.Copysign(math.Log1p(min(math.MaxFloat64, math.Abs(x)/unit)), x)
}
