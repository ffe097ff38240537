package main

import (
	"fmt"
	"math"
	"slices"
)

// Trend is the Theil-Sen line through the values of a gauge over time: its slope is the median of
// the slopes of all pairs (Theil 1950, Sen 1968). The sawtooth of a garbage collector and single
// trainings hardly change it; a leak does.
type Trend struct {
	Slope  float64 // units per second
	Median float64 // of the values
	Over   float64 // seconds from the first value to the last
}

// fitTrend fits a line to values[i] at seconds[i]. For fewer than two values it returns the zero Trend.
func fitTrend(seconds, values []float64) Trend {
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

// median returns the median of a non-empty slice.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Growth returns the growth of the line over the whole time.
func (t Trend) Growth() float64 { return t.Slope * t.Over }

// allowance is the largest growth with which a gauge counts as flat: a share of the median, but at least a minimum.
type allowance struct {
	share   float64 // of the median
	minimum float64
}

func (a allowance) limit(t Trend) float64 { return math.Max(a.share*t.Median, a.minimum) }

func (a allowance) flat(name, unit string, scale float64, t Trend) (bool, string) {
	ok := t.Growth() <= a.limit(t)
	verdict := "flat"
	if !ok {
		verdict = "GROWS"
	}
	return ok, fmt.Sprintf("%-12s median %8.1f %s, rose by %+7.2f %s in %.0f s (%+.2f per hour), allowed %.2f: %s",
		name, t.Median/scale, unit, t.Growth()/scale, unit, t.Over, t.Slope*3600/scale, a.limit(t)/scale, verdict)
}
