package plan

import (
	"math"
	"sort"
)

// Sample is the memory of a run at some time after its start, in seconds and bytes.
type Sample struct{ Seconds, Memory float64 }

// Curve is the running maximum of a run's memory in steps of equal width.
type Curve struct {
	Step float64   // width of a step in seconds
	Peak []float64 // largest memory from the start of the run to the end of each step, in bytes; it never falls
}

const (
	curveStep = 5    // seconds; a resize cannot react to shorter changes
	maxPoints = 2048 // largest number of steps of a curve: almost three hours in steps of 5 s
)

// NewCurve converts samples in order of time to a curve. Long runs get wider steps.
func NewCurve(samples []Sample) Curve {
	if len(samples) == 0 {
		return Curve{Step: curveStep}
	}
	c := Curve{Step: curveStep}
	for samples[len(samples)-1].Seconds >= c.Step*maxPoints {
		c.Step *= 2
	}
	peak := 0.0
	for _, s := range samples {
		for at := int(math.Max(0, s.Seconds) / c.Step); len(c.Peak) <= at; {
			c.Peak = append(c.Peak, peak)
		}
		peak = max(peak, s.Memory)
		c.Peak[len(c.Peak)-1] = peak
	}
	return c
}

// Duration returns the length of the run in seconds.
func (c *Curve) Duration() float64 { return c.Step * float64(len(c.Peak)) }

// Max returns the peak of the run.
func (c *Curve) Max() float64 {
	if len(c.Peak) == 0 {
		return 0
	}
	return c.Peak[len(c.Peak)-1]
}

func (c *Curve) at(seconds float64) float64 {
	if len(c.Peak) == 0 {
		return 0
	}
	return c.Peak[min(len(c.Peak)-1, max(0, int(seconds/c.Step)))]
}

// reachedWithin returns the largest memory of the run up to some seconds after the run first exceeded
// `level`. It returns 0 if the run never exceeded `level`.
func (c *Curve) reachedWithin(level, seconds float64) float64 {
	above := sort.Search(len(c.Peak), func(i int) bool { return c.Peak[i] > level })
	if above == len(c.Peak) {
		return 0
	}
	return c.Peak[min(len(c.Peak)-1, above+int(math.Ceil(seconds/c.Step)))]
}
