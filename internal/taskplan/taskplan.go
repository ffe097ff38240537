// Package taskplan learns how the memory and CPU of one task change during its runs, from the series of their usage over
// time (sizing.Series). It plans the amounts of the next run, and computes the next amounts of a running try.
//
//	runs ─▶ State.Learn ─▶ curves, outcomes of rules, replayed savings ─┐
//	     └▶ State.FindPhases ─▶ phases, transitions, dwell times ───────┴▶ Planner ─▶ plan, next amounts
//
// It converts between the types of package sizing and the algorithms of internal/ml/plan and
// internal/ml/phase. A rule computes the limits of a plan; see package plan. Package taskplan knows no store, clock or HTTP.
// The same runs give the same state.
package taskplan

import (
	"time"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Timing says how often the caller asks for the amounts of a running try, and how fast it resizes the pod. Every plan
// assumes this timing.
var Timing = plan.DefaultTiming

// A task has a plan if it has at least MinRuns learned runs and their median duration is at least MinSeconds. Plans from
// fewer runs would kill more runs (plan.rule.priorRisk), and shorter runs use little memory time.
const (
	MinRuns    = 3
	MinSeconds = int(sizing.MinPlanned / time.Second)
)

// Run is an ended success with its usage.
type Run struct {
	RunID    string
	MapIndex int
	Try      int
	Series   sizing.Series
	Static   sizing.Resources // the static grant of the first try; zero fields are unknown
}

// State is what is learned about the runs of one task. The zero value is usable.
type State struct {
	Learner plan.Learner
	Cores   plan.Cores
	Static  sizing.Resources // the newest known static grant
	Savings Savings
	Replays []Replay // of the newest runs, oldest first
	Phases  *Phases  // nil before they are found
}

// Savings compares plans with static grants on the replayed runs. Each run was planned before it was learned.
type Savings struct {
	Runs                     int     // number of replayed runs
	StaticKilled, PlanKilled int     // numbers of runs with at least one kill
	StaticCost, PlanCost     float64 // byte-seconds of the limits of all tries

	CPURuns             int     // number of replayed runs with CPU in their series and a CPU request
	StaticCPU, PlanCPU  float64 // core-seconds of the requests
	ShortCPU, CPUTotals float64 // seconds in which the use exceeded the planned request; all seconds
}

// Replay is the plan of one run that was made before the run was learned.
type Replay struct {
	RunID    string
	MapIndex int
	Try      int
	Static   sizing.Bytes // the static grant; 0: unknown
	Limits   []Limit      // of the first try, in order of time; nil for the first run of the task, and if Static is 0
	Killed   bool         // whether the first try was killed
}

// Limit is a memory limit that is in force from a time on, in seconds since the start of the try.
type Limit struct {
	Seconds float64
	Limit   sizing.Bytes
}

// maxReplays bounds State.Replays. The dashboard shows the usage of these runs beside their limits.
const maxReplays = 16

// Learn replays the plan of a run and then learns the run. The tasks of a namespace share the pool.
func (s *State) Learn(pool *plan.Pool, run *Run) {
	samples := samplesOf(&run.Series)
	if len(samples) == 0 {
		return
	}
	if run.Static.Memory == 0 {
		run.Static.Memory = s.Static.Memory
	}
	if run.Static.CPU == 0 {
		run.Static.CPU = s.Static.CPU
	}
	timing := timingOf(&run.Series)
	s.replay(pool, run, samples, timing)
	s.Learner.Learn(pool, curveOf(&run.Series, samples), float64(run.Static.Memory), timing)
	if cores := coresOf(&run.Series); cores != nil && run.Static.CPU > 0 {
		s.replayCores(cores, run, timing)
		s.Cores.Learn(cores, float64(run.Static.CPU), timing)
	}
	s.Static = run.Static
}

func (s *State) isPlannable() bool {
	return len(s.Learner.Curves) >= MinRuns && s.Learner.Duration() >= sizing.MinPlanned.Seconds()
}
