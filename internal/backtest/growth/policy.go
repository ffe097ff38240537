package growth

// limiter sets the limits of one try. Except in policies with hindsight, a limit may depend only on earlier samples.
type limiter interface {
	// limits returns the limit in force at each sample, in bytes.
	limits(r *Run) []float64
	// lift returns the limiter of the next try, after the limit was too small at the sample with the index `at`.
	lift(r *Run, limits []float64, at int) limiter
}

type policy interface {
	name() string
	// plan returns the limiter of the first try of r. g is the static grant of r.
	plan(r *Run, g grant) limiter
	// learn learns the run r, whose static grant is g. The replay calls learn after plan.
	learn(r *Run, g grant)
}

// constant is a limit in bytes that does not change during a try. After a kill it doubles.
type constant float64

func (c constant) limits(r *Run) []float64 {
	all := make([]float64, len(r.Memory))
	for i := range all {
		all[i] = float64(c)
	}
	return all
}

func (c constant) lift(_ *Run, limits []float64, at int) limiter { return constant(2 * limits[at]) }
