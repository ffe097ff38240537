package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPoliciesApplyAtOnce(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	byDefault := r.predict(ask("load", ""))
	require.Equal(t, sizing.FromModel, byDefault.Source)
	require.Less(t, byDefault.Memory.Limit, 4*gib)
	for name, c := range map[string]struct {
		policy sizing.Policy
		change func(*sizing.Ask)
		check  func(*testing.T, *sizing.Allocation)
	}{
		"a grant is at least the floor": {policy: sizing.Policy{Floor: 12 * gib}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, 12*gib, a.Memory.Limit)
		}},
		"a grant is at most the cap": {policy: sizing.Policy{Cap: gib / 4}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, gib/4, a.Memory.Limit)
			assert.Greater(t, *a.Risk.Promised, 0.5, "half a GiB is likely needed")
		}},
		"the cap of the caller applies, too": {policy: sizing.Policy{Floor: 12 * gib}, change: func(a *sizing.Ask) { a.MaxMemory = 2 * gib },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Equal(t, 2*gib, a.Memory.Limit) }},
		"NeverAbove limits the grant to the request": {policy: sizing.Policy{NeverAbove: true}, change: func(a *sizing.Ask) { a.Requested.Memory = gib / 4 },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Equal(t, gib/4, a.Memory.Limit) }},
		"without NeverAbove the grant may be above the request": {change: func(a *sizing.Ask) { a.Requested.Memory = gib / 4 },
			check: func(t *testing.T, a *sizing.Allocation) { assert.Greater(t, a.Memory.Limit, gib/4) }},
		"the limit is a multiple of the request": {policy: sizing.Policy{LimitRatio: 2}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, a.Memory.Limit/2, a.Memory.Request)
		}},
		"shadow grants the static request and adds the grant of enforce mode": {policy: sizing.Policy{Mode: sizing.Shadow}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, sizing.Grant{Request: 64 * gib, Limit: 64 * gib}, a.Memory)
			assert.Equal(t, &byDefault.Memory, a.Shadow)
			assert.Equal(t, sizing.FromRequested, a.Source)
			assert.Nil(t, a.Risk.Promised)
		}},
		"off grants only the static request": {policy: sizing.Policy{Mode: sizing.Off}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Equal(t, 64*gib, a.Memory.Limit)
			assert.Nil(t, a.Shadow)
			assert.Nil(t, a.Ladder)
		}},
		"a smaller risk target needs more memory": {policy: sizing.Policy{RiskTarget: 0.0001}, check: func(t *testing.T, a *sizing.Allocation) {
			assert.Greater(t, a.Memory.Limit, byDefault.Memory.Limit)
			assert.Equal(t, 0.0001, a.Risk.Target)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
			question := ask("load", "")
			if c.change != nil {
				c.change(&question)
			}
			c.check(t, r.predict(question))
		})
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{}))
	assert.Equal(t, byDefault.Memory, r.predict(ask("load", "")).Memory, "the zero policy restores the default")
}

func TestEqualAsksHaveEqualAnswers(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	first, second := r.predict(ask("load", "r")), r.predict(ask("load", "r"))
	assert.NotEqual(t, first.PredictionID, second.PredictionID)
	second.PredictionID = first.PredictionID
	assert.Equal(t, first, second)
}

func TestReportsAreLearnedOnce(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 20)
	require.Equal(t, 20, r.learnedRows("load"))

	repeated := r.report(success("load", 3, 20))
	assert.True(t, repeated[0].Duplicate)
	assert.Equal(t, 20, r.learnedRows("load"), "a duplicate is not learned")

	conflicting := success("load", 3, 20)
	conflicting.MemoryMax *= 2
	recorded, err := r.Observe(t.Context(), []sizing.Observation{conflicting, success("load", 21, 20), {Try: try("load", "", 1)}})
	require.NoError(t, err, "an invalid report must not fail the other reports")
	assert.Equal(t, sizing.Conflict, sizing.KindOf(recorded[0].Err))
	assert.NoError(t, recorded[1].Err)
	assert.Equal(t, sizing.Invalid, sizing.KindOf(recorded[2].Err))
	assert.Equal(t, 21, r.learnedRows("load"))
}

