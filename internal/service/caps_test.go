package service_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func askJob(run string, requested sizing.Bytes) sizing.Ask {
	return sizing.Ask{Try: try("job", run, 1), Requested: sizing.Resources{Memory: requested}}
}

func (r *replica) reportJobKill(run string, allocated sizing.Bytes) {
	r.t.Helper()
	r.report(sizing.Observation{Try: try("job", run, 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: allocated}})
}

func TestALiftUsesTheRequestAndTheCapOfItsTry(t *testing.T) {
	r := newReplica(t)
	for i, peak := range []sizing.Bytes{4 * gib, 5 * gib, 5 * gib} {
		o := succeeded(steadyAsk(string(rune('a'+i))), peak)
		o.Try.TaskKey, o.Requested = task("job"), sizing.Resources{}
		r.report(o)
	}
	question := askJob("r", 100*gib)
	r.predict(question)
	withoutRequest := askJob("r", 0)
	lift := r.lift(withoutRequest, 20*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 20*gib)
	assert.Equal(t, lift.Memory, r.predict(nthTry(withoutRequest, 2)).Memory)
	next := r.lift(nthTry(withoutRequest, 2), 90*gib)
	require.True(t, next.Retry, next.Reason)
	assert.Greater(t, next.Memory.Limit, 90*gib)

	capped := askJob("capped", 100*gib)
	capped.MaxMemory = 30 * gib
	r.predict(capped)
	assert.LessOrEqual(t, r.lift(askJob("capped", 0), 20*gib).Memory.Limit, 30*gib)
	atCap := r.lift(nthTry(askJob("capped", 0), 2), 30*gib)
	assert.Equal(t, sizing.VerdictAtCap, atCap.Verdict)
	assert.Contains(t, atCap.Reason, "the cap is 30Gi, the caller's max_memory")

	free := r.predict(nthTry(askJob("capped", 0), 3)) // without the cap, which only the earlier calls had
	assert.Greater(t, free.Memory.Limit, 30*gib, free.Reason)
	assert.NotContains(t, free.Reason, "max_memory")
	again := r.lift(nthTry(askJob("capped", 0), 3), free.Memory.Limit)
	assert.True(t, again.Retry, again.Reason)
}

func TestALiftUsesTheReportedRequestOfItsTask(t *testing.T) {
	r := newReplica(t)
	o := succeeded(steadyAsk("a"), 5*gib)
	o.Try.TaskKey, o.Requested = task("job"), sizing.Resources{Memory: 100 * gib}
	r.report(o)
	lift := r.lift(askJob("r", 0), 150*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 150*gib)
}

// Three kills at the cap in a row would be a suspected leak. The first two kills of the run "uncapped" do not count,
// because later tries of this run got larger allocations.
func TestKillsThatWereLiftedDoNotCountAsKillsAtTheCap(t *testing.T) {
	r := newReplica(t)
	for number, failed := range []sizing.Bytes{2 * gib, 4 * gib, 8 * gib} {
		ask := nthTry(askJob("uncapped", 0), number+1)
		require.True(t, r.lift(ask, failed).Retry)
	}
	capped := askJob("capped", 0)
	capped.MaxMemory = 2 * gib
	assert.Equal(t, sizing.VerdictAtCap, r.lift(capped, 2*gib).Verdict)
}

// Before the third kill of the task, only one run was killed at its cap: the run "uncapped" was lifted, and its retry has not
// ended yet. The instances of one DAG run that are killed at once are no repetition either.
func TestOnlyRepeatedKillsAtTheCapSuggestALeak(t *testing.T) {
	r := newReplica(t)
	require.True(t, r.lift(askJob("uncapped", 0), 2*gib).Retry)
	capped := func(run string, index int) sizing.Ask {
		ask := askJob(run, 0)
		ask.Try.MapIndex, ask.MaxMemory = index, 2*gib
		return ask
	}
	assert.Equal(t, sizing.VerdictAtCap, r.lift(capped("first", 0), 2*gib).Verdict)
	for index := range 4 {
		assert.Equal(t, sizing.VerdictAtCap, r.lift(capped("second", index), 2*gib).Verdict, "instance %d", index)
	}
	third := r.lift(capped("third", 0), 2*gib)
	assert.Equal(t, sizing.VerdictLeakSuspected, third.Verdict)
	assert.Contains(t, third.Reason, "killed 3 times in a row at the cap")
}

// A kill half a percent below the cap counts as a kill at the cap, because a lift raises the amount by at least 1 %.
func TestKillsJustBelowTheCapSuggestALeak(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Cap: 20 * gib}))
	below := 20*gib - 100*sizing.MiB
	assert.Equal(t, sizing.VerdictAtCap, r.lift(askJob("first", 5*gib), below).Verdict)
	assert.Equal(t, sizing.VerdictAtCap, r.lift(askJob("second", 5*gib), 20*gib).Verdict)
	assert.Equal(t, sizing.VerdictLeakSuspected, r.lift(askJob("third", 5*gib), below).Verdict)
}

// The cap fell below the allocations of the killed runs, so no try has shown what happens at the cap.
func TestKillsAboveTheCapSuggestNoLeak(t *testing.T) {
	r := newReplica(t)
	for _, run := range []string{"first", "second", "third"} {
		r.report(sizing.Observation{Try: try("job", run, 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 5 * gib}})
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Cap: 3 * gib}))
	lift := r.lift(askJob("fourth", 5*gib), 5*gib)
	assert.Equal(t, sizing.VerdictAtCap, lift.Verdict)
	assert.Contains(t, lift.Reason, "killed at 5Gi, and the cap is 3Gi")
}

