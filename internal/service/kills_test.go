package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
)

const openKills = "more open tries were killed than promised"

func steadyAsk(run string) sizing.Ask {
	return sizing.Ask{Try: try("load", run, 1), Features: sizing.Features{"region": sizing.TextValue("emea")}, Requested: sizing.Resources{Memory: 8 * gib}}
}

func succeeded(a sizing.Ask, peak sizing.Bytes) sizing.Observation {
	return sizing.Observation{
		Try: a.Try, Outcome: sizing.Success, MemoryMax: peak, Duration: 5 * time.Minute, Features: a.Features,
		Requested: a.Requested, Allocated: sizing.Resources{Memory: 4 * gib},
	}
}

func (r *replica) reportSteadyRuns(prefix string, n int) (largest sizing.Bytes) {
	r.t.Helper()
	for i := range n {
		a := steadyAsk(fmt.Sprint(prefix, "-", i))
		largest = max(largest, r.predict(a).Memory.Limit)
		r.report(succeeded(a, 2*gib+sizing.Bytes(i%7)*sizing.MiB))
	}
	return largest
}

// killUpToCap OOM-kills and lifts each of n mapped instances until a lift is denied at the cap `limit`.
func (r *replica) killUpToCap(run string, n int, limit sizing.Bytes) {
	r.t.Helper()
	asks := make([]sizing.Ask, n)
	granted := make([]sizing.Bytes, n)
	for i := range asks {
		asks[i] = steadyAsk(run)
		asks[i].Try.MapIndex, asks[i].MaxMemory = i, limit
		granted[i] = r.predict(asks[i]).Memory.Limit
	}
	for i := range asks {
		for {
			r.report(sizing.Observation{Try: asks[i].Try, Outcome: sizing.OOMKilled, Duration: time.Minute, Features: asks[i].Features, Allocated: sizing.Resources{Memory: granted[i]}})
			lift := r.lift(asks[i], granted[i])
			if !lift.Retry {
				break
			}
			require.Greater(r.t, lift.Memory.Limit, granted[i])
			asks[i].Try.Number, granted[i] = asks[i].Try.Number+1, lift.Memory.Limit
		}
	}
}

