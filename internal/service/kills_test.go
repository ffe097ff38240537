package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// steady is a question of a task whose runs all need 2 GiB, and held their good end.
func steady(run string) sizing.Ask {
	return sizing.Ask{Try: try("load", run, 1), Features: sizing.Features{"region": sizing.TextValue("emea")}, Requested: sizing.Resources{Memory: 8 * gib}}
}

func held(a sizing.Ask, peak sizing.Bytes) sizing.Observation {
	return sizing.Observation{
		Try: a.Try, Outcome: sizing.Success, MemoryMax: peak, Duration: 5 * time.Minute, Features: a.Features,
		Requested: a.Requested, Allocated: sizing.Resources{Memory: 4 * gib},
	}
}

// steadily runs n good runs of about 2 GiB, each asked about before, and returns the
// largest grant.
func (r *replica) steadily(prefix string, n int) (largest sizing.Bytes) {
	r.t.Helper()
	for i := range n {
		a := steady(fmt.Sprint(prefix, "-", i))
		largest = max(largest, r.answer(a).Memory.Limit)
		r.tell(held(a, 2*gib+sizing.Bytes(i%7)*sizing.MiB))
	}
	return largest
}

// killUpTo launches a mapped run whose tries are all killed up to a cap, and returns the
// newest try of each.
func (r *replica) killUpTo(run string, n int, limit sizing.Bytes) {
	r.t.Helper()
	asks := make([]sizing.Ask, n)
	granted := make([]sizing.Bytes, n)
	for i := range asks {
		asks[i] = steady(run)
		asks[i].Try.MapIndex, asks[i].MaxMemory = i, limit
		granted[i] = r.answer(asks[i]).Memory.Limit
	}
	for i := range asks {
		for {
			r.tell(sizing.Observation{Try: asks[i].Try, Outcome: sizing.OOMKilled, Duration: time.Minute, Features: asks[i].Features, Allocated: sizing.Resources{Memory: granted[i]}})
			lift := r.lift(asks[i], granted[i])
			if !lift.Retry {
				break
			}
			require.Greater(r.t, lift.Memory.Limit, granted[i])
			asks[i].Try.Number, granted[i] = asks[i].Try.Number+1, lift.Memory.Limit
		}
	}
}

