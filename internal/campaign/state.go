// Package campaign defines campaigns, their budgets, and the states of a reproduced run with the transitions between them.
// In a campaign, Airflow reproduces archived runs in a sandbox, so that the models learn their usage before production runs.
//
// The package also computes the run ids of reproduced runs, which are deterministic.
//
//	           trigger_deploy    check_deploy
//	 0 registered ──▶ 10 ──▶ 11 ──┬──▶ 17 deployed
//	                              └──▶ 15 failed
//	           trigger_run       check_run
//	17 deployed ────▶ 30 ──▶ 31 ──┬──▶ 37 succeeded
//	                              └──▶ 35 failed
//	           trigger_profile   check_profile
//	37 succeeded ───▶ 50 ──▶ 51 ──┬──▶ 57 profiled
//	                              └──▶ 55 failed
//
// A failed run waits until a person resets the run to an earlier one of the states 0, 17 and 37.
package campaign

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// State is the state of a run. The database stores its number.
type State int

// The states.
const (
	Registered       State = 0
	DeployTriggered  State = 10 // a trigger has claimed the run
	Deploying        State = 11
	DeployFailed     State = 15
	Deployed         State = 17
	RunTriggered     State = 30
	Running          State = 31
	RunFailed        State = 35
	RunSucceeded     State = 37
	ProfileTriggered State = 50
	Profiling        State = 51
	ProfileFailed    State = 55
	Profiled         State = 57
)

// names is in the order of the numbers of the states.
var names = []struct {
	state State
	name  string
}{
	{Registered, "registered"},
	{DeployTriggered, "deployment triggered"}, {Deploying, "deploying"}, {DeployFailed, "deployment failed"}, {Deployed, "deployed"},
	{RunTriggered, "run triggered"}, {Running, "running"}, {RunFailed, "run failed"}, {RunSucceeded, "run succeeded"},
	{ProfileTriggered, "profiling triggered"}, {Profiling, "profiling"}, {ProfileFailed, "profiling failed"}, {Profiled, "profiled"},
}

// States lists all states in the order of their numbers.
func States() []State {
	states := make([]State, len(names))
	for i := range names {
		states[i] = names[i].state
	}
	return states
}

// String returns the name of the state.
func (s State) String() string {
	for i := range names {
		if names[i].state == s {
			return names[i].name
		}
	}
	return "unknown"
}

// IsFailure reports whether the run waits for a person.
func (s State) IsFailure() bool { return s == DeployFailed || s == RunFailed || s == ProfileFailed }

// IsTriggered reports whether a trigger has claimed the run and not reported yet.
func (s State) IsTriggered() bool {
	return s == DeployTriggered || s == RunTriggered || s == ProfileTriggered
}

// transitions lists the states that a worker may report for a run in a state. A check that found no change reports the
// same state again, which ends the lease of the run. A trigger that could not start its work returns the run to the state
// before the claim. Two kinds of transitions are not listed: claims move a run on from 0, 17 or 37, and resets by a person
// move a run back to one of these states.
var transitions = map[State][]State{
	DeployTriggered:  {Deploying, DeployFailed, Registered},
	Deploying:        {Deploying, DeployFailed, Deployed},
	RunTriggered:     {Running, RunFailed, Deployed},
	Running:          {Running, RunFailed, RunSucceeded},
	ProfileTriggered: {Profiling, ProfileFailed, RunSucceeded},
	Profiling:        {Profiling, ProfileFailed, Profiled},
}

// CheckReport returns an error if a worker must not move a run from one state to another.
func CheckReport(from, to State) error {
	if slices.Contains(transitions[from], to) {
		return nil
	}
	return sizing.InvalidField("to", "a worker must not move a run from %d (%s) to %d (%s); the states after %d are %v", from, from, to, to, from, numbers(transitions[from]))
}

func numbers(states []State) []int {
	all := make([]int, len(states))
	for i, s := range states {
		all[i] = int(s)
	}
	return all
}

var resetTargets = []State{Registered, Deployed, RunSucceeded}

// CheckReset returns an error if a person must not reset a run from one state to another. A reset
// leads to one of the resetTargets, from which a trigger continues. It never moves a run forward. An active run
// cannot be reset.
func CheckReset(from, to State) error {
	switch {
	case !slices.Contains(resetTargets, to):
		return sizing.InvalidField("to", "must be %v, not %d", numbers(resetTargets), to)
	case from == to:
		return nil
	case transitions[from] != nil:
		return sizing.Errorf(sizing.Conflict, "the run is in state %q (%d) and cannot be reset while it is active; wait until a worker reports its end", from, from)
	case to > from:
		return sizing.Errorf(sizing.Conflict, "the run is in state %q (%d), and a reset cannot move it forward to %d; reset it to an earlier state", from, from, to)
	}
	return nil
}

// RestartsRun reports whether a reset needs a DAG run with a new run id, because the DAG run of the
// last attempt has ended.
func RestartsRun(from, to State) bool { return from >= RunFailed && to <= Deployed }

// Branch is one of the six branches of the Airflow DAG that runs the campaigns (docs/campaigns.md).
type Branch string

// The branches. A trigger starts a deployment, a DAG run or a profiling for each of its runs. A check
// reports whether the deployment, DAG run or profiling has ended.
const (
	TriggerDeploy  Branch = "trigger_deploy"
	CheckDeploy    Branch = "check_deploy"
	TriggerRun     Branch = "trigger_run"
	CheckRun       Branch = "check_run"
	TriggerProfile Branch = "trigger_profile"
	CheckProfile   Branch = "check_profile"
)

// Rule describes the runs that a branch claims. For a check all three states are equal.
type Rule struct {
	From    State // state of the runs before the claim
	Claimed State // state of the runs after the claim
	Started State // state of the runs after the branch has started its work
}

var rules = map[Branch]Rule{
	TriggerDeploy:  {Registered, DeployTriggered, Deploying},
	CheckDeploy:    {Deploying, Deploying, Deploying},
	TriggerRun:     {Deployed, RunTriggered, Running},
	CheckRun:       {Running, Running, Running},
	TriggerProfile: {RunSucceeded, ProfileTriggered, Profiling},
	CheckProfile:   {Profiling, Profiling, Profiling},
}

// RuleOf returns the rule of a branch.
func RuleOf(b Branch) (Rule, error) {
	if r, ok := rules[b]; ok {
		return r, nil
	}
	return Rule{}, sizing.InvalidField("branch", "%q is not a branch; use trigger_deploy, check_deploy, trigger_run, check_run, trigger_profile or check_profile", b)
}

// IsTrigger reports whether the branch is a trigger. A pause stops triggers and not checks, so that started
// work can finish.
func (r Rule) IsTrigger() bool { return r.From != r.Claimed }

// Spends reports whether the budget limits the branch. It is true for TriggerDeploy and TriggerRun.
func (r Rule) Spends() bool { return r.IsTrigger() && r.From < RunSucceeded }