func TestALiftIsAProvisionalReportOfItsKill(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 20)
	question := ask("load", "big")
	question.Features = rows(7)
	lift := r.lift(question, 2*gib)
	assert.Equal(t, []any{true, 2, 2}, []any{lift.Retry, lift.Attempt, lift.AttemptsLeft})
	assert.Equal(t, lift.Memory, r.lift(question, 2*gib).Memory, "a repeated lift has the same answer")
	assert.Equal(t, 21, r.learnedRows("load"))

	kill := sizing.Observation{
		Try: question.Try, Outcome: sizing.OOMKilled, MemoryMax: 2 * gib, Duration: time.Minute, Features: rows(7),
		Allocated: sizing.Resources{Memory: 2 * gib}, Requested: question.Requested,
	}
	assert.True(t, r.report(kill)[0].Amended, "the report adds details to the lift")
	assert.True(t, r.report(kill)[0].Duplicate)
	assert.Equal(t, 21, r.learnedRows("load"), "the kill is learned once")
	profile, err := r.Task(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []int{21, 1}, []int{profile.Observations, profile.Kills})

	kill.Outcome = sizing.Success
	recorded, err := r.Observe(t.Context(), []sizing.Observation{kill})
	require.NoError(t, err)
	assert.Equal(t, sizing.Conflict, sizing.KindOf(recorded[0].Err))
}

// A lift request changes no stored report. The next try gets more than the reported allocation and peak of the failed try, and
// more than the failed allocation in the lift request. Only a stored success contradicts the request.
func TestALiftIsGrantedWhateverTheReportOfItsTrySays(t *testing.T) {
	r := newReplica(t)
	other := joinReplica(t, r.dsn, service.Config{})
	stored := sizing.Observation{
		Outcome: sizing.OOMKilled, Duration: time.Minute, Features: rows(7), Allocated: sizing.Resources{Memory: 4 * gib},
		Requested: sizing.Resources{Memory: 16 * gib},
	}
	request := sizing.LiftAsk{Ask: sizing.Ask{Features: rows(7), Requested: stored.Requested}, Reason: sizing.OOMKilled, Failed: 4 * gib}
	for name, change := range map[string]func(*sizing.Observation, *sizing.LiftAsk){
		"features":                         func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Features = rows(3) },
		"a higher request":                 func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Requested.Memory = 32 * gib },
		"a CPU request":                    func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Requested.CPU = 3 },
		"a slightly lower failed amount":   func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Failed -= 4096 },
		"a higher failed amount":           func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Failed = 5 * gib },
		"the kind of OOM":                  func(_ *sizing.Observation, l *sizing.LiftAsk) { l.Reason = sizing.AppOOM },
		"an unknown cause":                 func(o *sizing.Observation, _ *sizing.LiftAsk) { o.Outcome = sizing.Killed },
		"an unknown cause, a lower amount": func(o *sizing.Observation, l *sizing.LiftAsk) { o.Outcome, l.Failed = sizing.Killed, gib },
		"a failure":                        func(o *sizing.Observation, _ *sizing.LiftAsk) { o.Outcome = sizing.Failed },
		"less in the report":               func(o *sizing.Observation, _ *sizing.LiftAsk) { o.Features, o.Requested = nil, sizing.Resources{} },
		"no allocation": func(o *sizing.Observation, l *sizing.LiftAsk) {
			o.Allocated, o.MemoryMax, l.Failed = sizing.Resources{}, 5*gib, 4*gib
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, asked := stored, request
			change(&report, &asked)
			report.Try = try(name, "r", 1)
			asked.Try = report.Try
			r.report(report)
			before, err := r.store.RecentTries(t.Context(), task(name), 9)
			require.NoError(t, err)
			for _, replica := range []*replica{r, other} {
				ask := asked
				lift, err := replica.Lift(t.Context(), &ask)
				require.NoError(t, err)
				require.True(t, lift.Retry, lift.Reason)
				require.Greater(t, lift.Memory.Limit, max(report.Allocated.Memory, report.MemoryMax, asked.Failed))
				require.Equal(t, 2, lift.Attempt)
			}
			after, err := r.store.RecentTries(t.Context(), task(name), 9)
			require.NoError(t, err)
			require.Equal(t, before.Rows, after.Rows)
		})
	}

	r.report(success("load", 1, 2))
	_, err := r.Lift(t.Context(), &sizing.LiftAsk{Ask: sizing.Ask{Try: success("load", 1, 2).Try}, Reason: sizing.OOMKilled, Failed: 4 * gib})
	require.Equal(t, sizing.Conflict, sizing.KindOf(err))
	require.ErrorContains(t, err, "reason was reported as success before, now as oom_killed")
}

