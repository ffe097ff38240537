package growth

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/ml/plan/plantest"
	"github.com/loadaware/loadaware/internal/sizing"
)

func generated(family string, tasks, runs int, seed uint64) []*Run {
	var all []*Run
	for _, g := range plantest.Generate(family, tasks, runs, seed) {
		r := &Run{Task: sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: family, Task: g.Task}, ID: g.ID, Memory: g.Memory, CPU: g.CPU}
		for i := range g.Memory {
			r.Seconds = append(r.Seconds, float64(i*plantest.Step))
		}
		all = append(all, r)
	}
	return all
}

func TestPlansCostLessThanStaticGrants(t *testing.T) {
	var runs []*Run
	for _, family := range plantest.Families() {
		for seed := range uint64(3) { // in the runs of one seed, one kill more or less is chance
			tasks := generated(family, 3, 14, 77+seed)
			for _, r := range tasks {
				r.Task.Namespace = fmt.Sprintf("seed-%d", seed)
			}
			runs = append(runs, tasks...)
		}
	}
	report, err := Replay(context.Background(), runs, Config{Timing: plan.Timing{Poll: 5, Reaction: 10}})
	require.NoError(t, err)
	require.Equal(t, len(runs), report.Runs)
	require.Equal(t, 36, report.FirstRuns)
	static, planned, perfect := report.Policies[0], report.Policies[1], report.Policies[len(report.Policies)-1]
	require.Equal(t, planName, planned.Policy)
	require.Equal(t, len(runs)-36, planned.Runs)
	for _, f := range report.Policies {
		t.Logf("%-15s %.3f of static, %d killed", f.Policy, f.ShareOfStatic, f.Killed)
		if f.Grows {
			assert.GreaterOrEqual(t, f.LimitGBh, perfect.LimitGBh, "%s: no policy whose limits never shrink costs less than the policy perfect", f.Policy)
		}
	}
	assert.Less(t, planned.ShareOfStatic, .9)
	assert.LessOrEqual(t, planned.Killed, max(static.Killed, planned.Runs*3/100))
	assert.LessOrEqual(t, report.CPU[1].ShortPercent, 5.0)
	assert.Less(t, report.CPU[1].ShareOfStatic, 1.0)
	assert.Less(t, report.Requests[1].ShareOfStatic, 1.0)
}

func TestReplayIsDeterministic(t *testing.T) {
	encoded := func() string {
		report, err := Replay(context.Background(), generated("programs", 2, 6, 5), Config{})
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, encoded(), encoded())
}

// runOf returns a run with these samples of memory, which are ten seconds apart.
func runOf(memory ...float64) *Run {
	r := &Run{Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: "t"}, ID: "r", Memory: memory}
	for i := range memory {
		r.Seconds, r.CPU = append(r.Seconds, float64(10*i)), append(r.CPU, math.NaN())
	}
	return r
}

func TestCostsIncludeKilledTries(t *testing.T) {
	r := runOf(1e9, 2e9, 5e9)
	tries := simulate(r, constant(2e9))
	require.Len(t, tries, 3, "the run must be killed at 2 GB and 4 GB")
	var f Figures
	f.add(r, tries)
	assert.Equal(t, 2, f.Killed)
	assert.InDelta(t, (2e9+4e9+8e9)*30, f.byteSeconds, 1)
}

func TestARunMayBeKilledInEachTry(t *testing.T) {
	r := runOf(1e15, 2e15)
	planned := simulate(r, constant(1))
	require.Len(t, planned, maxTries)
	var f Figures
	f.add(r, planned)
	assert.Equal(t, maxTries, f.Killed)
	var task TaskReport
	task.add(r, simulate(r, constant(2e15)), planned)
	assert.Equal(t, maxTries, task.PlanKilled)
	report := newReport(Config{}, nil)
	report.addRequests(r, simulate(r, constant(2e15)), planned)
	assert.Zero(t, report.Requests[0].byteSeconds, "a run whose planned tries were all killed does not count")
}

// A limit may depend only on samples that are older than the reaction time.
func TestGrowingLimitsDoNotLookAhead(t *testing.T) {
	runs := generated("walks", 1, 8, 3)
	o := newPlanPolicy(plan.Timing{Poll: 5, Reaction: 10})
	g := grant{memory: 1.5 * runs[0].peak(), hasHistory: true}
	for _, r := range runs[:7] {
		o.learn(r, g)
	}
	last := runs[7]
	before := o.plan(last, g).limits(last)
	changed := *last
	changed.Memory = append([]float64(nil), last.Memory...)
	at := len(changed.Memory) / 3
	for i := at; i < len(changed.Memory); i++ {
		changed.Memory[i] *= 3
	}
	after := o.plan(&changed, g).limits(&changed)
	same := at + int(10/plantest.Step)
	assert.Equal(t, before[:same], after[:same])
	assert.NotEqual(t, before, after)
}

func TestSegmentsEqualValuesComputedByHand(t *testing.T) {
	h := history{}
	for _, m := range [][]float64{{1e9, 1e9, 2e9, 4e9}, {1e9, 3e9, 3e9, 3e9, 3e9, 3e9, 3e9, 3e9}} {
		h.learn(runOf(m...), grant{})
	}
	r := runOf(1e9, 1e9, 1e9, 1e9)
	assert.Equal(t, []float64{3e9, 3e9, 3e9, 4e9}, kSegments{h}.plan(r, grant{}).limits(r), "the segments have the run time of the shorter run and the larger peaks")
	cut := cutRun(runOf(1e9, 1e9, 2e9, 4e9))
	assert.Equal(t, []float64{1e9, 2e9, 4e9, 4e9}, cut.peaks)
	assert.Equal(t, []float64{20, 30, 40, 40}, cut.ends)
	assert.Equal(t, []float64{7e9, 7e9}, kSegments{history{}}.plan(r, grant{memory: 7e9}).limits(runOf(1, 1)), "without history the static grant must apply")
}
