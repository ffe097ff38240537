package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPoliciesBindAnswersAtOnce(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	free := r.answer(ask("load", ""))
	require.Equal(t, sizing.FromModel, free.Source)
	require.Less(t, free.Memory.Limit, 4*gib)
	for claim, c := range map[string]struct {
		policy sizing.Policy
		change func(*sizing.Ask)
		check  func(*testing.T, *sizing.Allocation)
	}{
		"a floor is the least": {policy: sizing.Policy{Floor: 12 * gib}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, 12*gib, a.Memory.Limit)
		}},
		"a cap is the most": {policy: sizing.Policy{Cap: gib / 4}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, gib/4, a.Memory.Limit)
			assert.Greater(t, *a.Risk.Promised, 0.5, "half a GiB is likely needed")
		}},
		"the caller's cap binds as well": {policy: sizing.Policy{Floor: 12 * gib}, change: func(a *sizing.Ask) { a.MaxMemory = 2 * gib },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Equal(t, 2*gib, a.Memory.Limit) }},
		"never above what was requested": {policy: sizing.Policy{NeverAbove: true}, change: func(a *sizing.Ask) { a.Requested.Memory = gib / 4 },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Equal(t, gib/4, a.Memory.Limit) }},
		"without that it may be above": {change: func(a *sizing.Ask) { a.Requested.Memory = gib / 4 },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Greater(t, a.Memory.Limit, gib/4) }},
		"the limit is a multiple of the request": {policy: sizing.Policy{LimitRatio: 2}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, a.Memory.Limit/2, a.Memory.Request)
		}},
		"shadow answers the request, and says what would have been": {policy: sizing.Policy{Mode: sizing.Shadow}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, sizing.Grant{Request: 64 * gib, Limit: 64 * gib}, a.Memory)
			assert.Equal(t, &free.Memory, a.Shadow)
			assert.Equal(t, sizing.FromRequested, a.Source)
			assert.Nil(t, a.Risk.Promised)
		}},
		"off answers the request, and nothing else": {policy: sizing.Policy{Mode: sizing.Off}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, 64*gib, a.Memory.Limit)
			assert.Nil(t, a.Shadow)
			assert.Nil(t, a.Ladder)
		}},
		"a smaller risk takes more memory": {policy: sizing.Policy{RiskTarget: 0.0001}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Greater(t, a.Memory.Limit, free.Memory.Limit)
			assert.Equal(t, 0.0001, a.Risk.Target)
		}},
	} {
		t.Run(claim, func(t *testing.T) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
			question := ask("load", "")
			if c.change != nil {
				c.change(&question)
			}
			c.check(t, r.answer(question))
		})
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{}))
	assert.Equal(t, free.Memory, r.answer(ask("load", "")).Memory, "the zero policy is the default again")
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	first, again := r.answer(ask("load", "r")), r.answer(ask("load", "r"))
	assert.NotEqual(t, first.PredictionID, again.PredictionID)
	again.PredictionID = first.PredictionID
	assert.Equal(t, first, again)
}

func TestReportsCountOnce(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 20)
	require.Equal(t, 20, r.told("load"))

	again := r.tell(success("load", 3, 20))
	assert.True(t, again[0].Duplicate)
	assert.Equal(t, 20, r.told("load"), "the same report teaches nothing")

	contradiction := success("load", 3, 20)
	contradiction.MemoryMax *= 2
	recorded, err := r.Observe(t.Context(), []sizing.Observation{contradiction, success("load", 21, 20), {Try: try("load", "", 1)}})
	require.NoError(t, err, "items fail alone")
	assert.Equal(t, sizing.Conflict, sizing.KindOf(recorded[0].Err))
	assert.NoError(t, recorded[1].Err)
	assert.Equal(t, sizing.Invalid, sizing.KindOf(recorded[2].Err))
	assert.Equal(t, 21, r.told("load"))
}

