package taskplan

import (
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Planner plans the runs of one task. It is safe for concurrent use as long as the state does not change.
type Planner struct {
	State     *State
	planner   *plan.Planner
	durations []float64 // of the learned runs in seconds, ascending
}

// NewPlanner returns the planner of a state. `pool` holds the outcomes of plans in the namespace.
func NewPlanner(s *State, pool *plan.Pool) *Planner {
	p := &Planner{State: s, planner: plan.NewPlanner(&s.Learner, pool, Timing)}
	for i := range s.Learner.Curves {
		p.durations = append(p.durations, s.Learner.Curves[i].Duration())
	}
	slices.Sort(p.durations)
	return p
}

// HasPlan reports whether at least MinRuns runs were learned, and their median duration is at least MinSeconds.
func (p *Planner) HasPlan() bool { return p != nil && p.State.isPlannable() }

// maxSteps bounds the steps of a plan. No plan reaches it: the first limit is at least a fifth of the static grant, and
// each step except the last raises the limit by 5 % or more (1.05³⁴ > 5).
const maxSteps = 100

// Plan returns the plan of a first try with a static grant, or nil if there is none. The caller sets
// Version and Mode.
func (p *Planner) Plan(static sizing.Resources) *sizing.Plan {
	if !p.HasPlan() || static.Memory <= 0 {
		return nil
	}
	planned := p.planner.Plan(float64(static.Memory))
	risk := min(1, max(0, planned.Risk))
	result := &sizing.Plan{
		Start: min(wholeMiB(planned.Start()), static.Memory), StartCPU: static.CPU, Static: static.Memory, Promised: &risk,
		Poll: seconds(Timing.Poll), Reaction: seconds(Timing.Reaction),
	}
	limit := result.Start
	for _, s := range planned.Steps() {
		next := min(wholeMiB(s.Limit), static.Memory)
		if next <= limit || len(result.Steps) == maxSteps {
			continue
		}
		limit = next
		result.Steps = append(result.Steps, sizing.PlanStep{
			AskBy: seconds(s.Seconds), After: seconds(s.Seconds + Timing.Reaction), Level: sizing.Bytes(s.Level), Limit: limit,
		})
	}
	return result
}

// Rule names the rule by which the limit of the next run follows the usage, with its parameters.
func (p *Planner) Rule() string { return p.planner.Plan(1).Rule() }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// wholeMiB rounds up to a whole number of MiB, as grants are.
func wholeMiB(v float64) sizing.Bytes {
	return (sizing.Bytes(v) + sizing.MiB - 1) / sizing.MiB * sizing.MiB
}