// A derived cap applies if neither the policy nor the caller sets a cap: here four times the request.
func TestAKillRaisesADerivedCapOnce(t *testing.T) {
	r := newReplica(t)
	lift := r.lift(askJob("first", 5*gib), 20*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 20*gib)
	assert.Greater(t, r.predict(askJob("", 5*gib)).Memory.Limit, 20*gib)
	atCap := r.lift(askJob("second", 5*gib), 80*gib)
	assert.Equal(t, sizing.VerdictAtCap, atCap.Verdict)
	assert.Contains(t, atCap.Reason, "the cap is 80Gi, ")
	assert.Contains(t, atCap.Reason, "set max_memory or a policy cap to allow more")
	assert.Equal(t, sizing.VerdictAtCap, r.lift(askJob("third", 5*gib), 80*gib).Verdict)
	assert.Equal(t, sizing.VerdictLeakSuspected, r.lift(askJob("fourth", 5*gib), 80*gib).Verdict)
}

func TestAPolicyCapIsNotRaisedByKills(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Cap: 20 * gib}))
	lift := r.lift(askJob("r", 5*gib), 20*gib)
	assert.Equal(t, sizing.VerdictAtCap, lift.Verdict)
	assert.Contains(t, lift.Reason, "the cap is 20Gi, set by the policy: raise it to allow more")
}

func TestADerivedCapIsAboveTheFloor(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Floor: 16 * gib}))
	answer := r.predict(askJob("r", 2*gib))
	assert.Equal(t, 16*gib, answer.Memory.Limit)
	assert.Contains(t, answer.Reason, "raised to the policy's floor of 16Gi")
	assert.NotContains(t, answer.Reason, "unchanged")
	lift := r.lift(askJob("r", 2*gib), 16*gib)
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, 16*gib)
}

func TestATaskWithOnlyKillsIsGrantedMore(t *testing.T) {
	r := newReplica(t)
	r.reportJobKill("r", 8*gib)
	answer := r.predict(askJob("", 2*gib))
	assert.Greater(t, answer.Memory.Limit, 8*gib, answer.Reason)

	capped := askJob("", 2*gib)
	capped.MaxMemory = 8 * gib
	answer = r.predict(capped)
	assert.Equal(t, 8*gib, answer.Memory.Limit)
	assert.GreaterOrEqual(t, *answer.Risk.Promised, 0.9)
	assert.Contains(t, answer.Reason, "at the cap of 8Gi (the caller's max_memory)")
	assert.NotContains(t, answer.Reason, "8Gi: twice")
}

func TestShadowAndOffRetryWithTheRequest(t *testing.T) {
	for _, mode := range []sizing.Mode{sizing.Shadow, sizing.Off} {
		r := newReplica(t)
		require.NoError(t, r.SetPolicy(t.Context(), task("job"), sizing.Policy{Mode: mode, Cap: 4 * gib}))
		question := askJob("r", 8*gib)
		require.Equal(t, 8*gib, r.predict(question).Memory.Limit)
		for number := 1; number <= sizing.DefaultMaxLifts; number++ {
			lift := r.lift(nthTry(question, number), 8*gib)
			require.True(t, lift.Retry, "%s: %s", mode, lift.Reason)
			assert.Equal(t, sizing.VerdictLift, lift.Verdict)
			assert.Equal(t, 8*gib, lift.Memory.Limit)
			require.NotNil(t, lift.Shadow)
			assert.Equal(t, 4*gib, lift.Shadow.Limit)
			assert.Contains(t, lift.Reason, "the cap is 4Gi")
			assert.Equal(t, 8*gib, r.predict(nthTry(question, number+1)).Memory.Limit)
		}
		assert.Equal(t, sizing.VerdictExhausted, r.lift(nthTry(question, sizing.DefaultMaxLifts+1), 8*gib).Verdict)
	}
}

func TestReasonsAreCorrectAtACap(t *testing.T) {
	r := newReplica(t)
	capped := askJob("", 8*gib)
	capped.MaxMemory = 4 * gib
	answer := r.predict(capped)
	assert.NotContains(t, answer.Reason, "unchanged")
	assert.Contains(t, answer.Reason, "the static request is 8Gi")

	r.trainTask("load", 40)
	question := ask("load", "r")
	question.MaxMemory = 400 * gib
	require.False(t, r.lift(question, 400*gib).Retry)
	answer = r.predict(nthTry(question, 2))
	require.Equal(t, 400*gib, answer.Memory.Limit)
	assert.NotContains(t, answer.Reason, "next rung above")
	assert.Contains(t, answer.Reason, "the caller's max_memory")
}

// If the ask has no request and the task has no measured peak, the kills alone determine the grant, even if
// the killed tries reported a request. The grant must exceed the killed allocations.
func TestATaskWithOnlyKillsIsGrantedMoreWithoutARequest(t *testing.T) {
	for name, requested := range map[string]sizing.Bytes{"no try had a request": 0, "the killed tries had a request": 16 * gib} {
		t.Run(name, func(t *testing.T) {
			r := newReplica(t)
			for i, allocated := range []sizing.Bytes{2 * gib, 4 * gib, 9 * gib} {
				r.report(sizing.Observation{
					Try: try("job", string(rune('a'+i)), 1), Outcome: sizing.OOMKilled,
					Allocated: sizing.Resources{Memory: allocated}, Requested: sizing.Resources{Memory: requested},
				})
			}
			assert.Equal(t, 18*gib, r.predict(askJob("next", 0)).Memory.Limit)
		})
	}
}
