package growth

import "math"

// stepSeconds is the duration of a step in the policies stepwise and phasedPolicy.
const stepSeconds = 600

// stepwise sets the limit of each step of ten minutes by the memory use in one step: the maximum of this use, or its mean
// plus two standard deviations if that is more. The limit may shrink from one step to the next. The method comes from the
// literature on deep-learning containers.
type stepwise struct {
	label   string
	current bool // true: the use in the step itself, which needs hindsight; false: the use in the previous step
}

func (s stepwise) name() string                 { return s.label }
func (s stepwise) plan(_ *Run, g grant) limiter { return stepLimits{s.current, g.memory} }
func (stepwise) learn(*Run, grant)              {}

type stepLimits struct {
	current bool
	first   float64 // limit of the first step if current is false
}

func (s stepLimits) limits(r *Run) []float64 {
	all := make([]float64, len(r.Memory))
	limit := s.first
	for from := 0; from < len(all); {
		to := stepEnd(r, from)
		size := stepSize(r.Memory[from:to])
		if s.current {
			limit = size
		}
		for i := from; i < to; i++ {
			all[i] = limit
		}
		limit, from = size, to
	}
	return all
}

// stepEnd returns the index after the last sample of the step that contains sample `from`.
func stepEnd(r *Run, from int) int {
	step := math.Floor(r.Seconds[from] / stepSeconds)
	to := from + 1
	for to < len(r.Seconds) && math.Floor(r.Seconds[to]/stepSeconds) == step {
		to++
	}
	return to
}

// stepSize returns the maximum of `values`, or their mean plus two standard deviations if that is more (Welford's method).
func stepSize(values []float64) float64 {
	mean, squares, most := 0.0, 0.0, 0.0
	for i, v := range values {
		d := v - mean
		mean += d / float64(i+1)
		squares += d * (v - mean)
		most = math.Max(most, v)
	}
	return math.Max(most, mean+2*math.Sqrt(squares/float64(len(values))))
}

func (s stepLimits) lift(_ *Run, limits []float64, at int) limiter { return constant(2 * limits[at]) }
