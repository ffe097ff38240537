package taskplan

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

// timingOf returns Timing with a reaction that is longer by one step, because a sample is the maximum of a step: its amount
// may be reached at the start of the step and is known at the end.
func timingOf(s *sizing.Series) plan.Timing {
	t := Timing
	t.Reaction += s.Step.Seconds()
	return t
}

// samplesOf returns the samples of the memory, one per step. It dates the maximum of a step at the start of the step.
func samplesOf(s *sizing.Series) []plan.Sample {
	samples := make([]plan.Sample, len(s.Memory))
	for i, m := range s.Memory {
		samples[i] = plan.Sample{Seconds: float64(i) * s.Step.Seconds(), Memory: float64(m)}
	}
	return samples
}

// curveOf returns the curve of a run. It adds a sample at the end of the last step to `samples`, which are at the starts of
// their steps.
func curveOf(s *sizing.Series, samples []plan.Sample) plan.Curve {
	last := samples[len(samples)-1]
	end := plan.Sample{Seconds: math.Nextafter(float64(len(samples))*s.Step.Seconds(), 0), Memory: last.Memory}
	return plan.NewCurve(append(samples[:len(samples):len(samples)], end))
}

// coresOf returns the samples of the CPU, one per step; nil if the CPU is unknown. A sample is at the end of its step,
// because it has the use since the previous sample.
func coresOf(s *sizing.Series) []plan.CoreSample {
	if s.CPU == nil {
		return nil
	}
	samples := make([]plan.CoreSample, len(s.CPU))
	for i, c := range s.CPU {
		samples[i] = plan.CoreSample{Seconds: float64(i+1) * s.Step.Seconds(), Cores: c}
	}
	return samples
}

// replay plans the run before it is learned, and adds it to Savings if there are earlier runs and a static grant. While the
// task gets no plans, the planned limit is the static grant.
func (s *State) replay(pool *plan.Pool, run *Run, samples []plan.Sample, timing plan.Timing) {
	r := Replay{RunID: run.RunID, MapIndex: run.MapIndex, Try: run.Try, Static: run.Static.Memory}
	if grant := float64(run.Static.Memory); grant > 0 && s.Learner.Runs > 0 {
		p := s.Learner.Plan(pool, grant, timing)
		if !s.isPlannable() {
			p = staticPlan(grant, timing)
		}
		first := p.Follow(samples, 0, timing) // 0, because timing includes the width of a step
		at := exceeded(samples, first)
		r.Limits, r.Killed = changes(samples, first, at), at >= 0
		s.Savings.add(samples, run.Series.Step.Seconds(), p, timing, grant)
	}
	s.Replays = append(s.Replays, r)
	if n := len(s.Replays); n > maxReplays {
		s.Replays = slices.Delete(s.Replays, 0, n-maxReplays)
	}
}

// staticPlan returns a plan whose limit is always the grant, because no run was learned.
func staticPlan(grant float64, timing plan.Timing) *plan.Plan {
	return new(plan.Learner).Plan(new(plan.Pool), grant, timing)
}

// add adds a run to the sums: with its plan and with static limits, its costs, and a kill if one of its tries is killed.
// `width` is the duration of a sample in seconds.
func (s *Savings) add(samples []plan.Sample, width float64, p *plan.Plan, timing plan.Timing, static float64) {
	s.Runs++
	cost, kills := tries(samples, width, p, timing)
	s.PlanCost += cost
	s.PlanKilled += min(kills, 1)
	cost, kills = staticTries(samples, width, static)
	s.StaticCost += cost
	s.StaticKilled += min(kills, 1)
}

// maxTries bounds the replayed tries of one run. The limit of the last try is more than 2,000 times the
// limit of the first one (1.5¹⁹).
const maxTries = 20

// tries returns the byte-seconds and the kills of a run whose tries follow a plan until one succeeds.
func tries(samples []plan.Sample, width float64, p *plan.Plan, timing plan.Timing) (cost float64, kills int) {
	for range maxTries {
		limits := p.Follow(samples, 0, timing)
		at := exceeded(samples, limits)
		for i, limit := range limits {
			if at < 0 || i <= at {
				cost += limit * width
			}
		}
		if at < 0 {
			break
		}
		kills++
		p = p.Lift(limits[at])
	}
	return cost, kills
}

// liftFactor is the factor from the limit of a killed try to that of its retry, for tries without a plan. With a plan,
// plan.Plan.Lift uses at least this factor.
const liftFactor = 1.5

// staticTries is like tries, but the limit is constant during each try.
func staticTries(samples []plan.Sample, width, limit float64) (cost float64, kills int) {
	for range maxTries {
		at := slices.IndexFunc(samples, func(m plan.Sample) bool { return m.Memory > limit })
		if at < 0 {
			return cost + limit*width*float64(len(samples)), kills
		}
		kills++
		cost += limit * width * float64(at+1)
		limit *= liftFactor
	}
	return cost, kills
}

// exceeded returns the index of the first sample that exceeds its limit; −1 if there is none.
func exceeded(samples []plan.Sample, limits []float64) int {
	for i := range samples {
		if samples[i].Memory > limits[i] {
			return i
		}
	}
	return -1
}

// changes returns the first limit of a try and each later limit that differs from the one before it, up to the sample with
// index `end`; if `end` is negative, to the last one.
func changes(samples []plan.Sample, limits []float64, end int) (all []Limit) {
	for i, limit := range limits {
		if end >= 0 && i > end {
			break
		}
		if i == 0 || limit != limits[i-1] {
			all = append(all, Limit{samples[i].Seconds, sizing.Bytes(limit)})
		}
	}
	return all
}

func (s *State) replayCores(cores []plan.CoreSample, run *Run, timing plan.Timing) {
	if s.Learner.Runs < 2 {
		return // this run is the first one; s.Learner has learned it already
	}
	width, static := run.Series.Step.Seconds(), float64(run.Static.CPU)
	s.Savings.CPURuns++
	for i, request := range s.Cores.Choose(static, timing).At(cores) {
		s.Savings.StaticCPU += static * width
		s.Savings.PlanCPU += request * width
		s.Savings.CPUTotals += width
		if cores[i].Cores > request {
			s.Savings.ShortCPU += width
		}
	}
}
