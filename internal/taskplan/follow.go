package taskplan

import (
	"cmp"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/phase"
	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Sample is a measurement of a running try.
type Sample struct {
	Seconds float64 // since the start of the try
	Memory  sizing.Bytes
	CPU     *float64 // mean cores in use since the previous sample; nil if unknown
}

// Progress is the state of a running try.
type Progress struct {
	Elapsed   float64      // seconds since the start
	Limit     sizing.Bytes // memory limit in force
	Static    sizing.Bytes // the static grant of memory
	Largest   sizing.Bytes // largest memory so far; zero if the samples have it, or if it is unknown
	Most      sizing.Bytes // largest possible limit; zero if unknown
	CPU       sizing.Cores // request in force; zero if unknown
	StaticCPU sizing.Cores // request at the start; if zero, the same as CPU
	Samples   []Sample     // in order of time
}

// Need is what a running try needs.
type Need struct {
	Memory    sizing.Bytes   // limit; never below Progress.Limit
	CPU       sizing.Cores   // request; zero: unchanged
	By        float64        // time since the start in seconds by which Memory and CPU should be in force; Progress.Elapsed if nothing changes
	AskAgain  float64        // seconds until the caller should ask again
	Remaining *RemainingTime // nil if every earlier run was shorter than this run so far
	Place     *Place         // current phase; nil if it is unknown
}

// RemainingTime is the remaining time of a run in seconds, estimated from the earlier runs that took at least as long as
// this run has taken so far.
type RemainingTime struct{ Median, P95 float64 }

// Place is the current phase and the phases that may follow.
type Place struct {
	Phase   int         // id in Phases
	Seconds float64     // time in the phase so far, as far as the samples show
	Next    []NextPhase // most probable first
}

// NextPhase is a phase that may follow, or the end of the run (Phase < 0).
type NextPhase struct {
	Phase       int
	Probability float64
	In          float64 // median seconds until the phase or the end; 0 if no known visit lasted longer than the current one
}

// Follow returns what a try needs next. It requires that HasPlan is true and Progress.Static is known.
func (p *Planner) Follow(q *Progress) Need {
	largest := q.Largest
	for i := range q.Samples {
		largest = max(largest, q.Samples[i].Memory)
	}
	planned := p.planner.Plan(float64(q.Static))
	need := Need{Memory: q.Limit, By: q.Elapsed, AskAgain: Timing.Poll, Remaining: p.remaining(q.Elapsed), Place: p.place(q.Samples)}
	needed := planned.Need(q.Elapsed, float64(largest))
	if largest == 0 { // the usage is unknown
		needed = min(planned.Expected(q.Elapsed), float64(q.Static))
	}
	if grown := plan.Grow(float64(q.Limit), needed); grown > float64(q.Limit) {
		need.Memory = wholeMiB(grown)
		if q.Most > 0 {
			need.Memory = max(q.Limit, min(need.Memory, q.Most))
		}
	}
	if need.CPU = p.cores(q); need.Memory > q.Limit || need.CPU > 0 {
		need.By += Timing.Reaction
	}
	if need.Memory == q.Limit && isSafe(q, largest) {
		need.AskAgain = safePoll
	}
	return need
}

// The caller asks less often about a try if its limit stays the same and is at least the static grant, and if its largest
// memory so far is below safeShare of the limit. Larger values save requests and leave less time to react to growth.
const (
	safePoll  = 60  // seconds until the caller should ask again
	safeShare = 0.7 // share of the limit
)

func isSafe(q *Progress, largest sizing.Bytes) bool {
	return q.Limit >= q.Static && float64(largest) < safeShare*float64(q.Limit)
}

// leastCPU is the smallest change of the CPU request, in cores; a smaller one counts as none.
const leastCPU = 0.001

// cores returns the CPU request that the try needs now; zero if the request should not change.
func (p *Planner) cores(q *Progress) sizing.Cores {
	if q.CPU <= 0 || len(q.Samples) == 0 {
		return 0
	}
	rule := p.State.Cores.Choose(float64(cmp.Or(q.StaticCPU, q.CPU)), Timing)
	newest := q.Samples[len(q.Samples)-1].Seconds
	if oldest := q.Samples[0].Seconds; oldest > Timing.Poll && newest-oldest < rule.Window() {
		return 0 // the oldest sample is too new for the window of the rule
	}
	var known []plan.CoreSample
	for _, s := range q.Samples {
		if s.CPU != nil {
			known = append(known, plan.CoreSample{Seconds: s.Seconds, Cores: *s.CPU})
		}
	}
	if len(known) == 0 {
		return 0
	}
	next := rule.Next(known, float64(q.CPU))
	if diff := next - float64(q.CPU); diff < leastCPU && diff > -leastCPU {
		return 0
	}
	return sizing.Cores(next)
}

// remaining returns the remaining time of a run; nil if every earlier run was shorter.
func (p *Planner) remaining(elapsed float64) *RemainingTime {
	longer, _ := slices.BinarySearch(p.durations, elapsed)
	rest := p.durations[longer:]
	if len(rest) == 0 {
		return nil
	}
	return &RemainingTime{Median: quantile(rest, .5) - elapsed, P95: quantile(rest, .95) - elapsed}
}

// place returns the current phase; nil if the phase of the newest sample is unknown.
func (p *Planner) place(samples []Sample) *Place {
	phases := p.State.Phases
	if phases == nil || len(samples) == 0 {
		return nil
	}
	converted := make([]phase.Sample, len(samples))
	for i, s := range samples {
		values := []float64{float64(s.Memory) / gibibyte}
		if phases.HasCPU {
			if s.CPU == nil {
				return nil
			}
			values = append(values, *s.CPU)
		}
		converted[i] = phase.Sample{Seconds: s.Seconds - samples[0].Seconds, Values: values}
	}
	labels := phases.label(phase.Resample(converted, phases.Step))
	now, steps := labels[len(labels)-1], 0
	for i := len(labels) - 1; i >= 0 && labels[i] == now; i-- {
		steps++
	}
	place := &Place{Phase: now, Seconds: float64(steps) * phases.Step}
	in := phases.remainingDwell(now, steps)
	place.Next = phases.Transitions(now)
	for i := range place.Next {
		place.Next[i].In = in
	}
	return place
}