func TestKillsOfAnEndedRunDoNotRaiseGrants(t *testing.T) {
	r := newReplica(t)
	r.reportSteadyRuns("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	initial := r.predict(steadyAsk("")).Memory.Limit
	r.killUpToCap("bad", 30, 3*gib)
	after := r.predict(steadyAsk(""))
	assert.Greater(t, after.Memory.Limit, 3*gib, "the grant must exceed 3 GiB, at which runs with the same features were killed")
	assert.NotContains(t, after.Reason, openKills)
	r.reportSteadyRuns("after", 1)
	contradicted := r.predict(steadyAsk(""))
	assert.Less(t, contradicted.Memory.Limit, 3*gib, contradicted.Reason)
	assert.Less(t, r.reportSteadyRuns("since", 20), 3*gib)
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	trained := r.predict(steadyAsk(""))
	assert.Less(t, trained.Memory.Limit, 3*gib, "the initial limit was %s; reason: %s", initial, trained.Reason)
}

func TestOpenRetriesRaiseGrantsUntilTheyEnd(t *testing.T) {
	r := newReplica(t)
	other := steadyAsk("")
	other.Features = sizing.Features{"region": sizing.TextValue("apac")} // no run with these features is killed
	for i := range 10 {
		known := other
		known.Try.RunID = fmt.Sprint("apac-", i)
		r.report(succeeded(known, 2*gib))
	}
	r.reportSteadyRuns("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.start()
	initial := r.predict(other).Memory.Limit
	asks := r.liftBurst()
	raised := r.predict(other)
	require.Contains(t, raised.Reason, openKills)
	require.Greater(t, raised.Memory.Limit, initial)
	r.stop() // writes the receipts

	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	afterRestart := restarted.predict(other)
	assert.Contains(t, afterRestart.Reason, openKills)
	assert.InEpsilon(t, float64(raised.Memory.Limit), float64(afterRestart.Memory.Limit), 0.02, "%s\n%s", raised.Reason, afterRestart.Reason)

	for i := range 4 {
		require.NoError(t, restarted.Void(t.Context(), asks[i].Try))
	}
	for i := range asks[4:] {
		end := nthTry(asks[4+i], 2)
		restarted.report(succeeded(end, 2*gib))
	}
	released := restarted.predict(other)
	assert.NotContains(t, released.Reason, openKills)
	third := joinReplica(t, r.dsn, service.Config{}).start()
	assert.NotContains(t, third.predict(other).Reason, openKills)
}

func (r *replica) liftBurst() []sizing.Ask {
	r.t.Helper()
	asks := make([]sizing.Ask, 12)
	for i := range asks {
		asks[i] = steadyAsk("burst")
		asks[i].Try.MapIndex = i
		r.lift(asks[i], r.predict(asks[i]).Memory.Limit)
	}
	return asks
}

// A restarted replica answers with the static request until it knows the open tries.
func TestNoModelAnswersBeforeTheOpenTriesAreRead(t *testing.T) {
	r := newReplica(t).start()
	r.reportSteadyRuns("before", 60)
	r.liftBurst()
	require.Contains(t, r.predict(steadyAsk("")).Reason, openKills)
	r.stop()

	restarted := joinReplica(t, r.dsn, service.Config{DecodeWait: time.Millisecond})
	reading, resume := make(chan struct{}), make(chan struct{})
	restarted.store.beforeGrantedTries.setNext(func() { close(reading); <-resume })
	restarted.start()
	<-reading // the replica preloads the task
	early := restarted.predict(steadyAsk(""))
	assert.Equal(t, sizing.FromRequested, early.Source, early.Reason)
	close(resume)
	require.Eventually(t, func() bool { return restarted.predict(steadyAsk("")).Source != sizing.FromRequested }, testwait.Limit, 10*time.Millisecond)
	assert.Contains(t, restarted.predict(steadyAsk("")).Reason, openKills)
}

func unschedulable(run string, b sizing.Bytes) sizing.Observation {
	return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Unschedulable, Allocated: sizing.Resources{Memory: b}}
}

func TestTheCeilingIsNotBelowMeasuredPeaks(t *testing.T) {
	r := newReplica(t)
	for i := range 40 {
		a := steadyAsk(fmt.Sprint("run-", i))
		o := succeeded(a, 2*gib)
		o.Allocated.Memory = gib.Times(2.1)
		r.report(o)
	}
	before := r.predict(steadyAsk(""))
	for i := range 8 {
		r.report(unschedulable(fmt.Sprint("unschedulable-", i), r.predict(steadyAsk("")).Memory.Limit))
		after := r.predict(steadyAsk(""))
		assert.GreaterOrEqual(t, after.Memory.Limit, 2*gib, "the grant must be at least the measured peaks: %s", after.Reason)
		assert.Less(t, *after.Risk.Promised, 0.9)
	}
	r.report(unschedulable("at", gib.Times(2.1)))
	assert.GreaterOrEqual(t, r.predict(steadyAsk("")).Memory.Limit, 2*gib)
	assert.LessOrEqual(t, r.predict(steadyAsk("")).Memory.Limit, before.Memory.Limit)
}

func TestACeilingIsAboveKilledAllocations(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40) // peaks up to 1.4 GiB, with 64 GiB allocated
	newTry := func(run string, number int) sizing.Ask {
		return sizing.Ask{Try: try("new", run, number), Requested: sizing.Resources{Memory: 4 * gib}}
	}
	tooLarge := unschedulable("too large", gib.Times(2.8))
	tooLarge.Try.TaskKey = task("new")
	r.report(tooLarge)
	assert.Equal(t, gib.Times(1.4), r.predict(newTry("", 1)).Memory.Limit) // half of the unschedulable allocation
	lift := r.lift(newTry("r", 1), gib.Times(2.1))
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, gib.Times(2.1))
	assert.Less(t, lift.Memory.Limit, gib.Times(2.8))
	assert.Equal(t, lift.Memory, r.predict(newTry("r", 2)).Memory)
	first := r.predict(newTry("", 1))
	assert.Greater(t, first.Memory.Limit, gib.Times(2.1), "the grant must exceed 2.1 GiB, at which a run was killed: %s", first.Reason)
	assert.Contains(t, first.Reason, "unschedulable")

	started := succeeded(steadyAsk("started"), gib)
	started.Try, started.Allocated.Memory = try("new", "started", 1), 3*gib
	r.report(started)
	assert.NotContains(t, r.predict(newTry("", 1)).Reason, "unschedulable", "a started allocation removes the ceiling")
}