func TestALiftIsAProvisionalReportOfItsKill(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 20)
	question := ask("load", "big")
	question.Features = rows(7)
	lift := r.lift(question, 2*gib)
	assert.Equal(t, []any{true, 2, 2}, []any{lift.Retry, lift.Attempt, lift.AttemptsLeft})
	assert.Equal(t, lift.Memory, r.lift(question, 2*gib).Memory, "asked again, the same")
	assert.Equal(t, 21, r.told("load"))

	kill := sizing.Observation{
		Try: question.Try, Outcome: sizing.OOMKilled, MemoryMax: 2 * gib, Duration: time.Minute, Features: rows(7),
		Allocated: sizing.Resources{Memory: 2 * gib}, Requested: question.Requested,
	}
	assert.True(t, r.tell(kill)[0].Amended, "the details come later")
	assert.True(t, r.tell(kill)[0].Duplicate)
	assert.Equal(t, 21, r.told("load"), "one kill, told once")
	profile, err := r.Task(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []int{21, 1}, []int{profile.Observations, profile.Kills})

	kill.Outcome = sizing.Success
	recorded, err := r.Observe(t.Context(), []sizing.Observation{kill})
	require.NoError(t, err)
	assert.Equal(t, sizing.Conflict, sizing.KindOf(recorded[0].Err))
}

// Clearing a task in Airflow raises its try numbers: attempts are kills.
func TestAttemptsCountKillsOfTheRun(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 20)
	for i, number := range []int{4, 9, 11, 20} {
		lift := r.lift(later(ask("load", "r"), number), gib<<i)
		assert.Equal(t, i+2, lift.Attempt)
		if i < 3 {
			assert.True(t, lift.Retry)
			assert.Greater(t, lift.Memory.Limit, gib<<i)
		} else {
			assert.Equal(t, sizing.VerdictExhausted, lift.Verdict)
			assert.Empty(t, lift.PredictionID, "there is no receipt of a refusal")
		}
	}
	mapped := ask("load", "r")
	mapped.Try.MapIndex = 3
	assert.Equal(t, 2, r.lift(mapped, gib).Attempt, "another map index is another run")
}

func TestALaterTryIsAnsweredAsItsLiftWas(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	other := join(t, r.dsn, service.Config{}).start()
	for claim, change := range map[string]func(*sizing.Ask){
		"with all that the lift knew": func(*sizing.Ask) {},
		"under a cap of the caller":   func(a *sizing.Ask) { a.MaxMemory = 5 * gib },
		"where the request is small":  func(a *sizing.Ask) { a.Requested.Memory = 3 * gib },
		"where nothing was requested": func(a *sizing.Ask) { a.Requested = sizing.Resources{} },
		"where no features were sent": func(a *sizing.Ask) { a.Features = nil },
		"where the policy has a floor": func(*sizing.Ask) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib}))
		},
	} {
		t.Run(claim, func(t *testing.T) {
			question := ask("load", "run of "+claim)
			change(&question)
			r.answer(question)
			lift := r.lift(question, 2*gib)
			require.True(t, lift.Retry, lift.Reason)
			answer := r.answer(later(question, 2))
			assert.Equal(t, sizing.FromLift, answer.Source)
			assert.Equal(t, lift.Memory, answer.Memory, "%s; %s", lift.Reason, answer.Reason)

			// Elsewhere the kill is read, and its model has not learned it yet.
			elsewhere := other.answer(later(question, 2))
			assert.Equal(t, sizing.FromLift, elsewhere.Source)
			assert.Greater(t, elsewhere.Memory.Limit, 2*gib)
			assert.InEpsilon(t, float64(lift.Memory.Limit), float64(elsewhere.Memory.Limit), 0.25)
		})
	}
}

func TestALaterTryOfATaskThatIsUnknownHereIsLifted(t *testing.T) {
	r := newReplica(t)
	other := join(t, r.dsn, service.Config{}).start()
	question := ask("load", "r")
	question.Requested = sizing.Resources{}
	lift := r.lift(question, 10*gib)
	answer := other.answer(later(question, 2))
	assert.Equal(t, lift.Memory, answer.Memory)
	assert.Equal(t, 20*gib, answer.Memory.Limit, "twice what was killed")
}

func TestACapThatWasSetSinceALiftBindsTheLaterTry(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	question := ask("load", "r")
	require.Greater(t, r.lift(question, 6*gib).Memory.Limit, 6*gib)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Cap: 5 * gib}))
	assert.Equal(t, 5*gib, r.answer(later(question, 2)).Memory.Limit)
}

func TestALaterTryNeverGetsLessThanWasKilledForWantOfACap(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40) // 64 GiB were requested: the derived cap is 256 GiB, and 1 TiB after a kill
	question := ask("load", "r")
	question.Requested = sizing.Resources{}
	assert.Equal(t, sizing.VerdictAtCap, r.lift(question, 2000*gib).Verdict)
	assert.Equal(t, 2000*gib, r.answer(later(question, 2)).Memory.Limit)
}