// Lift.Attempt is one more than the kills of the run and map index. It is not the try number, because clearing a task in
// Airflow raises its try numbers.
func TestAttemptsCountKillsOfTheRun(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 20)
	for i, number := range []int{4, 9, 11, 20} {
		lift := r.lift(nthTry(ask("load", "r"), number), gib<<i)
		assert.Equal(t, i+2, lift.Attempt)
		if i < 3 {
			assert.True(t, lift.Retry)
			assert.Greater(t, lift.Memory.Limit, gib<<i)
		} else {
			assert.Equal(t, sizing.VerdictExhausted, lift.Verdict)
			assert.Empty(t, lift.PredictionID, "a lift that is denied has no receipt")
		}
	}
	mapped := ask("load", "r")
	mapped.Try.MapIndex = 3
	assert.Equal(t, 2, r.lift(mapped, gib).Attempt, "each map index has its own attempts")
}

func TestALaterTryRepeatsItsLift(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	for name, change := range map[string]func(*sizing.Ask){
		"with all inputs":          func(*sizing.Ask) {},
		"with a cap of the caller": func(a *sizing.Ask) { a.MaxMemory = 5 * gib },
		"with a small request":     func(a *sizing.Ask) { a.Requested.Memory = 3 * gib },
		"without a request":        func(a *sizing.Ask) { a.Requested = sizing.Resources{} },
		"without features":         func(a *sizing.Ask) { a.Features = nil },
		"with a floor of the policy": func(*sizing.Ask) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			question := ask("load", "run of "+name)
			change(&question)
			r.predict(question)
			lift := r.lift(question, 2*gib)
			require.True(t, lift.Retry, lift.Reason)
			answer := r.predict(nthTry(question, 2))
			assert.Equal(t, sizing.FromLift, answer.Source)
			assert.Equal(t, lift.Memory, answer.Memory, "%s; %s", lift.Reason, answer.Reason)

			// The other replica reads the kill; its model has not learned it yet.
			onOther := other.predict(nthTry(question, 2))
			assert.Equal(t, sizing.FromLift, onOther.Source)
			assert.Greater(t, onOther.Memory.Limit, 2*gib)
			assert.InEpsilon(t, float64(lift.Memory.Limit), float64(onOther.Memory.Limit), 0.35)
		})
	}
}

func TestALaterTryOfATaskUnknownToThisReplicaIsLifted(t *testing.T) {
	r := newReplica(t)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	question := ask("load", "r")
	question.Requested = sizing.Resources{}
	lift := r.lift(question, 10*gib)
	answer := other.predict(nthTry(question, 2))
	assert.Equal(t, lift.Memory, answer.Memory)
	assert.Equal(t, 20*gib, answer.Memory.Limit, "twice the killed limit")
}

func TestACapSetAfterALiftApplies(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	question := ask("load", "r")
	require.Greater(t, r.lift(question, 6*gib).Memory.Limit, 6*gib)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Cap: 5 * gib}))
	assert.Equal(t, 5*gib, r.predict(nthTry(question, 2)).Memory.Limit)
}

func TestATryAtItsDerivedCapGetsAtLeastTheKilledAllocation(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40) // 64 GiB were requested: the derived cap is 256 GiB, and 1 TiB after a kill
	question := ask("load", "r")
	question.Requested = sizing.Resources{}
	assert.Equal(t, sizing.VerdictAtCap, r.lift(question, 2000*gib).Verdict)
	assert.Equal(t, 2000*gib, r.predict(nthTry(question, 2)).Memory.Limit)
}

func TestALiftUsesTheFeaturesOfItsTry(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	question := ask("load", "predicted")
	r.predict(question)
	with := r.lift(question, gib/8)
	withoutFeatures := question
	withoutFeatures.Features = nil
	assert.Equal(t, with.Memory, r.lift(withoutFeatures, gib/8).Memory, "the lift uses the features of the first lift")

	r.predict(ask("load", "only predicted"))
	withoutFeatures.Try = try("load", "only predicted", 1)
	again := r.lift(withoutFeatures, gib/8).Memory
	assert.InEpsilon(t, float64(with.Memory.Limit), float64(again.Limit), 0.15, "the kill of the first run changes the amount a little")
	withoutFeatures.Try = try("load", "not predicted", 1)
	assert.Greater(t, r.lift(withoutFeatures, gib/8).Memory.Limit, again.Limit+again.Limit/20, "a lift with unknown features grants more")
}

func TestASuccessContradictsTheKillBeforeIt(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	initial := r.predict(ask("load", "before"))
	question := ask("load", "r")
	lift := r.lift(question, 2*gib)
	require.Greater(t, lift.Memory.Limit, 2*gib)
	r.report(sizing.Observation{Try: try("load", "r", 2), Outcome: sizing.Success, MemoryMax: gib / 2, Features: rows(4)})
	after := r.predict(ask("load", "after"))
	assert.Equal(t, sizing.FromModel, after.Source)
	assert.Less(t, after.Memory.Limit, 2*initial.Memory.Limit)
}