func TestTheFloorOverridesTheCeiling(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: 3 * gib}))
	r.report(unschedulable("a", 4*gib))
	assert.Equal(t, 3*gib, r.predict(steadyAsk("")).Memory.Limit)
	r.report(unschedulable("b", 3*gib))
	assert.GreaterOrEqual(t, r.predict(steadyAsk("")).Memory.Limit, 3*gib)
}

func TestACeilingSurvivesARestartAndEndsWhenItsReportIsVoided(t *testing.T) {
	r := newReplica(t)
	r.report(unschedulable("a", 64*gib))
	question := ask("load", "")
	require.Equal(t, 32*gib, r.predict(question).Memory.Limit)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, 32*gib, other.predict(question).Memory.Limit)
	require.NoError(t, other.Void(t.Context(), try("load", "a", 1)))
	assert.Equal(t, 64*gib, other.predict(question).Memory.Limit)
}

func TestASuccessReplacesAProvisionalKill(t *testing.T) {
	r := newReplica(t)
	r.reportSteadyRuns("before", 40)
	a := steadyAsk("r")
	before := r.predict(a)
	require.True(t, r.lift(a, before.Memory.Limit).Retry)
	require.Greater(t, r.predict(steadyAsk("")).Memory.Limit, before.Memory.Limit)
	end := succeeded(a, 2*gib)
	end.Allocated = sizing.Resources{}
	recorded := r.report(end)[0]
	assert.True(t, recorded.Amended)
	assert.True(t, r.report(end)[0].Duplicate)
	profile, err := r.Task(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []int{41, 0}, []int{profile.Observations, profile.Kills})
	assert.NotEqual(t, sizing.FromLift, r.predict(nthTry(a, 2)).Source, "the answer must be no lift, because the success replaced the kill")
	assert.InEpsilon(t, float64(before.Memory.Limit), float64(r.predict(steadyAsk("")).Memory.Limit), 0.1)
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.InEpsilon(t, float64(before.Memory.Limit), float64(r.predict(steadyAsk("")).Memory.Limit), 0.1)
	repeated, err := r.Observe(t.Context(), []sizing.Observation{{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: before.Memory.Limit}}})
	require.NoError(t, err)
	assert.Equal(t, sizing.Conflict, sizing.KindOf(repeated[0].Err), "a success is not provisional")
}

func TestReasonsNameTheAllocationOfSuccessesWithoutAPeak(t *testing.T) {
	r := newReplica(t)
	for i := range 20 {
		o := succeeded(steadyAsk(fmt.Sprint("run-", i)), 0)
		r.report(o)
	}
	for name, replica := range map[string]*replica{"here": r, "after a restart": joinReplica(t, r.dsn, service.Config{}).start()} {
		answer := replica.predict(steadyAsk(""))
		assert.Equal(t, []any{8 * gib, sizing.FromRequested}, []any{answer.Memory.Limit, answer.Source}, name)
		assert.Contains(t, answer.Reason, "20 runs succeeded within 4Gi, no peak was measured: report memory_max_bytes", name)
		withoutRequest := steadyAsk("")
		withoutRequest.Requested = sizing.Resources{}
		own := replica.predict(withoutRequest)
		assert.Equal(t, []any{4 * gib, sizing.FromProfile}, []any{own.Memory.Limit, own.Source}, name)
		assert.InDelta(t, 1.0/22, *own.Risk.Promised, 1e-9, name)
	}
}

func TestKillsOfATaskWithoutAModelSurviveARestart(t *testing.T) {
	r := newReplica(t)
	a := steadyAsk("r")
	a.Requested.Memory = 2 * gib
	r.report(sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 3 * gib}})
	a.Try.RunID = ""
	here := r.predict(a)
	require.Equal(t, 6*gib, here.Memory.Limit)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, here.Memory, other.predict(a).Memory)
	require.NoError(t, other.Void(t.Context(), try("load", "r", 1)))
	assert.Equal(t, 2*gib, other.predict(a).Memory.Limit, "the void removes the kill")
}