func TestKillsOfARunThatIsOverWidenNothing(t *testing.T) {
	r := newReplica(t)
	r.steadily("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	usual := r.answer(steady("")).Memory.Limit
	r.killUpTo("bad", 30, 3*gib)
	after := r.answer(steady(""))
	assert.Greater(t, after.Memory.Limit, 3*gib, "the same features were killed at 3 GiB")
	assert.NotContains(t, after.Reason, "widened")
	r.steadily("after", 1)
	contradicted := r.answer(steady(""))
	assert.Less(t, contradicted.Memory.Limit, 3*gib, contradicted.Reason)
	assert.Less(t, r.steadily("since", 20), 3*gib)
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	trained := r.answer(steady(""))
	assert.Less(t, trained.Memory.Limit, 3*gib, "usual %s: %s", usual, trained.Reason)
}

func TestOpenRetriesWidenUntilTheyEndAndAfterARestart(t *testing.T) {
	r := newReplica(t)
	r.steadily("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.start()
	other := steady("")
	other.Features = sizing.Features{"region": sizing.TextValue("apac")} // no kill is known of these
	usual := r.answer(other).Memory.Limit
	asks := make([]sizing.Ask, 12)
	for i := range asks {
		asks[i] = steady("burst")
		asks[i].Try.MapIndex = i
		killed := r.answer(asks[i]).Memory.Limit
		r.lift(asks[i], killed)
	}
	widened := r.answer(other)
	require.Contains(t, widened.Reason, "widened")
	require.Greater(t, widened.Memory.Limit, usual)
	r.stop() // receipts are written

	restarted := join(t, r.dsn, service.Config{}).start()
	again := restarted.answer(other)
	assert.Contains(t, again.Reason, "widened")
	assert.InEpsilon(t, float64(widened.Memory.Limit), float64(again.Memory.Limit), 0.02, "%s\n%s", widened.Reason, again.Reason)

	for i := range 4 {
		require.NoError(t, restarted.Void(t.Context(), asks[i].Try))
	}
	for i := range asks[4:] {
		end := later(asks[4+i], 2)
		restarted.tell(held(end, 2*gib))
	}
	released := restarted.answer(other)
	assert.NotContains(t, released.Reason, "widened")
	third := join(t, r.dsn, service.Config{}).start()
	assert.NotContains(t, third.answer(other).Reason, "widened")
}

func unfit(run string, b sizing.Bytes) sizing.Observation {
	return sizing.Observation{Try: try("load", run, 1), Outcome: sizing.Unschedulable, Allocated: sizing.Resources{Memory: b}}
}

func TestASizeThatWasScheduledIsNoCeiling(t *testing.T) {
	r := newReplica(t)
	for i := range 40 {
		a := steady(fmt.Sprint("run-", i))
		o := held(a, 2*gib)
		o.Allocated.Memory = gib.Times(2.1)
		r.tell(o)
	}
	before := r.answer(steady(""))
	for i := range 8 {
		r.tell(unfit(fmt.Sprint("refused-", i), r.answer(steady("")).Memory.Limit))
		after := r.answer(steady(""))
		assert.GreaterOrEqual(t, after.Memory.Limit, 2*gib, "never below what runs needed: %s", after.Reason)
		assert.Less(t, *after.Risk.Promised, 0.9)
	}
	r.tell(unfit("at", gib.Times(2.1)))
	assert.GreaterOrEqual(t, r.answer(steady("")).Memory.Limit, 2*gib)
	assert.LessOrEqual(t, r.answer(steady("")).Memory.Limit, before.Memory.Limit)
}

func TestALiftIsNeverBelowWhatWasKilledForWantOfACeiling(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40) // up to 1.4 GiB, with 64 GiB allocated
	fresh := func(run string, number int) sizing.Ask {
		return sizing.Ask{Try: try("young", run, number), Requested: sizing.Resources{Memory: 4 * gib}}
	}
	refused := unfit("refused", gib.Times(2.8))
	refused.Try.TaskKey = task("young")
	r.tell(refused)
	assert.Equal(t, gib.Times(1.4), r.answer(fresh("", 1)).Memory.Limit)
	lift := r.lift(fresh("r", 1), gib.Times(2.1))
	require.True(t, lift.Retry, lift.Reason)
	assert.Greater(t, lift.Memory.Limit, gib.Times(2.1))
	assert.Less(t, lift.Memory.Limit, gib.Times(2.8))
	assert.Equal(t, lift.Memory, r.answer(fresh("r", 2)).Memory)
	first := r.answer(fresh("", 1))
	assert.Greater(t, first.Memory.Limit, gib.Times(2.1), "killed there: %s", first.Reason)
	assert.Contains(t, first.Reason, "unschedulable")

	started := held(steady("started"), gib)
	started.Try, started.Allocated.Memory = try("young", "started", 1), 3*gib
	r.tell(started)
	assert.NotContains(t, r.answer(fresh("", 1)).Reason, "unschedulable", "a start at that size lifts the ceiling")
}

func TestTheFloorWinsOverTheCeiling(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: 3 * gib}))
	r.tell(unfit("a", 4*gib))
	assert.Equal(t, 3*gib, r.answer(steady("")).Memory.Limit)
	r.tell(unfit("b", 3*gib))
	assert.GreaterOrEqual(t, r.answer(steady("")).Memory.Limit, 3*gib)
}

func TestACeilingSurvivesARestartAndGoesWithItsReport(t *testing.T) {
	r := newReplica(t)
	r.tell(unfit("a", 64*gib))
	asked := ask("load", "")
	require.Equal(t, 32*gib, r.answer(asked).Memory.Limit)
	other := join(t, r.dsn, service.Config{}).start()
	assert.Equal(t, 32*gib, other.answer(asked).Memory.Limit)
	require.NoError(t, other.Void(t.Context(), try("load", "a", 1)))
	assert.Equal(t, 64*gib, other.answer(asked).Memory.Limit)
}

func TestAProvisionalKillYieldsToASuccess(t *testing.T) {
	r := newReplica(t)
	r.steadily("before", 40)
	a := steady("r")
	before := r.answer(a)
	require.True(t, r.lift(a, before.Memory.Limit).Retry)
	require.Greater(t, r.answer(steady("")).Memory.Limit, before.Memory.Limit)
	end := held(a, 2*gib)
	end.Allocated = sizing.Resources{}
	recorded := r.tell(end)[0]
	assert.True(t, recorded.Amended)
	assert.True(t, r.tell(end)[0].Duplicate)
	profile, err := r.Task(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, []int{41, 0}, []int{profile.Observations, profile.Kills})
	assert.NotEqual(t, sizing.FromLift, r.answer(later(a, 2)).Source, "nothing was killed")
	assert.InEpsilon(t, float64(before.Memory.Limit), float64(r.answer(steady("")).Memory.Limit), 0.1)
	_, err = r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.InEpsilon(t, float64(before.Memory.Limit), float64(r.answer(steady("")).Memory.Limit), 0.1)
	again, err := r.Observe(t.Context(), []sizing.Observation{{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: before.Memory.Limit}}})
	require.NoError(t, err)
	assert.Equal(t, sizing.Conflict, sizing.KindOf(again[0].Err), "the success is no guess")
}

