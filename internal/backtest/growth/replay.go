package growth

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Config has the options of a replay. Its zero value is usable.
type Config struct {
	Timing  plan.Timing  // of resizes; zero fields: plan.DefaultTiming
	Request sizing.Bytes // static request of every run; zero: defaultRequest, and the first run of each task is learned and does not count
	// Progress receives the number of newly replayed runs; it may be nil.
	Progress func(runs int)
}

const defaultRequest sizing.Bytes = 4e9

// maxTries bounds the tries of one run. A limit that doubles after each kill is then 5e11 times the first limit.
const maxTries = 40

func (c Config) withDefaults() Config {
	if c.Timing.Poll == 0 {
		c.Timing.Poll = plan.DefaultTiming.Poll
	}
	if c.Timing.Reaction == 0 {
		c.Timing.Reaction = plan.DefaultTiming.Reaction
	}
	if c.Progress == nil {
		c.Progress = func(int) {}
	}
	return c
}

// Replay replays the runs for every policy, in the order of runs.
func Replay(ctx context.Context, runs []*Run, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	request := cfg.Request
	if request == 0 {
		request = defaultRequest
	}
	grants, err := newStaticGrants(runs, request)
	if err != nil {
		return nil, err
	}
	planned := newPlanPolicy(cfg.Timing)
	policies := []policy{
		planned, kSegments{history{}}, ksPlus{history{}}, newPhased(),
		stepwise{"previous step", false}, stepwise{"current step", true}, perfect{},
	}
	r := replay{cfg: cfg, grants: grants, planned: planned, policies: policies, report: newReport(cfg, policies), tasks: map[sizing.TaskKey]*TaskReport{}}
	for _, run := range runs {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := r.run(run); err != nil {
			return nil, fmt.Errorf("replay run %q of %s: %w", run.ID, run.Task, err)
		}
		cfg.Progress(1)
	}
	for key, t := range r.tasks {
		t.Plan = planned.describe(key, grants.next(key))
	}
	r.report.finish()
	return r.report, nil
}

type replay struct {
	cfg      Config
	grants   *staticGrants
	planned  *planPolicy
	policies []policy
	report   *Report
	tasks    map[sizing.TaskKey]*TaskReport
}

func (r *replay) run(run *Run) error {
	s := r.grants.open(run)
	g := s.first()
	staticTries, err := s.static(g)
	if err != nil {
		return err
	}
	task := r.task(run.Task)
	task.Runs++
	r.report.Runs++
	isCounted := g.hasHistory || r.cfg.Request > 0
	if isCounted {
		r.planned.replayCPU(run, g, r.report)
		r.report.Policies[0].add(run, staticTries)
	} else {
		r.report.FirstRuns++
	}
	for i, p := range r.policies {
		tries := simulate(run, p.plan(run, g))
		if p == policy(r.planned) && g.hasHistory {
			r.planned.observe(run, tries)
		}
		p.learn(run, g)
		if !isCounted {
			continue
		}
		r.report.Policies[i+1].add(run, tries)
		if p == policy(r.planned) {
			r.report.addRequests(run, staticTries, tries)
			task.add(run, staticTries, tries)
		}
	}
	return nil
}

func (r *replay) task(key sizing.TaskKey) *TaskReport {
	if r.tasks[key] == nil {
		r.tasks[key] = &TaskReport{DagID: key.DAG, TaskID: key.Task}
		r.report.PerTask = append(r.report.PerTask, r.tasks[key])
	}
	return r.tasks[key]
}

func (t *TaskReport) add(run *Run, staticTries, planned []try) {
	for i := range staticTries {
		t.StaticGBh += gigabyteHours(staticTries[i].cost(run))
	}
	for i := range planned {
		t.PlanGBh += gigabyteHours(planned[i].cost(run))
	}
	t.StaticKilled += countKills(staticTries)
	t.PlanKilled += countKills(planned)
}

type try struct {
	limits []float64 // by sample, up to the kill
	killed bool
}

// simulate returns all tries of a run up to the first one that is not killed, but at most maxTries tries.
func simulate(r *Run, l limiter) []try {
	var tries []try
	for range maxTries {
		limits := l.limits(r)
		at := killedAt(r, limits)
		if at < 0 {
			return append(tries, try{limits: limits})
		}
		tries = append(tries, try{limits: limits[:at+1], killed: true})
		l = l.lift(r, limits, at)
	}
	return tries
}

func killedAt(r *Run, limits []float64) int {
	for i, m := range r.Memory {
		if m > limits[i] {
			return i
		}
	}
	return -1
}

// static replays the run with the static grant and the lifts of loadaware, whose policy learns each try.
func (s *session) static(g grant) ([]try, error) {
	var tries []try
	limit := g.memory
	for range maxTries {
		limits := constant(limit).limits(s.run)
		at := killedAt(s.run, limits)
		if at < 0 {
			return append(tries, try{limits: limits}), s.close(limit)
		}
		tries = append(tries, try{limits: limits[:at+1], killed: true})
		next, err := s.afterKill(limit, s.run.Seconds[at]+s.run.width(at))
		if err != nil {
			return nil, err
		}
		limit = next
	}
	return tries, fmt.Errorf("killed %d times; check for samples above the memory of every node", maxTries)
}
