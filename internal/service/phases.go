package service

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// addPlan adds the plan of the task to an allocation, if there is one. It adds none to a lift, or to the static request that
// the modes shadow and off answer.
func (s *Service) addPlan(ctx context.Context, a *sizing.Allocation, policy *sizing.Policy) {
	if a.Mode != sizing.Enforce || a.Source == sizing.FromLift {
		return
	}
	planner := s.planner(ctx, a.Task)
	if planner == nil {
		return
	}
	p := planner.Plan(sizing.Resources{Memory: a.Memory.Limit, CPU: a.CPU})
	if p == nil {
		return
	}
	p.Version, p.Mode = planner.Version, policy.Phases
	p.Start = min(max(p.Start, policy.Floor, s.cfg.MinMemory), p.Static)
	p.Steps = slices.DeleteFunc(p.Steps, func(step sizing.PlanStep) bool { return step.Limit <= p.Start })
	a.Plan = p
	a.Reason += fmt.Sprintf("; plan %d (%s) starts at %s", p.Version, p.Mode, p.Start)
}

// PhaseAsk asks what a running try needs.
type PhaseAsk struct {
	Try sizing.TryKey
	taskplan.Progress
}

// MaxPhaseSamples bounds the samples of a PhaseAsk.
const MaxPhaseSamples = 1000

