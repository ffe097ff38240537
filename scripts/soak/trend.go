package main

import (
	"fmt"
	"math"
	"slices"
)

// Trend is the straight line through a gauge's values over time. Its slope is the
// median of the slopes of all pairs (Theil 1950, Sen 1968): a garbage collector's
// saw-teeth and single trainings leave it alone, a leak does not.
type Trend struct {
	Slope  float64 // units a second
	Median float64 // of the values
	Over   float64 // seconds from the first value to the last
}

// trendOf fits values[i], seen at seconds[i]. Fewer than two values have no slope.
func trendOf(seconds, values []float64) Trend {
	if len(values) < 2 {
		return Trend{}
	}
	var slopes []float64
	for i := range values {
		for j := range i {
			slopes = append(slopes, (values[i]-values[j])/(seconds[i]-seconds[j]))
		}
	}
	return Trend{Slope: median(slopes), Median: median(values), Over: seconds[len(seconds)-1] - seconds[0]}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Growth is what the line rises by over the whole time.
func (t Trend) Growth() float64 { return t.Slope * t.Over }

// allowance is how much a gauge may rise over the measured time and still be
// called flat: a share of its median, or a number that is less than any leak of
// one a request would add.
type allowance struct {
	share float64
	least float64
}

func (a allowance) of(t Trend) float64 { return math.Max(a.share*t.Median, a.least) }

// flat reports whether a gauge rose by no more than it may, in words as well.
func (a allowance) flat(name, unit string, scale float64, t Trend) (bool, string) {
	ok := t.Growth() <= a.of(t)
	verdict := "flat"
	if !ok {
		verdict = "GROWS"
	}
	return ok, fmt.Sprintf("%-12s median %8.1f %s, rose by %+7.2f %s in %.0f s (%+.2f an hour), allowed %.2f: %s",
		name, t.Median/scale, unit, t.Growth()/scale, unit, t.Over, t.Slope*3600/scale, a.of(t)/scale, verdict)
}