func TestSuccessesWithoutAPeakSayWhatHeld(t *testing.T) {
	r := newReplica(t)
	for i := range 20 {
		o := held(steady(fmt.Sprint("run-", i)), 0)
		r.tell(o)
	}
	for name, replica := range map[string]*replica{"here": r, "after a restart": join(t, r.dsn, service.Config{}).start()} {
		answer := replica.answer(steady(""))
		assert.Equal(t, []any{8 * gib, sizing.FromRequested}, []any{answer.Memory.Limit, answer.Source}, name)
		assert.Contains(t, answer.Reason, "20 runs succeeded within 4Gi, no peak was measured: report memory_max_bytes", name)
		unasked := steady("")
		unasked.Requested = sizing.Resources{}
		own := replica.answer(unasked)
		assert.Equal(t, []any{4 * gib, sizing.FromProfile}, []any{own.Memory.Limit, own.Source}, name)
		assert.InDelta(t, 1.0/22, *own.Risk.Promised, 1e-9, name)
	}
}

func TestKillsOfATaskWithoutAModelSurviveARestart(t *testing.T) {
	r := newReplica(t)
	a := steady("r")
	a.Requested.Memory = 2 * gib
	r.tell(sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 3 * gib}})
	a.Try.RunID = ""
	here := r.answer(a)
	require.Equal(t, 6*gib, here.Memory.Limit)
	other := join(t, r.dsn, service.Config{}).start()
	assert.Equal(t, here.Memory, other.answer(a).Memory)
	require.NoError(t, other.Void(t.Context(), try("load", "r", 1)))
	assert.Equal(t, 2*gib, other.answer(a).Memory.Limit, "voided, it is as if nothing had been said")
}

func TestOpenRetriesFollowARenameAndGoWithTheirTask(t *testing.T) {
	r := newReplica(t)
	r.steadily("before", 60)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	for i := range 12 {
		a := steady("burst")
		a.Try.MapIndex = i
		r.lift(a, r.answer(a).Memory.Limit)
	}
	probe := func(name string) sizing.Ask {
		a := steady("")
		a.Try.TaskKey, a.Features = task(name), sizing.Features{"region": sizing.TextValue("apac")}
		return a
	}
	require.Contains(t, r.answer(probe("load")).Reason, "widened")
	require.NoError(t, r.Rename(t.Context(), task("load"), task("moved")))
	assert.Contains(t, r.answer(probe("moved")).Reason, "widened")
	assert.Equal(t, sizing.FromRequested, r.answer(probe("load")).Source)
	require.NoError(t, r.DeleteTask(t.Context(), task("moved")))
	assert.NotContains(t, r.answer(probe("moved")).Reason, "widened")
}

// The end of a retry is reported without features, as a caller that only knows the run does.
func TestARetryWithoutFeaturesIsThatOfItsRun(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 40)
	a := ask("load", "r")
	killed := r.answer(a).Memory.Limit
	r.lift(a, killed)
	r.tell(sizing.Observation{Try: try("load", "r", 2), Outcome: sizing.Success, MemoryMax: 2 * killed, Duration: time.Minute, Allocated: sizing.Resources{Memory: 3 * killed}})
	history := r.history("load")
	last := history.Rows[len(history.Rows)-1]
	assert.Equal(t, a.Features, history.Schema.Features(last.Features))
	for _, claim := range []string{"at once", "trained"} {
		assert.GreaterOrEqual(t, r.answer(ask("load", "")).Memory.Limit, 2*killed, claim)
		_, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
	}
	other := join(t, r.dsn, service.Config{}).start()
	assert.GreaterOrEqual(t, other.answer(ask("load", "")).Memory.Limit, 2*killed, "another replica")
}

func TestAKnownKillReachesOtherReplicasAndImports(t *testing.T) {
	r := newReplica(t).start()
	r.taught("load", 40)
	other := join(t, r.dsn, service.Config{}).start()
	killed := other.answer(ask("load", "")).Memory.Limit + sizing.MiB
	r.tell(sizing.Observation{Try: try("load", "r", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: killed}, Features: rows(4)})
	require.Greater(t, r.answer(ask("load", "")).Memory.Limit, killed)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	other.until(func() bool { return other.answer(ask("load", "")).Memory.Limit > killed }, "by the training's notification")

	imported := make([]sizing.Observation, 0, 201)
	for i := range 200 { // more than are learned at once
		o := success("bulk", i, 200)
		imported = append(imported, o)
	}
	kill := sizing.Observation{Try: try("bulk", "dead", 1), Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 3 * gib}, Features: rows(4.7)}
	r.tell(append(imported, kill)...)
	question := ask("bulk", "")
	question.Features = rows(4.7)
	r.until(func() bool { return r.told("bulk") == 201 }, "learned")
	assert.Greater(t, r.answer(question).Memory.Limit, 3*gib)
	_, err = r.Train(t.Context(), task("bulk"))
	require.NoError(t, err)
	assert.Greater(t, r.answer(question).Memory.Limit, 3*gib)
}
