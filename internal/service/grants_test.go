package service_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The limit ratio applies to allocations of a model, not to the static request. The floor bounds both the request and the
// limit.
func TestTheLimitRatioKeepsTheStaticRequestAndTheFloor(t *testing.T) {
	r := newReplica(t)
	ratio := sizing.Policy{LimitRatio: 2}
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), ratio))
	unknown := ask("unknown", "")
	unknown.Requested.Memory = 4 * gib
	assert.Equal(t, sizing.Grant{Request: 4 * gib, Limit: 4 * gib}, r.predict(unknown).Memory, "an unknown task gets its static request unchanged")

	r.trainTask("load", 40)
	question := ask("load", "")
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), ratio))
	split := r.predict(question).Memory
	assert.Equal(t, split.Limit/2, split.Request)
	ratio.Floor = split.Limit * 3 / 4
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), ratio))
	floored := r.predict(question).Memory
	assert.Equal(t, ratio.Floor, floored.Request)
	assert.Equal(t, split.Limit, floored.Limit)
}

// A kill at the granted limit raises the next answer at once, after a training, and on another replica.
func TestAKillAtTheGrantRaisesTheNextAnswer(t *testing.T) {
	const mib = sizing.MiB
	r := joinReplica(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib}).start()
	small := func(run string) sizing.Ask {
		a := ask("load", run)
		a.Requested.Memory, a.Features = 2*gib, rows(3)
		return a
	}
	for i := range 20 {
		o := success("load", i, 20)
		o.MemoryMax, o.Allocated.Memory, o.Requested.Memory, o.Features = 3*mib, 2*gib, 2*gib, rows(float64(i%5))
		r.report(o)
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib}))
	granted := r.predict(small("killed")).Memory.Limit
	require.Equal(t, gib, granted)
	recorded := r.report(sizing.Observation{Try: small("killed").Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: granted}, Features: rows(3)})
	assert.Empty(t, recorded[0].Warnings)
	assert.Greater(t, r.predict(small("")).Memory.Limit, granted, "the replica learns the kill at once")
	r.waitFor(func() bool { return r.Counts().Queued == 0 }, "the receipts must be stored")
	assert.Equal(t, granted, r.history("load").Rows[20].Granted)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Greater(t, r.predict(small("")).Memory.Limit, granted, "the trained model has learned the kill")
	other := joinReplica(t, r.dsn, service.Config{MinMemory: 64 * mib}).start()
	assert.Greater(t, other.predict(small("")).Memory.Limit, granted, "another replica knows the kill")
}

// After a kill that was reported to another replica, the next try gets more than the killed limit, with and
// without a lift. After a lift, a repeated prediction for the killed try returns more, too.
func TestANextTryCountsAKillReportedToAnotherReplica(t *testing.T) {
	a := newReplica(t).start()
	a.trainTask("load", 40)
	b := joinReplica(t, a.dsn, service.Config{}).start()
	for i, lifted := range []bool{true, false} {
		question := ask("load", fmt.Sprint("run-x", i))
		granted := a.predict(question).Memory.Limit
		b.report(sizing.Observation{Try: question.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: granted}, Features: question.Features})
		next := nthTry(question, 2)
		if lifted {
			lift := a.lift(question, granted)
			assert.Equal(t, lift.Memory.Limit, a.predict(next).Memory.Limit)
			assert.Greater(t, a.predict(question).Memory.Limit, granted, "the replica that answered the lift must grant the same try more")
		}
		onA, onB := a.predict(next).Memory.Limit, b.predict(next).Memory.Limit
		assert.Greater(t, onA, granted, "the replica that reads the kill from the store must grant more")
		assert.Greater(t, onB, granted, "the replica that received the report must grant more")
		if !lifted {
			assert.Equal(t, onB, onA)
		}
	}
}

