package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/loadaware/loadaware/internal/dashboard/chart"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// TaskPhases is the page of the phases and the plan of a task.
type TaskPhases struct {
	Namespace  string            `json:"namespace"`
	DagID      string            `json:"dag_id"`
	TaskID     string            `json:"task_id"`
	Missing    string            `json:"missing,omitempty"` // why nothing was learned
	Mode       sizing.PhasesMode `json:"mode"`
	Version    int               `json:"version"` // of the learned phases and plan
	LearnedAt  time.Time         `json:"learned_at"`
	Learned    int               `json:"runs"` // number of learned runs
	Savings    PlanSavings       `json:"savings"`
	Phases     []PhaseRow        `json:"phases"`
	Silhouette float64           `json:"silhouette"` // of the phases; 0 for one phase
	Prototypes []PrototypeRow    `json:"prototypes"`
	Coverage   float64           `json:"coverage"`       // share of the runs that follow a prototype, among those in which phases were found
	Rule       string            `json:"rule,omitempty"` // how the limit of the next run follows the usage
	Start      sizing.Bytes      `json:"start_bytes"`    // limit at the start of the next plan; 0 without one
	Static     sizing.Bytes      `json:"static_bytes"`   // the static grant of the next plan; 0 without one
	Promised   *float64          `json:"promised"`       // P(a run with the next plan is killed); nil if unknown
	Steps      []PlanStepRow     `json:"steps"`
	Runs       []PhasedRun       `json:"newest_runs"`       // newest first
	NoPlan     string            `json:"no_plan,omitempty"` // why there is no next plan
}

// Key returns the key of the task.
func (p *TaskPhases) Key() sizing.TaskKey {
	return sizing.TaskKey{Namespace: p.Namespace, DAG: p.DagID, Task: p.TaskID}
}

// PlanSavings compares replayed plans with static grants.
type PlanSavings struct {
	Runs         int      `json:"runs"`          // number of replayed runs
	StaticGBH    float64  `json:"static_gbh"`    // of all tries of these runs with static grants
	PlanGBH      float64  `json:"plan_gbh"`      // of the same tries with plans
	Saved        *float64 `json:"saved_share"`   // of StaticGBH; nil before the first replay
	StaticKilled int      `json:"static_killed"` // runs with an OOM kill with static grants
	PlanKilled   int      `json:"plan_killed"`   // runs with an OOM kill with plans
	CPURuns      int      `json:"cpu_runs"`      // replayed runs with CPU usage and a CPU request
	StaticCPU    float64  `json:"static_core_hours"`
	PlanCPU      float64  `json:"plan_core_hours"`
	Short        *float64 `json:"short_share"` // share of the time in which CPU usage exceeds the planned CPU request; nil without CPURuns
}

// Change returns how much less or more memory time plans take than static grants, such as "12 % less"; "" if
// it is not known.
func (s *PlanSavings) Change() string {
	switch {
	case s.Saved == nil:
		return ""
	case *s.Saved < 0:
		return share(-*s.Saved) + " more"
	}
	return share(*s.Saved) + " less"
}

// PhaseRow is one phase.
type PhaseRow struct {
	ID     int             `json:"id"`
	Colour string          `json:"-"`
	Share  float64         `json:"share"`  // of the time of the runs in which phases were found, at most the newest 32
	Visits int             `json:"visits"` // number of visits in these runs
	Mean   sizing.Bytes    `json:"memory_mean_bytes"`
	Max    sizing.Bytes    `json:"memory_max_bytes"`
	Cores  *float64        `json:"cpu_mean_cores"`    // nil if the CPU usage is unknown
	Starts float64         `json:"start_probability"` // that a run starts in the phase
	P10    float64         `json:"dwell_p10_seconds"`
	Median float64         `json:"dwell_median_seconds"`
	P90    float64         `json:"dwell_p90_seconds"`
	Next   []TransitionRow `json:"next"`
}

// TransitionRow is what may follow a phase.
type TransitionRow struct {
	Phase       *int    `json:"phase"` // nil: the end of the run
	Name        string  `json:"-"`
	Colour      string  `json:"-"`
	Probability float64 `json:"probability"`
}

// PrototypeRow is a frequent sequence of phases.
type PrototypeRow struct {
	Phases []int   `json:"phases"`
	Text   string  `json:"-"`
	Runs   int     `json:"runs"`  // number of runs with this sequence, among those in which phases were found
	Share  float64 `json:"share"` // of the runs in which phases were found
}

// PlanStepRow is one step of the next plan.
type PlanStepRow struct {
	AskBy float64      `json:"ask_by_seconds"` // latest time to ask for the limit
	After float64      `json:"after_seconds"`  // time from which the limit must be in force
	Level sizing.Bytes `json:"level_bytes"`    // largest memory that the plan predicts up to AskBy
	Limit sizing.Bytes `json:"memory_bytes"`   // limit from After on
}

