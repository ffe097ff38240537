package growth

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

const planName = "plan"

type planPolicy struct {
	timing plan.Timing
	pool   plan.Pool // outcomes of the rules of package plan on the runs of all tasks
	tasks  map[sizing.TaskKey]*plan.Learner
	cpu    map[sizing.TaskKey]*plan.Cores
}

func newPlanPolicy(t plan.Timing) *planPolicy {
	return &planPolicy{timing: t, tasks: map[sizing.TaskKey]*plan.Learner{}, cpu: map[sizing.TaskKey]*plan.Cores{}}
}

func (o *planPolicy) name() string { return planName }

func (o *planPolicy) task(key sizing.TaskKey) *plan.Learner {
	if o.tasks[key] == nil {
		o.tasks[key] = &plan.Learner{}
	}
	return o.tasks[key]
}

func (o *planPolicy) plan(r *Run, g grant) limiter {
	return &plannedLimit{o.task(r.Task).Plan(&o.pool, g.memory, o.timing), o.timing}
}

// observe learns whether the first try stayed below its limits.
func (o *planPolicy) observe(r *Run, tries []try) {
	o.pool.Observe(o.task(r.Task), tries[0].killed)
}

func (o *planPolicy) learn(r *Run, g grant) {
	o.task(r.Task).Learn(&o.pool, plan.NewCurve(planSamples(r)), g.memory, o.timing)
}

// plannedLimit reads the usage every timing.Poll seconds. A new limit is in force timing.Reaction seconds after the read.
type plannedLimit struct {
	plan   *plan.Plan
	timing plan.Timing
}

func (g *plannedLimit) limits(r *Run) []float64 {
	return g.plan.Follow(planSamples(r), 0, g.timing)
}

func planSamples(r *Run) []plan.Sample {
	samples := make([]plan.Sample, len(r.Seconds))
	for i, s := range r.Seconds {
		samples[i] = plan.Sample{Seconds: s, Memory: r.Memory[i]}
	}
	return samples
}

// lift returns the limiter of the next try. Its plan has a static grant above the limit at the kill, and grows beyond this
// grant if the usage comes near the grant.
func (g *plannedLimit) lift(_ *Run, limits []float64, at int) limiter {
	return &plannedLimit{g.plan.Lift(limits[at]), g.timing}
}

// coreSamples returns the CPU use of a run. It returns nil if the CPU use is unknown for one or more samples.
func coreSamples(r *Run) []plan.CoreSample {
	samples := make([]plan.CoreSample, len(r.CPU))
	for i, c := range r.CPU {
		if math.IsNaN(c) {
			return nil
		}
		samples[i] = plan.CoreSample{Seconds: r.Seconds[i], Cores: c}
	}
	return samples
}

// replayCPU plans the CPU requests of a run, adds them to the report and learns the run. It ignores a run without a
// static CPU grant, or with a sample whose CPU use is unknown.
func (o *planPolicy) replayCPU(r *Run, g grant, into *Report) {
	samples := coreSamples(r)
	if samples == nil || g.cpu <= 0 {
		return
	}
	if o.cpu[r.Task] == nil {
		o.cpu[r.Task] = &plan.Cores{}
	}
	c := o.cpu[r.Task]
	into.addCPU(samples, g.cpu, c.Choose(g.cpu, o.timing).At(samples))
	c.Learn(samples, g.cpu, o.timing)
}

func (o *planPolicy) describe(key sizing.TaskKey, g grant) *PlanReport {
	p := o.task(key).Plan(&o.pool, g.memory, o.timing)
	report := &PlanReport{Rule: p.Rule(), StaticBytes: int64(g.memory), StartBytes: int64(p.Start()), Risk: p.Risk, Steps: []Step{}}
	for _, s := range p.Steps() {
		report.Steps = append(report.Steps, Step{s.Seconds, int64(s.Level), int64(s.Limit)})
	}
	return report
}