func TestALiftIsAtLeastTheMinimumGrant(t *testing.T) {
	const mib = sizing.MiB
	r := joinReplica(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib})
	question := ask("unknown", "r")
	question.Requested = sizing.Resources{}
	lift := r.lift(question, 1)
	require.True(t, lift.Retry, lift.Reason)
	assert.GreaterOrEqual(t, lift.Memory.Limit, 64*mib)
}

func TestAnAmendedPeakIsLearnedAtOnce(t *testing.T) {
	r, reference := newReplica(t), newReplica(t)
	for i := range 40 {
		o := success("load", i, 40)
		r.report(o)
		reference.report(o)
	}
	o := success("load", 39, 40)
	o.Try.RunID = "late"
	o.MemoryMax = 9 * gib / 2
	reference.report(o)
	without := o
	without.MemoryMax = 0
	r.report(without)
	before := r.predict(ask("load", "")).Memory.Limit
	recorded := r.report(o)
	require.True(t, recorded[0].Amended)
	after := r.predict(ask("load", "")).Memory.Limit
	assert.NotEqual(t, before, after)
	assert.Equal(t, reference.predict(ask("load", "")).Memory.Limit, after)
	o.EndedAt = o.EndedAt.AddDate(1, 0, 0)
	tries := r.learnedRows("load")
	r.report(o)
	assert.Equal(t, after, r.predict(ask("load", "")).Memory.Limit, "a second amendment changes no answer")
	assert.Equal(t, tries, r.learnedRows("load"))
}

// The sampled peak of each run follows after a training that learned its success, as with lookups in Prometheus. The task
// has grown, and each peak is learned at once and by the next training.
func TestASampledPeakThatFollowsATrainingIsLearned(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 40)
	train := func() {
		t.Helper()
		report, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
		require.True(t, report.Published, report.Reason)
		r.waitFor(func() bool { return r.modelVersion("load") == report.Version }, "the trained model must be in use")
	}
	for i := range 10 {
		o := success("load", 20, 40)
		o.Try.RunID = fmt.Sprint("grown-", i)
		without := o
		without.MemoryMax = 0
		r.report(without)
		train()
		o.MemorySampled, o.MemoryMax = 4*o.MemoryMax, 0
		require.True(t, r.report(o)[0].Measured)
		assert.Contains(t, r.predict(ask("load", "")).Reason, fmt.Sprintf("%d runs", 41+i), "the peak must be learned at once")
		train()
		assert.Contains(t, r.predict(ask("load", "")).Reason, fmt.Sprintf("%d runs", 41+i), "the training must learn the peak")
	}
	question := ask("load", "")
	question.Features = success("load", 20, 40).Features
	answer := r.predict(question)
	assert.GreaterOrEqual(t, answer.Memory.Limit, 4*success("load", 20, 40).MemoryMax, answer.Reason)
	assertSame(t, answer, joinReplica(t, r.dsn, service.Config{}).start().predict(question), "another replica must give the same answer")
}

func TestTheBriefListHasTheGroupsOfTheFullList(t *testing.T) {
	r := newReplica(t)
	for name, peak := range map[string]sizing.Bytes{"light": gib / 4, "moderate": 4 * gib, "heavy": 40 * gib} { // too few tasks for clusters
		o := success(name, 0, 1)
		o.MemoryMax = peak
		r.report(o)
	}
	full, err := r.Tasks(t.Context(), "", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	brief, err := r.TasksBrief(t.Context(), "", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	require.Len(t, full, 3)
	require.Len(t, brief, 3)
	for i := range full {
		assert.Equal(t, full[i].Task.Task, string(full[i].Group))
		assert.Equal(t, full[i].Group, brief[i].Group, full[i].Task.Task)
	}
}

func TestSettingTheDefaultPolicyCreatesNoTask(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{}))
	tasks, err := r.Tasks(t.Context(), "", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	assert.Empty(t, tasks)
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{Mode: sizing.Off}))
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{}), "the default policy replaces a policy that was set")
	p, err := r.Policy(t.Context(), task("unknown"))
	require.NoError(t, err)
	assert.True(t, p.IsZero())
}
