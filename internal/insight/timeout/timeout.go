// Package timeout rates the execution timeout of a task. A tight timeout stops healthy runs; with a
// loose one, stuck runs occupy memory for hours.
package timeout

import (
	"fmt"
	"math"
)

// A timeout is too tight if the probability that a healthy run exceeds it is more than tightFactor times
// the accepted risk. It is too loose if it is more than looseFactor times the suggested timeout. Run
// times drift if Figures.Drift is above driftFactor or below 1/driftFactor. Smaller factors would report more tasks.
const (
	tightFactor = 2.0
	looseFactor = 4.0
	driftFactor = 1.5
)

// Figures describes the run times and the timeout of a task.
type Figures struct {
	Risk        float64  // accepted probability that a healthy run exceeds Suggested
	Suggested   float64  // suggested timeout in seconds
	Current     *float64 // current timeout in seconds; nil if unknown
	Probability *float64 // probability that a healthy run exceeds Current; nil if unknown
	Drift       float64  // median quotient of the ratios of a newest and an earlier run time to their predictions by the present model; 1: no change, or too few runs
}

// Problem describes the worst problem of a task's timeout or run times; `text` is "" if there is none.
// `severity` orders the problems of different tasks, the worst one highest; it is negative without a problem.
func (f *Figures) Problem() (text string, severity float64) {
	drift := math.Abs(math.Log(max(f.Drift, 1e-9)))
	switch {
	case f.Probability != nil && *f.Probability > tightFactor*f.Risk:
		return fmt.Sprintf("too tight: stops %.1f %% of the runs", 100**f.Probability), 100 + *f.Probability
	case drift > math.Log(driftFactor):
		return fmt.Sprintf("drifting: %.1fx", f.Drift), 10 + drift
	case f.Current != nil && *f.Current > looseFactor*f.Suggested:
		return fmt.Sprintf("too loose: %.0fx", *f.Current/max(1e-9, f.Suggested)), 1 - f.Suggested / *f.Current
	}
	return "", -1
}