// PhasedRun is a stored run with the limits of its replayed plan.
type PhasedRun struct {
	RunID       string       `json:"run_id"`
	MapIndex    int          `json:"map_index"`
	Try         int          `json:"try_number"`
	StepSeconds float64      `json:"step_seconds"`
	Memory      []int64      `json:"memory_bytes"`
	CPU         []float64    `json:"cpu_cores,omitempty"`
	Phases      []int        `json:"phases"`
	Static      sizing.Bytes `json:"static_bytes"` // 0 if unknown
	Limits      []LimitRow   `json:"limits"`       // of the first try of the replay, where they change; empty for the first run of the task, and without a static grant
	Killed      bool         `json:"killed"`       // the run exceeds a limit of the plan, so the replay kills this try

	Figure chart.Figure `json:"-"`
}

// LimitRow is a planned limit from a time on.
type LimitRow struct {
	Seconds float64      `json:"seconds"`
	Memory  sizing.Bytes `json:"memory_bytes"`
}

const defaultPhasedRuns = service.DefaultPhasedRuns

func (p *TaskPhases) fill(learned *service.TaskPhases) {
	state := learned.State
	p.Mode, p.Version, p.LearnedAt, p.Learned = learned.Mode, learned.Version, learned.LearnedAt, state.Learner.Runs
	p.Savings = planSavings(&state.Savings)
	if phases := state.Phases; phases != nil {
		p.fillPhases(phases)
	}
	if next := learned.Next; next != nil {
		p.Rule, p.Start, p.Static, p.Promised = learned.Rule(), next.Start, next.Static, next.Promised
		for _, s := range next.Steps {
			p.Steps = append(p.Steps, PlanStepRow{s.AskBy.Seconds(), s.After.Seconds(), s.Level, s.Limit})
		}
	} else if learned.HasPlan() {
		p.NoPlan = "the static grant is unknown: report requested or allocated memory"
	} else {
		p.NoPlan = fmt.Sprintf("a plan needs %d runs with a median duration of %d minutes or more", taskplan.MinRuns, taskplan.MinSeconds/60)
	}
	for i := len(learned.Runs) - 1; i >= 0; i-- {
		p.Runs = append(p.Runs, phasedRun(&learned.Runs[i]))
	}
}

func planSavings(s *taskplan.Savings) PlanSavings {
	const byteSeconds = 1e9 * 3600 // of a GB·h
	r := PlanSavings{Runs: s.Runs, StaticGBH: s.StaticCost / byteSeconds, PlanGBH: s.PlanCost / byteSeconds, StaticKilled: s.StaticKilled, PlanKilled: s.PlanKilled,
		CPURuns: s.CPURuns, StaticCPU: s.StaticCPU / 3600, PlanCPU: s.PlanCPU / 3600}
	if s.StaticCost > 0 {
		saved := 1 - s.PlanCost/s.StaticCost
		r.Saved = &saved
	}
	if s.CPUTotals > 0 {
		shortShare := s.ShortCPU / s.CPUTotals
		r.Short = &shortShare
	}
	return r
}

func (p *TaskPhases) fillPhases(phases *taskplan.Phases) {
	p.Silhouette, p.Coverage = phases.Model.Silhouette, phases.Coverage
	steps := 0
	for id := range phases.IDs {
		steps += phases.Statistics(id).Steps
	}
	for id := range phases.IDs {
		if phases.Visits[id] > 0 {
			p.Phases = append(p.Phases, phaseRow(phases, id, steps))
		}
	}
	for _, t := range phases.Prototypes {
		p.Prototypes = append(p.Prototypes, PrototypeRow{t.Phases, sequence(t.Phases), t.Runs, t.Share})
	}
}

// phaseRow describes a phase; `steps` is the number of steps of all phases.
func phaseRow(phases *taskplan.Phases, id, steps int) PhaseRow {
	s := phases.Statistics(id)
	const gibibyte = float64(sizing.GiB)
	row := PhaseRow{
		ID: id, Colour: phaseClass(id), Share: float64(s.Steps) / float64(max(steps, 1)), Visits: phases.Visits[id], Starts: phases.Starts[id],
		Mean: sizing.Bytes(s.Mean[0] * gibibyte), Max: sizing.Bytes(s.Max[0] * gibibyte),
		P10: phases.DwellQuantile(id, .1), Median: phases.DwellQuantile(id, .5), P90: phases.DwellQuantile(id, .9), Next: []TransitionRow{},
	}
	if phases.HasCPU {
		row.Cores = &s.Mean[1]
	}
	for _, n := range phases.Transitions(id) {
		t := TransitionRow{Name: "end", Colour: "c3", Probability: n.Probability}
		if n.Phase >= 0 {
			t.Phase, t.Name, t.Colour = &n.Phase, strconv.Itoa(n.Phase), phaseClass(n.Phase)
		}
		row.Next = append(row.Next, t)
	}
	return row
}

