// Package cost computes the memory that allocations waste. A try that succeeds wastes
// (allocation − peak) · duration. A killed try wastes allocation · duration, because the run
// starts again from zero.
//
// The package handles numbers only and prescribes no units.
package cost

import "math"

// Wastage returns the wasted memory of one try, in the unit of allocation · duration.
func Wastage(allocation, peak, duration float64, killed bool) float64 {
	if killed {
		return allocation * duration
	}
	return (allocation - peak) * duration
}

// IsSufficient reports whether an allocation is sufficient for a peak. `tolerance` is the possible
// relative error of the peak: 0 if the peak is exact.
func IsSufficient(allocation, peak, tolerance float64) bool { return allocation >= peak*(1-tolerance) }

// LadderWastage returns the wasted memory of all tries of one run, per unit of the duration of a try,
// and the number of killed tries. The tries get the rungs in order. Each try after the last
// rung gets twice the allocation of the try before it. The waste is infinite if no doubling suffices: if there is no
// rung, if the last rung is not above zero, or if the peak is NaN. `tolerance` is as in IsSufficient.
//
// A peak of 16 on the rungs 10 and 15 wastes 10 + 15 + (30 − 16) = 39, with two kills.
func LadderWastage(peak, tolerance float64, rungs ...float64) (waste float64, kills int) {
	allocation, allocated := 0.0, 0.0
	for {
		switch {
		case kills < len(rungs):
			allocation = rungs[kills]
		case 2*allocation > allocation:
			allocation *= 2
		default:
			return math.Inf(1), kills
		}
		allocated += allocation
		if IsSufficient(allocation, peak, tolerance) {
			return allocated - peak, kills
		}
		kills++
	}
}