func TestALiftKnowsTheFeaturesThatWereAskedOrReportedWith(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	question := ask("load", "asked")
	r.answer(question)
	with := r.lift(question, gib/2)
	blind := question
	blind.Features = nil
	assert.Equal(t, with.Memory, r.lift(blind, gib/2).Memory, "after its report, too")

	r.answer(ask("load", "only asked"))
	blind.Try = try("load", "only asked", 1)
	assert.Equal(t, with.Memory, r.lift(blind, gib/2).Memory)
}

func TestASuccessEndsTheLift(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	usual := r.answer(ask("load", "before"))
	question := ask("load", "r")
	lift := r.lift(question, 2*gib)
	require.Greater(t, lift.Memory.Limit, 2*gib)
	r.tell(sizing.Observation{Try: try("load", "r", 2), Outcome: sizing.Success, MemoryMax: gib / 2, Features: rows(4)})
	after := r.answer(ask("load", "after"))
	assert.Equal(t, sizing.FromModel, after.Source)
	assert.Less(t, after.Memory.Limit, 2*usual.Memory.Limit)
}

func TestWhatFitsNoNodeLowersTheCeilingForAWhile(t *testing.T) {
	r := newReplica(t)
	refused := func(run string, b sizing.Bytes) sizing.Observation {
		return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Unschedulable, Allocated: sizing.Resources{Memory: b}}
	}
	r.tell(refused("a", 64*gib))
	assert.Equal(t, 32*gib, r.answer(ask("load", "")).Memory.Limit)
	r.tell(refused("b", 120*gib))
	assert.Equal(t, 32*gib, r.answer(ask("load", "")).Memory.Limit, "a larger refusal does not raise it")
	r.tell(refused("c", 40*gib))
	assert.Equal(t, 20*gib, r.answer(ask("load", "")).Memory.Limit)
	r.ahead = 59 * time.Minute
	assert.Equal(t, 20*gib, r.answer(ask("load", "")).Memory.Limit)
	r.ahead = 61 * time.Minute
	assert.Equal(t, 64*gib, r.answer(ask("load", "")).Memory.Limit)
}

func TestFeaturesThatAReportLeavesOutAreThoseOfItsPrediction(t *testing.T) {
	r := newReplica(t)
	other := join(t, r.dsn, service.Config{})
	r.start()
	r.answer(ask("load", "told here"))
	r.answer(ask("load", "told elsewhere"))
	r.stop() // receipts are written
	silent := func(run string) sizing.Observation {
		return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Success, MemoryMax: gib}
	}
	r.tell(silent("told here"), silent("never asked"))
	other.tell(silent("told elsewhere"))
	got := map[string]sizing.Features{}
	history := r.history("load")
	for i := range history.Rows {
		got[history.Rows[i].RunID] = history.Schema.Features(history.Rows[i].Features)
	}
	assert.Equal(t, map[string]sizing.Features{"told here": rows(4), "told elsewhere": rows(4), "never asked": {}}, got)
}

func TestWhatWasVoidedWasNeverSaid(t *testing.T) {
	r := newReplica(t)
	r.teach("load", 20)
	require.Equal(t, 2, r.lift(ask("load", "r"), 2*gib).Attempt)
	require.NoError(t, r.Void(t.Context(), try("load", "r", 1)))
	assert.NotEqual(t, sizing.FromLift, r.answer(later(ask("load", "r"), 2)).Source)
	assert.Equal(t, 2, r.lift(later(ask("load", "r"), 2), 2*gib).Attempt, "the first kill again")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(r.Void(t.Context(), try("load", "r", 1))))
}

func TestShadowNeverAppliesWhatNobodyRequested(t *testing.T) {
	r := newReplica(t)
	unasked := func() sizing.Ask {
		a := ask("load", "")
		a.Requested = sizing.Resources{}
		return a
	}
	for _, mode := range []sizing.Mode{sizing.Shadow, sizing.Off} {
		require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Mode: mode}))
		first := success("load", 1, 30)
		first.Requested, first.Try.RunID = sizing.Resources{}, string(mode)
		r.tell(first)
		_, err := r.Predict(t.Context(), ptr(unasked()))
		assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "no request was ever named")
	}
	r.teach("load", 30) // reports name 64 GiB
	assert.Equal(t, 64*gib, r.answer(unasked()).Memory.Limit, "the last that was reported")
}