func (a *PhaseAsk) validate() []sizing.FieldError {
	bad := a.Try.Validate(true)
	add := func(field, format string, args ...any) {
		bad = append(bad, sizing.FieldError{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	longest := sizing.MaxDuration.Seconds()
	if !(a.Elapsed >= 0 && a.Elapsed <= longest) {
		add("elapsed_seconds", "must be 0 to %.0f", longest)
	}
	if a.Limit < 1 || a.Limit > sizing.MaxBytes {
		add("limit_bytes", "must be 1 byte to 8Pi")
	}
	checkBytes := func(field string, v sizing.Bytes) {
		if v < 0 || v > sizing.MaxBytes {
			add(field, "must be 1 byte to 8Pi")
		}
	}
	checkBytes("static_bytes", a.Static)
	checkBytes("memory_max_bytes", a.Largest)
	checkBytes("max_memory_bytes", a.Most)
	checkCPU := func(field string, v sizing.Cores) {
		if !(v >= 0 && v <= sizing.MaxCores) {
			add(field, "must be 0 to %.0f", 1000*float64(sizing.MaxCores))
		}
	}
	checkCPU("cpu_millicores", a.CPU)
	checkCPU("static_cpu_millicores", a.StaticCPU)
	if n := len(a.Samples); n > MaxPhaseSamples {
		add("samples", "must have at most %d entries, not %d: send the newest", MaxPhaseSamples, n)
	}
	previous := 0.0
	for i, sample := range a.Samples {
		if detail := checkSample(&sample, previous); detail != "" {
			add(fmt.Sprintf("samples[%d]", i), "%s", detail)
			break
		}
		previous = sample.Seconds
	}
	return bad
}

// checkSample returns what is wrong with a sample, or "". `previous` is the time of the previous sample in seconds.
func checkSample(s *taskplan.Sample, previous float64) string {
	switch {
	case !(s.Seconds >= previous && s.Seconds <= sizing.MaxDuration.Seconds()):
		return fmt.Sprintf("seconds must be 0 to %.0f, and not below those of the previous sample", sizing.MaxDuration.Seconds())
	case s.Memory < 0 || s.Memory > sizing.MaxBytes:
		return "memory_bytes must be 0 to 8Pi"
	case s.CPU != nil && !(*s.CPU >= 0 && *s.CPU <= float64(sizing.MaxCores)):
		return fmt.Sprintf("cpu_cores must be 0 to %.0f", float64(sizing.MaxCores))
	}
	return ""
}

// PhaseAnswer is what a running try needs.
type PhaseAnswer struct {
	taskplan.Need
	Mode    sizing.PhasesMode
	Version int          // version of the planner; 0 without a planner, and if phases are off
	Static  sizing.Bytes // the static grant; 0 if unknown
	Reason  string
}

// idlePoll is the time in seconds until a try without a plan asks again. Meanwhile the policy may change, or a
// plan may be learned.
const idlePoll = 300

// Phase returns what a running try needs now and next. Without a plan the try needs its static grant, or the limit in
// force if that is larger.
func (s *Service) Phase(ctx context.Context, ask *PhaseAsk) (*PhaseAnswer, error) {
	if bad := ask.validate(); len(bad) > 0 {
		return nil, invalid(bad)
	}
	if answer, ok := s.tries.Find(&ask.Try); ok {
		ask.Static = cmp.Or(ask.Static, answer.Limit)
		ask.Most = cmp.Or(ask.Most, answer.Request.MaxMemory)
	}
	policy, most := s.limitsOf(ctx, ask)
	ask.Most = most
	a := &PhaseAnswer{Mode: policy.Phases, Static: ask.Static}
	a.Need = taskplan.Need{Memory: max(ask.Limit, ask.Static), By: ask.Elapsed, AskAgain: idlePoll}
	if a.Mode == sizing.NoPhases {
		a.Reason = "the static grant: the policy of this task has phases off"
		return a, nil
	}
	planner := s.planner(ctx, ask.Try.TaskKey)
	switch {
	case planner == nil:
		a.Reason = "the static grant: nothing was learned about the runs of this task yet"
		return a, nil
	case !planner.HasPlan():
		a.Version = planner.Version
		a.Reason = fmt.Sprintf("the static grant: a plan needs %d runs with a median of %d seconds or more", taskplan.MinRuns, taskplan.MinSeconds)
		return a, nil
	case ask.Static == 0:
		a.Version = planner.Version
		a.Reason = "the limit in force: the static grant of this try is unknown; send plan.static_bytes of its prediction as static_bytes"
		return a, nil
	}
	a.Version, a.Need = planner.Version, planner.Follow(&ask.Progress)
	a.apply(ask)
	return a, nil
}

func (s *Service) limitsOf(ctx context.Context, ask *PhaseAsk) (sizing.Policy, sizing.Bytes) {
	task := s.models.Get(ctx, ask.Try.TaskKey)
	task.RLockUpdated()
	defer task.RUnlock()
	alloc := s.allocatorOf(task, ask.Try.Namespace, s.cfg.Now())
	q := alloc.question(&sizing.Ask{Try: ask.Try, Requested: sizing.Resources{Memory: ask.Static}, MaxMemory: ask.Most}, 0, 0)
	return alloc.policy, q.Cap
}

func (a *PhaseAnswer) apply(ask *PhaseAsk) {
	wanted := a.Memory
	switch {
	case a.Mode == sizing.ObservePhases:
		a.Memory, a.CPU, a.AskAgain = ask.Limit, 0, max(a.AskAgain, idlePoll/5)
		a.Reason = fmt.Sprintf("observe: nothing changes; the plan would have a limit of %s", wanted)
	case a.Mode == sizing.ResizeCPU:
		a.Memory = ask.Limit
		a.Reason = "cpu: the memory stays"
	case wanted > ask.Limit && wanted > ask.Static:
		a.Reason = fmt.Sprintf("the run outgrows its static grant of %s", ask.Static)
	case wanted > ask.Limit:
		a.Reason = "the run may need more memory soon"
	default:
		a.Reason = "the limit suffices for now"
	}
	if a.Memory == ask.Limit && a.CPU == 0 {
		a.By = ask.Elapsed
	}
	if a.CPU > 0 {
		a.Reason += fmt.Sprintf("; the CPU request follows the use: %s", sizing.Cores(math.Ceil(float64(a.CPU)*1000)/1000))
	}
}

// PlannedTasks lists the tasks of a namespace with learned runs, by name; an empty namespace selects all.
func (s *Service) PlannedTasks(ctx context.Context, namespace string) ([]store.TaskPlan, error) {
	return s.store.PlannedTasks(ctx, namespace)
}

// TaskPhases describes how the usage of a task changes during its runs.
type TaskPhases struct {
	*TaskPlanner
	Mode sizing.PhasesMode
	Next *sizing.Plan // plan of a run with the newest known static grant; nil if there is none
	Runs []PhasedRun  // the newest runs, oldest first
}

// PhasedRun is the usage of a stored run beside the limits of its replayed plan.
type PhasedRun struct {
	RunID    string
	MapIndex int
	Try      int
	Series   sizing.Series   // at most maxPhasedPoints steps
	Phases   []int           // phase of each step; nil before phases are found, or if they need CPU and the run has none
	Replay   taskplan.Replay // zero if the run was not replayed
}

// The default and the largest number of runs of TaskPhases, and the largest number of steps of a run.
const (
	DefaultPhasedRuns = 4
	MaxPhasedRuns     = 16
	maxPhasedPoints   = 480
)

// TaskPhases returns what was learned about the runs of a task, with its newest runs. It returns NotFound
// before the first run is learned.
func (s *Service) TaskPhases(ctx context.Context, task sizing.TaskKey, runs int) (*TaskPhases, error) {
	if runs < 0 || runs > MaxPhasedRuns {
		return nil, invalid([]sizing.FieldError{{Field: "runs", Detail: fmt.Sprintf("must be 0 to %d", MaxPhasedRuns)}})
	}
	entry, err := s.readPlanner(ctx, plannerEntry{task: task})
	if err == nil && (entry.planner == nil || entry.planner.State.Learner.Runs == 0) {
		if _, err = s.store.Task(ctx, task); err == nil {
			err = sizing.Errorf(sizing.NotFound, "phases of %s: no run was learned yet; report successes with detailed_series, or with usage_series of ten minutes or more, and wait up to ten minutes", task)
		}
	}
	if err != nil {
		return nil, err
	}
	policy, err := s.store.Policy(ctx, task)
	if err != nil {
		return nil, err
	}
	p := &TaskPhases{TaskPlanner: entry.planner, Mode: policy.WithDefaults().Phases}
	p.Next = p.Plan(p.State.Static)
	if runs == 0 {
		return p, nil
	}
	stored, err := s.store.DetailedRuns(ctx, task, 0)
	if err != nil {
		return nil, err
	}
	for _, r := range stored[max(0, len(stored)-runs):] {
		p.Runs = append(p.Runs, p.phasedRun(&r))
	}
	return p, nil
}

func (p *TaskPhases) phasedRun(r *store.DetailedRun) PhasedRun {
	run := PhasedRun{RunID: r.RunID, MapIndex: r.MapIndex, Try: r.Try, Series: coarse(&r.Series, maxPhasedPoints)}
	if phases := p.State.Phases; phases != nil {
		run.Phases = phases.Label(&r.Series, len(run.Series.Memory))
	}
	for _, replay := range p.State.Replays {
		if replay.RunID == r.RunID && replay.MapIndex == r.MapIndex && replay.Try == r.Try {
			run.Replay = replay
		}
	}
	return run
}

// coarse merges neighbouring steps so that at most `n` are left. A merged step has the largest memory and the mean CPU of its
// steps.
func coarse(s *sizing.Series, n int) sizing.Series {
	merged := (len(s.Memory) + n - 1) / n
	c := sizing.Series{Step: s.Step * time.Duration(merged)}
	for from := 0; from < len(s.Memory); from += merged {
		to := min(from+merged, len(s.Memory))
		c.Memory = append(c.Memory, slices.Max(s.Memory[from:to]))
		if s.CPU != nil {
			sum := 0.0
			for _, cores := range s.CPU[from:to] {
				sum += cores
			}
			c.CPU = append(c.CPU, sum/float64(to-from))
		}
	}
	return c
}