// phaseColours are the colours of phases; grey and the colour of kills are left out.
var phaseColours = [...]int{1, 5, 6, 2, 7, 8}

func phaseColour(id int) int { return phaseColours[id%len(phaseColours)] }

func phaseClass(id int) string { return "c" + strconv.Itoa(phaseColour(id)) }

func phasedRun(r *service.PhasedRun) PhasedRun {
	run := PhasedRun{RunID: r.RunID, MapIndex: r.MapIndex, Try: r.Try, StepSeconds: r.Series.Step.Seconds(), Memory: r.Series.Memory, CPU: r.Series.CPU,
		Phases: append([]int{}, r.Phases...), Static: r.Replay.Static, Killed: r.Replay.Killed, Limits: []LimitRow{}}
	for _, l := range r.Replay.Limits {
		run.Limits = append(run.Limits, LimitRow{l.Seconds, l.Limit})
	}
	run.Figure = run.figure()
	return run
}

func (r *PhasedRun) figure() chart.Figure {
	spec := chart.Spec{
		Title:   r.RunID,
		Summary: fmt.Sprintf("Memory of the run %s, its planned limit and its static grant over time", r.RunID),
		X:       chart.Axis{Label: "minutes since the start"}, Y: chart.Axis{Label: "memory", Unit: chart.Memory},
		Series: r.usageLines(),
	}
	if limits := r.limits(); len(limits.X) > 0 {
		spec.Series = append(spec.Series, limits)
	}
	spec.Series = append(spec.Series, chart.Series{Colour: 3, X: []float64{0}, Y: []float64{0}}) // the axes start at zero
	if r.Static > 0 {
		spec.Markers = []chart.Marker{{Name: "static grant", Colour: 3, At: float64(r.Static), OnY: true}}
	}
	return spec.Draw()
}

// usageLines returns the used memory as one line for each phase that occurs, with gaps during the other phases.
// If the phases are unknown, it returns one line.
func (r *PhasedRun) usageLines() (all []chart.Series) {
	if len(r.Phases) == 0 {
		line := chart.Series{Name: "used", Colour: phaseColours[0]}
		for step, memory := range r.Memory {
			line.X, line.Y = append(line.X, r.minutes(step)), append(line.Y, float64(memory))
		}
		return append(all, line)
	}
	for id := range slices.Max(r.Phases) + 1 {
		if !slices.Contains(r.Phases, id) {
			continue
		}
		line := chart.Series{Name: fmt.Sprintf("phase %d", id), Colour: phaseColour(id)}
		for step, memory := range r.Memory {
			y := math.NaN()
			if r.Phases[step] == id || step > 0 && r.Phases[step-1] == id { // up to the first step of the next phase
				y = float64(memory)
			}
			line.X, line.Y = append(line.X, r.minutes(step)), append(line.Y, y)
		}
		all = append(all, line)
	}
	return all
}

// limits returns the planned limit as a step function, up to the end of the run or the kill.
func (r *PhasedRun) limits() chart.Series {
	line := chart.Series{Name: "planned limit", Colour: 4}
	for i, l := range r.Limits {
		at := l.Seconds / 60
		if i > 0 {
			line.X, line.Y = append(line.X, at), append(line.Y, line.Y[len(line.Y)-1])
		}
		line.X, line.Y = append(line.X, at), append(line.Y, float64(l.Memory))
	}
	if n := len(line.Y); n > 0 {
		line.X, line.Y = append(line.X, max(line.X[n-1], r.minutes(r.lastStep()))), append(line.Y, line.Y[n-1])
	}
	return line
}

// lastStep returns the last step with a limit: the step in which the replay kills the run, or else the last
// step of the run. A step of a long run joins several steps of the replay, and the limit may grow within it. Therefore
// lastStep compares the largest memory of a step with the limit at the end of the step.
func (r *PhasedRun) lastStep() int {
	next, limit := 0, sizing.Bytes(0)
	for step, memory := range r.Memory {
		for next < len(r.Limits) && r.Limits[next].Seconds < float64(step+1)*r.StepSeconds {
			limit, next = r.Limits[next].Memory, next+1
		}
		if r.Killed && sizing.Bytes(memory) > limit {
			return step
		}
	}
	return len(r.Memory) - 1
}

func (r *PhasedRun) minutes(step int) float64 { return float64(step) * r.StepSeconds / 60 }
