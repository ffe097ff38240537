package sizing_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

const gib = sizing.GiB

func TestDecideLiftsUntilTheCapOrTheLastLift(t *testing.T) {
	base := sizing.LiftState{Failed: 2 * gib, Ceiling: 16 * gib, Kills: 1, MaxLifts: 3, Ladder: []sizing.Bytes{gib, 4 * gib, 9 * gib}}
	with := func(change func(*sizing.LiftState)) sizing.LiftState {
		s := base
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		state   sizing.LiftState
		reason  sizing.Outcome
		verdict sizing.Verdict
		limit   sizing.Bytes
		left    int // AttemptsLeft
	}{
		"a lift takes the next rung above the failed allocation": {base, sizing.OOMKilled, sizing.VerdictLift, 4 * gib, 2},
		"an OOM that the program reported is lifted, too":        {base, sizing.AppOOM, sizing.VerdictLift, 4 * gib, 2},
		"without a higher rung the allocation doubles":           {with(func(s *sizing.LiftState) { s.Ladder = nil }), sizing.OOMKilled, sizing.VerdictLift, 4 * gib, 2},
		"a lift grants at most the ceiling":                      {with(func(s *sizing.LiftState) { s.Ceiling = 3 * gib }), sizing.OOMKilled, sizing.VerdictLift, 3 * gib, 2},
		"the last lift grants the ceiling":                       {with(func(s *sizing.LiftState) { s.Kills = 3 }), sizing.OOMKilled, sizing.VerdictLift, 16 * gib, 0},
		"no lift after the last lift of the policy":              {with(func(s *sizing.LiftState) { s.Kills = 4 }), sizing.OOMKilled, sizing.VerdictExhausted, 0, 0},
		"no lift at the cap":                                     {with(func(s *sizing.LiftState) { s.Failed = 16 * gib }), sizing.OOMKilled, sizing.VerdictAtCap, 0, 2},
		"repeated kills at the cap suggest a leak":               {with(func(s *sizing.LiftState) { s.Failed = 16 * gib; s.KillsAtCap = 3 }), sizing.OOMKilled, sizing.VerdictLeakSuspected, 0, 2},
		"no lift if the program has a limit of its own":          {with(func(s *sizing.LiftState) { s.OwnLimit = gib }), sizing.AppOOM, sizing.VerdictNotMemory, 0, 2},
		"an eviction is not a lack of memory":                    {base, sizing.Evicted, sizing.VerdictNotMemory, 0, 2},
		"a success is not a lack of memory":                      {base, sizing.Success, sizing.VerdictNotMemory, 0, 2},
		"an eviction before any kill uses up no lift":            {with(func(s *sizing.LiftState) { s.Kills = 0 }), sizing.Evicted, sizing.VerdictNotMemory, 0, 3},
		"no lift if the policy allows none":                      {with(func(s *sizing.LiftState) { s.MaxLifts = 0 }), sizing.OOMKilled, sizing.VerdictExhausted, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			lift := c.state.Decide(c.reason)
			assert.Equal(t, c.verdict, lift.Verdict)
			assert.Equal(t, c.verdict == sizing.VerdictLift, lift.Retry)
			assert.Equal(t, c.limit, lift.Memory.Limit)
			assert.Equal(t, c.left, lift.AttemptsLeft)
			assert.Equal(t, c.state.Kills+1, lift.Attempt)
			assert.NotEmpty(t, lift.Reason)
		})
	}
}

func TestAskForALiftAllowsEveryKnownReason(t *testing.T) {
	ask := sizing.LiftAsk{Ask: sizing.Ask{Try: sizing.TryKey{
		TaskKey: sizing.TaskKey{Namespace: "default", DAG: "dag", Task: "task"}, RunID: "run", MapIndex: sizing.NoMap, Number: 1}}, Failed: gib}
	bad := ask.Validate()
	require.Len(t, bad, 1)
	allowed := strings.Split(strings.TrimPrefix(bad[0].Detail, "must be one of "), ", ")
	for ask.Reason = sizing.Success; ask.Reason <= sizing.Unschedulable; ask.Reason++ {
		assert.Empty(t, ask.Validate())
		assert.Contains(t, allowed, ask.Reason.String())
	}
	assert.Len(t, allowed, int(sizing.Unschedulable))
}

func FuzzLiftStaysBetweenFailedAndCeiling(f *testing.F) {
	f.Add(int64(2<<30), int64(16<<30), 1, int64(4<<30))
	f.Fuzz(func(t *testing.T, failed, ceiling int64, kills int, rung int64) {
		if failed <= 0 || failed > sizing.MaxBytes || ceiling <= 0 || ceiling > sizing.MaxBytes {
			return
		}
		lift := sizing.LiftState{
			Failed: sizing.Bytes(failed), Ceiling: sizing.Bytes(ceiling), Kills: kills, MaxLifts: 3, Ladder: []sizing.Bytes{sizing.Bytes(rung)},
		}.Decide(sizing.OOMKilled)
		if lift.Retry {
			assert.Greater(t, lift.Memory.Limit, sizing.Bytes(failed))
			assert.LessOrEqual(t, lift.Memory.Limit, sizing.Bytes(ceiling))
		}
	})
}
