package backtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestEveryOutcomeHasOneCauseOfWastage(t *testing.T) {
	const capBytes = sizing.Bytes(16e9)
	outcome := func(allocated, above sizing.Bytes, killed bool) *Outcome {
		return &Outcome{Question: Question{Cap: capBytes, Above: above}, Allocated: allocated, Killed: killed}
	}
	for claim, c := range map[string]struct {
		o    *Outcome
		cold bool
		want cause
	}{
		"a killed try":                         {outcome(4e9, 0, true), false, causeKill},
		"a killed try of a cold start":         {outcome(4e9, 0, true), true, causeKill},
		"a kill at the cap":                    {outcome(16e9, 8e9, true), false, causeKill},
		"a first try without a model":          {outcome(4e9, 0, false), true, causeColdStart},
		"a static request at the cap":          {outcome(16e9, 0, false), true, causeColdStart},
		"a lift to the cap during cold start":  {outcome(16e9, 8e9, false), true, causeCap},
		"a lift to the cap":                    {outcome(16e9, 8e9, false), false, causeCap},
		"a first try that the cap has limited": {outcome(16e9, 0, false), false, causeCap},
		"a prediction above the peak":          {outcome(4e9, 0, false), false, causeMargin},
		"a lift below the cap":                 {outcome(8e9, 4e9, false), false, causeMargin},
	} {
		assert.Equal(t, c.want, causeOf(c.o, c.cold), claim)
	}
}

func TestAgeGroupsCountTheRunsOfATask(t *testing.T) {
	for before, want := range map[int]string{0: "1", 1: "2-5", 4: "2-5", 5: "6-32", 31: "6-32", 32: "later", 5000: "later"} {
		assert.Equal(t, want, ageGroups[ageGroupOf(before)].name, "the age group after %d runs", before)
	}
}

// The policy max wastes 6 GB·h in run r1 of twoRows, which starts first, because it knows no peak yet. In run r2 it wastes
// 4 GB·h by a kill and 2 GB·h in the lifted try.
func TestWastageIsDividedByCauseAndAgeGroup(t *testing.T) {
	got := replayOne(t, twoRows, Config{Policies: []string{"max"}})
	assert.Equal(t, Causes{ColdStartGBh: 6, MarginGBh: 2, KillsGBh: 4}, got.Causes)
	assert.Equal(t, AgeFigures{"1", 1, 2, 6, 0}, got.Ages[0])
	assert.Equal(t, AgeFigures{"2-5", 1, 6, 6, 100}, got.Ages[1])
	assert.Equal(t, AgeFigures{Runs: "later"}, got.Ages[3])
	require.Len(t, got.Tasks, 1)
	assert.Equal(t, got.Causes, got.Tasks[0].Causes)
}

func TestCausesAndAgeGroupsAddUpForDefaultPolicies(t *testing.T) {
	report, err := Run(t.Context(), demoTrace(t), Config{})
	require.NoError(t, err)
	for _, res := range report.Results {
		sum := func(parts []float64) (total float64) {
			for _, v := range parts {
				total += v
			}
			return total
		}
		parts := res.wastage()
		assert.InEpsilon(t, res.WastedGBh, sum(parts[:causeCount]), 1e-9, res.Policy)
		assert.InEpsilon(t, res.WastedGBh, sum(parts[causeCount:]), 1e-9, res.Policy)
		rows, used := 0, 0.0
		for _, group := range res.Ages {
			rows, used = rows+group.Rows, used+group.UsedGBh
		}
		assert.Equal(t, res.Rows, rows, res.Policy)
		assert.InEpsilon(t, res.UsedGBh, used, 1e-9, res.Policy)
		needsRuns := res.Policy != "static" && res.Policy != "greedy" // static always has an answer, and greedy begins with a constant
		assert.Equal(t, needsRuns, res.Causes.ColdStartGBh > 0, res.Policy)
	}
}

func TestOnStepReceivesEveryRow(t *testing.T) {
	var steps []Step
	cfg := Config{Policies: []string{"max"}, OnStep: func(s Step) { steps = append(steps, s) }}
	res := replayOne(t, twoRows, cfg)
	require.Len(t, steps, 2)
	assert.True(t, steps[0].ColdStart)
	assert.Equal(t, sizing.Bytes(8e9), steps[0].Limit)
	assert.Zero(t, steps[0].Kills)
	second := steps[1]
	assert.Equal(t, []any{"max", "r2", sizing.Bytes(2e9), sizing.Bytes(3e9), 2 * time.Hour, 1},
		[]any{second.Policy, second.Try.RunID, second.Limit, second.Peak, second.Duration, second.Kills}, "a step has the first answer and the number of all kills")
	assert.InDelta(t, res.WastedGBh, (steps[0].Wasted+steps[1].Wasted)/gbHour, 1e-9)
}

func TestARiskTargetNearZeroReducesTheKills(t *testing.T) {
	killed := func(target float64) float64 {
		report, err := Run(t.Context(), demoTrace(t), Config{Policies: []string{Loadaware}, RiskTarget: target})
		require.NoError(t, err)
		return report.Results[0].Killed
	}
	assert.Equal(t, killed(0), killed(sizing.DefaultRiskTarget), "0 stands for the default")
	assert.Less(t, killed(0.002), killed(0.2))
}
