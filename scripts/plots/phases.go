package main

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/ml/plan/plantest"
)

// plannedRuns is the number of runs from which the plan of the shown run is learned.
const plannedRuns = 15

func phasesFigure() figure {
	return figure{plannedRun("walks", 4, "growth in jumps"), plannedRun("programs", 9, "load, compute, write")}
}

// plannedRun learns plannedRuns runs of a synthetic task and shows the plan for the next run. The static grant is 1.2 times
// the largest usage of all these runs. A limit takes effect 10 seconds after the read of the usage from which the plan
// computed it.
func plannedRun(family string, seed uint64, title string) chart {
	var learner plan.Learner
	var pool plan.Pool
	runs := plantest.Generate(family, 1, plannedRuns+1, seed)
	static := 0.0
	for _, r := range runs {
		for _, m := range r.Memory {
			static = math.Max(static, 1.2*m)
		}
	}
	for _, r := range runs[:plannedRuns] {
		learner.Learn(&pool, plan.NewCurve(samplesOf(r)), static, plan.Timing{})
	}
	used := series{name: "used", colour: orange}
	granted := series{name: "static grant", colour: grey, style: dashed}
	limit := series{name: "limit of the plan", colour: blue}
	p := learner.Plan(&pool, static, plan.Timing{})
	inForce, highest, needed := p.Start(), 0.0, []float64{}
	for i, s := range samplesOf(runs[plannedRuns]) {
		highest = math.Max(highest, s.Memory)
		needed = append(needed, p.Need(s.Seconds, highest))
		if known := i - 10/plantest.Step; known >= 0 {
			inForce = plan.Grow(inForce, needed[known])
		}
		minutes := s.Seconds / 60
		used.add(minutes, s.Memory/1e9)
		granted.add(minutes, static/1e9)
		limit.add(minutes, inForce/1e9)
	}
	last := used.x[len(used.x)-1]
	return chart{
		title: title, x: axis{label: "minutes", ticks: ticksUpTo(last)}, y: axis{label: "GB", ticks: ticksUpTo(static / 1e9 * 1.1)},
		series: []series{granted, limit, used},
	}
}

func samplesOf(r plantest.Run) []plan.Sample {
	samples := make([]plan.Sample, len(r.Memory))
	for i, m := range r.Memory {
		samples[i] = plan.Sample{Seconds: float64(i * plantest.Step), Memory: m}
	}
	return samples
}