func TestAnUnschedulableReportLowersTheCeilingForAnHour(t *testing.T) {
	r := newReplica(t)
	tooLarge := func(run string, b sizing.Bytes) sizing.Observation {
		return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Unschedulable, Allocated: sizing.Resources{Memory: b}}
	}
	r.report(tooLarge("a", 64*gib))
	assert.Equal(t, 32*gib, r.predict(ask("load", "")).Memory.Limit)
	r.report(tooLarge("b", 120*gib))
	assert.Equal(t, 32*gib, r.predict(ask("load", "")).Memory.Limit, "a larger size does not raise the ceiling")
	r.report(tooLarge("c", 40*gib))
	assert.Equal(t, 20*gib, r.predict(ask("load", "")).Memory.Limit)
	r.clockOffset = 59 * time.Minute
	assert.Equal(t, 20*gib, r.predict(ask("load", "")).Memory.Limit)
	r.clockOffset = 61 * time.Minute
	assert.Equal(t, 64*gib, r.predict(ask("load", "")).Memory.Limit)
}

func TestAReportWithoutFeaturesGetsTheFeaturesOfItsPrediction(t *testing.T) {
	r := newReplica(t)
	other := joinReplica(t, r.dsn, service.Config{})
	r.start()
	r.predict(ask("load", "reported here"))
	r.predict(ask("load", "reported to another"))
	r.stop() // writes the receipts
	withoutFeatures := func(run string) sizing.Observation {
		return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Success, MemoryMax: gib}
	}
	r.report(withoutFeatures("reported here"), withoutFeatures("not predicted"))
	other.report(withoutFeatures("reported to another"))
	got := map[string]sizing.Features{}
	history := r.history("load")
	for i := range history.Rows {
		got[history.Rows[i].RunID] = history.Schema.Features(history.Rows[i].Features)
	}
	assert.Equal(t, map[string]sizing.Features{"reported here": rows(4), "reported to another": rows(4), "not predicted": {}}, got)
}

// Void deletes a report.
func TestAVoidedKillDoesNotCount(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 20)
	require.Equal(t, 2, r.lift(ask("load", "r"), 2*gib).Attempt)
	require.NoError(t, r.Void(t.Context(), try("load", "r", 1)))
	assert.NotEqual(t, sizing.FromLift, r.predict(nthTry(ask("load", "r"), 2)).Source)
	assert.Equal(t, 2, r.lift(nthTry(ask("load", "r"), 2), 2*gib).Attempt, "the next kill is the first one again")
	assert.Equal(t, sizing.NotFound, sizing.KindOf(r.Void(t.Context(), try("load", "r", 1))))
}

func TestALiftOfAVoidedKillIsNotRepeated(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	question, killed := ask("load", "r"), 2*gib
	for number := 1; number <= 3; number++ {
		killed = r.lift(nthTry(question, number), killed).Memory.Limit
	}
	for number := 2; number <= 3; number++ {
		require.NoError(t, r.Void(t.Context(), try("load", "r", number)))
	}
	retry := r.predict(nthTry(question, 2))
	assert.Equal(t, sizing.FromLift, retry.Source, "the kill of try 1 remains")
	assert.Less(t, retry.Memory.Limit, killed)
	assert.Equal(t, r.lift(question, 2*gib).Memory, retry.Memory)
	assert.Equal(t, retry.Memory, r.predict(nthTry(question, 2)).Memory, "the new lift is repeated")
}

func TestShadowAndOffNeedARequest(t *testing.T) {
	r := newReplica(t)
	withoutRequest := func() sizing.Ask {
		a := ask("load", "")
		a.Requested = sizing.Resources{}
		return a
	}
	for _, mode := range []sizing.Mode{sizing.Shadow, sizing.Off} {
		require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Mode: mode}))
		first := success("load", 1, 30)
		first.Requested, first.Try.RunID = sizing.Resources{}, string(mode)
		r.report(first)
		_, err := r.Predict(t.Context(), ptr(withoutRequest()))
		assert.Equal(t, sizing.NotFound, sizing.KindOf(err), "without a known request there must be no answer")
	}
	r.reportRuns("load", 30) // with a request of 64 GiB
	assert.Equal(t, 64*gib, r.predict(withoutRequest()).Memory.Limit, "without a request, the last reported one is granted")
}