func TestOpenRetriesKeepTheirTaskAfterARenameAndEndWithADeletion(t *testing.T) {
	r := newReplica(t)
	r.reportSteadyRuns("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	for i := range 12 {
		a := steadyAsk("burst")
		a.Try.MapIndex = i
		r.lift(a, r.predict(a).Memory.Limit)
	}
	probe := func(name string) sizing.Ask {
		a := steadyAsk("")
		a.Try.TaskKey, a.Features = task(name), sizing.Features{"region": sizing.TextValue("apac")}
		return a
	}
	require.Contains(t, r.predict(probe("load")).Reason, openKills)
	require.NoError(t, r.Rename(t.Context(), task("load"), task("renamed")))
	assert.Contains(t, r.predict(probe("renamed")).Reason, openKills)
	assert.Equal(t, sizing.FromRequested, r.predict(probe("load")).Source)
	require.NoError(t, r.DeleteTask(t.Context(), task("renamed")))
	assert.NotContains(t, r.predict(probe("renamed")).Reason, openKills)
}

// Some callers report the end of a retry without features.
func TestARetryHasTheFeaturesOfItsRun(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	a := ask("load", "r")
	killed := r.predict(a).Memory.Limit
	r.lift(a, killed)
	r.report(sizing.Observation{Try: try("load", "r", 2), Outcome: sizing.Success, MemoryMax: 2 * killed, Duration: time.Minute, Allocated: sizing.Resources{Memory: 3 * killed}})
	history := r.history("load")
	last := history.Rows[len(history.Rows)-1]
	assert.Equal(t, a.Features, history.Schema.Features(last.Features))
	for _, state := range []string{"at once", "trained"} {
		assert.GreaterOrEqual(t, r.predict(ask("load", "")).Memory.Limit, 2*killed, state)
		_, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
	}
	other := joinReplica(t, r.dsn, service.Config{}).start()
	assert.GreaterOrEqual(t, other.predict(ask("load", "")).Memory.Limit, 2*killed, "another replica also grants at least twice the killed amount")
}

func TestAKillIsLearnedByOtherReplicasAndInALargeBatch(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 40)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	killed := other.predict(ask("load", "")).Memory.Limit + sizing.MiB
	r.report(sizing.Observation{Try: try("load", "r", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: killed}, Features: rows(4)})
	require.Greater(t, r.predict(ask("load", "")).Memory.Limit, killed)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.waitFor(func() bool { return other.predict(ask("load", "")).Memory.Limit > killed }, "the replica must load the new model")

	imported := make([]sizing.Observation, 0, 201)
	for i := range 200 { // a batch that is too large to be learned before the acknowledgement
		o := success("bulk", i, 200)
		imported = append(imported, o)
	}
	kill := sizing.Observation{Try: try("bulk", "killed", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 3 * gib}, Features: rows(4.7)}
	r.report(append(imported, kill)...)
	question := ask("bulk", "")
	question.Features = rows(4.7)
	r.waitFor(func() bool { return r.learnedRows("bulk") == 201 }, "the batch must be learned")
	assert.Greater(t, r.predict(question).Memory.Limit, 3*gib)
	_, err = r.Train(t.Context(), task("bulk"))
	require.NoError(t, err)
	assert.Greater(t, r.predict(question).Memory.Limit, 3*gib)
}

func TestAPeakBelowTheKillOfItsRunGetsAWarning(t *testing.T) {
	r := newReplica(t)
	r.reportSteadyRuns("steady", 12)
	first := steadyAsk("contradicted")
	kill := succeeded(first, 0)
	kill.Outcome, kill.Allocated.Memory = sizing.OOMKilled, 5*gib/2
	r.report(kill)
	retry := first
	retry.Try.Number = 2
	warnings := r.report(succeeded(retry, 2*gib))[0].Warnings
	require.Len(t, warnings, 1)
	assert.Equal(t, "memory_max_bytes", warnings[0].Field)
	assert.Equal(t, "an earlier try of this run was OOM-killed with 2.5Gi, more than the peak of 2Gi: does the measurement miss a part of the memory? Several such runs raise the grants of the task",
		warnings[0].Detail)
}
