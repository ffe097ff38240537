package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func asking(run string, requested sizing.Bytes) sizing.Ask {
	return sizing.Ask{Try: try("job", run, 1), Requested: sizing.Resources{Memory: requested}}
}

func (r *replica) killed(run string, at sizing.Bytes) {
	r.t.Helper()
	r.tell(sizing.Observation{Try: try("job", run, 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: at}})
}

func TestLiftTakesTheRequestAndCapOfItsTry(t *testing.T) {
	r := newReplica(t)
	for i, peak := range []sizing.Bytes{4 * gib, 5 * gib, 5 * gib} {
		o := held(steady(string(rune('a'+i))), peak)
		o.Try.TaskKey, o.Requested = task("job"), sizing.Resources{}
		r.tell(o)
	}
	question := asking("r", 100*gib)
	r.answer(question)
	bare := asking("r", 0)
	lift := r.lift(bare, 20*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 20*gib)
	assert.Equal(t, lift.Memory, r.answer(later(bare, 2)).Memory)
	next := r.lift(later(bare, 2), 90*gib)
	require.True(t, next.Retry, next.Reason)
	assert.Greater(t, next.Memory.Limit, 90*gib)

	capped := asking("capped", 100*gib)
	capped.MaxMemory = 30 * gib
	r.answer(capped)
	assert.LessOrEqual(t, r.lift(asking("capped", 0), 20*gib).Memory.Limit, 30*gib)
	atCap := r.lift(later(asking("capped", 0), 2), 30*gib)
	assert.Equal(t, sizing.VerdictAtCap, atCap.Verdict)
	assert.Contains(t, atCap.Reason, "the cap is 30Gi, the caller's max_memory")
	assert.LessOrEqual(t, r.answer(later(asking("capped", 0), 3)).Memory.Limit, 30*gib)
}

func TestLiftTakesTheReportedRequestOfItsTask(t *testing.T) {
	r := newReplica(t)
	o := held(steady("a"), 5*gib)
	o.Try.TaskKey, o.Requested = task("job"), sizing.Resources{Memory: 100 * gib}
	r.tell(o)
	lift := r.lift(asking("r", 0), 150*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 150*gib)
}

func TestAKillRaisesADerivedCapOnce(t *testing.T) {
	r := newReplica(t)
	lift := r.lift(asking("first", 5*gib), 20*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 20*gib)
	assert.Greater(t, r.answer(asking("", 5*gib)).Memory.Limit, 20*gib)
	atCap := r.lift(asking("second", 5*gib), 80*gib)
	assert.Equal(t, sizing.VerdictAtCap, atCap.Verdict)
	assert.Contains(t, atCap.Reason, "the cap is 80Gi, ")
	assert.Contains(t, atCap.Reason, "set max_memory or a policy cap to allow more")
	assert.Equal(t, sizing.VerdictAtCap, r.lift(asking("third", 5*gib), 80*gib).Verdict)
	assert.Equal(t, sizing.VerdictLeakSuspected, r.lift(asking("fourth", 5*gib), 80*gib).Verdict)
}

func TestAPolicyCapIsNotRaisedByKills(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Cap: 20 * gib}))
	lift := r.lift(asking("r", 5*gib), 20*gib)
	assert.Equal(t, sizing.VerdictAtCap, lift.Verdict)
	assert.Contains(t, lift.Reason, "the cap is 20Gi, set by the policy: raise it to allow more")
}

func TestADerivedCapIsAboveTheFloor(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Floor: 16 * gib}))
	answer := r.answer(asking("r", 2*gib))
	assert.Equal(t, 16*gib, answer.Memory.Limit)
	assert.Contains(t, answer.Reason, "raised to the policy's floor of 16Gi")
	assert.NotContains(t, answer.Reason, "unchanged")
	lift := r.lift(asking("r", 2*gib), 16*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 16*gib)
}

func TestATaskKnownOnlyByKillsIsGrantedMore(t *testing.T) {
	r := newReplica(t)
	r.killed("r", 8*gib)
	answer := r.answer(asking("", 2*gib))
	assert.Greater(t, answer.Memory.Limit, 8*gib, answer.Reason)

	capped := asking("", 2*gib)
	capped.MaxMemory = 8 * gib
	answer = r.answer(capped)
	assert.Equal(t, 8*gib, answer.Memory.Limit)
	assert.GreaterOrEqual(t, *answer.Risk.Promised, 0.9)
	assert.Contains(t, answer.Reason, "at the cap of 8Gi (the caller's max_memory)")
	assert.NotContains(t, answer.Reason, "8Gi: twice")
}

func TestShadowAndOffRetryWithTheRequest(t *testing.T) {
	for _, mode := range []sizing.Mode{sizing.Shadow, sizing.Off} {
		r := newReplica(t)
		require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Mode: mode, Cap: 4 * gib}))
		question := asking("r", 8*gib)
		require.Equal(t, 8*gib, r.answer(question).Memory.Limit)
		for number := 1; number <= sizing.DefaultMaxLifts; number++ {
			lift := r.lift(later(question, number), 8*gib)
			require.True(t, lift.Retry, "%s: %s", mode, lift.Reason)
			assert.Equal(t, sizing.VerdictLift, lift.Verdict)
			assert.Equal(t, 8*gib, lift.Memory.Limit)
			require.NotNil(t, lift.Shadow)
			assert.Equal(t, 4*gib, lift.Shadow.Limit)
			assert.Contains(t, lift.Reason, "the cap is 4Gi")
			assert.Equal(t, 8*gib, r.answer(later(question, number+1)).Memory.Limit)
		}
		assert.Equal(t, sizing.VerdictExhausted, r.lift(later(question, sizing.DefaultMaxLifts+1), 8*gib).Verdict)
	}
}

func TestReasonsAreTrueAtACap(t *testing.T) {
	r := newReplica(t)
	capped := asking("", 8*gib)
	capped.MaxMemory = 4 * gib
	answer := r.answer(capped)
	assert.NotContains(t, answer.Reason, "unchanged")
	assert.Contains(t, answer.Reason, "the static request is 8Gi")

	r.taught("load", 40)
	question := ask("load", "r")
	question.MaxMemory = 400 * gib
	require.False(t, r.lift(question, 400*gib).Retry)
	answer = r.answer(later(question, 2))
	require.Equal(t, 400*gib, answer.Memory.Limit)
	assert.NotContains(t, answer.Reason, "next rung above")
	assert.Contains(t, answer.Reason, "the caller's max_memory")
}
