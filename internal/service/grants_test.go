package service_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The ratio splits what a model answers. It leaves the static request as it is, and the
// floor bounds the request as well as the limit.
func TestTheLimitRatioKeepsTheStaticRequestAndTheFloor(t *testing.T) {
	r := newReplica(t)
	ratio := sizing.Policy{LimitRatio: 2}
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), ratio))
	unknown := ask("unknown", "")
	unknown.Requested.Memory = 4 * gib
	assert.Equal(t, sizing.Grant{Request: 4 * gib, Limit: 4 * gib}, r.answer(unknown).Memory, "nothing is known: unchanged")

	r.taught("load", 40)
	question := ask("load", "")
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), ratio))
	split := r.answer(question).Memory
	assert.Equal(t, split.Limit/2, split.Request)
	ratio.Floor = split.Limit * 3 / 4
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), ratio))
	floored := r.answer(question).Memory
	assert.Equal(t, ratio.Floor, floored.Request)
	assert.Equal(t, split.Limit, floored.Limit)
}

// A kill at what was granted raises the next answer: here, after a training, and in
// another process.
func TestAKillAtTheGrantRaisesTheNextAnswer(t *testing.T) {
	const mib = sizing.MiB
	r := join(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib}).start()
	small := func(run string) sizing.Ask {
		a := ask("load", run)
		a.Requested.Memory, a.Features = 2*gib, rows(3)
		return a
	}
	for i := range 20 {
		o := success("load", i, 20)
		o.MemoryMax, o.Allocated.Memory, o.Requested.Memory, o.Features = 3*mib, 2*gib, 2*gib, rows(float64(i%5))
		r.tell(o)
	}
	require.NoError(t, r.SetPolicy(t.Context(), task("load"), sizing.Policy{Floor: gib}))
	had := r.answer(small("killed")).Memory.Limit
	require.Equal(t, gib, had)
	recorded := r.tell(sizing.Observation{Try: small("killed").Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: had}, Features: rows(3)})
	assert.Empty(t, recorded[0].Warnings)
	assert.Greater(t, r.answer(small("")).Memory.Limit, had, "at once")
	r.until(func() bool { return r.Counts().Queued == 0 }, "receipts stored")
	assert.Equal(t, had, r.history("load").Rows[20].Granted)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Greater(t, r.answer(small("")).Memory.Limit, had, "trained")
	other := join(t, r.dsn, service.Config{MinMemory: 64 * mib}).start()
	assert.Greater(t, other.answer(small("")).Memory.Limit, had, "in another process")
}

// Two replicas: the second question of a killed try gets more than what was killed, at the
// replica that answered the lift, and at one that only the store tells of the kill.
func TestARepeatedQuestionKnowsTheKillThatAnotherReplicaWasTold(t *testing.T) {
	a := newReplica(t).start()
	a.taught("load", 40)
	b := join(t, a.dsn, service.Config{}).start()
	for i, lifted := range []bool{true, false} {
		question := ask("load", fmt.Sprint("run-x", i))
		had := a.answer(question).Memory.Limit
		b.tell(sizing.Observation{Try: question.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: had}, Features: question.Features})
		next := later(question, 2)
		if lifted {
			lift := a.lift(question, had)
			assert.Equal(t, lift.Memory.Limit, a.answer(next).Memory.Limit)
			assert.Greater(t, a.answer(question).Memory.Limit, had, "the same try again, at the replica that answered the lift")
		}
		here, there := a.answer(next).Memory.Limit, b.answer(next).Memory.Limit
		assert.Greater(t, here, had, "try 2 reads the kill")
		assert.Greater(t, there, had)
		if !lifted {
			assert.Equal(t, there, here)
		}
	}
}

func TestALiftStartsAtTheMinimumGrant(t *testing.T) {
	const mib = sizing.MiB
	r := join(t, newReplica(t).dsn, service.Config{MinMemory: 64 * mib})
	question := ask("unknown", "r")
	question.Requested = sizing.Resources{}
	lift := r.lift(question, 1)
	require.True(t, lift.Retry, lift.Reason)
	assert.GreaterOrEqual(t, lift.Memory.Limit, 64*mib)
}

// A peak that is filled in later acts at once, as one that comes with the first report.
func TestAnAmendedPeakActsAtOnce(t *testing.T) {
	r, whole := newReplica(t), newReplica(t)
	for i := range 40 {
		o := success("load", i, 40)
		r.tell(o)
		whole.tell(o)
	}
	o := success("load", 39, 40)
	o.Try.RunID = "late"
	o.MemoryMax = 9 * gib / 2
	whole.tell(o)
	without := o
	without.MemoryMax = 0
	r.tell(without)
	before := r.answer(ask("load", "")).Memory.Limit
	recorded := r.tell(o)
	require.True(t, recorded[0].Amended)
	after := r.answer(ask("load", "")).Memory.Limit
	assert.NotEqual(t, before, after)
	assert.Equal(t, whole.answer(ask("load", "")).Memory.Limit, after)
	o.EndedAt = o.EndedAt.AddDate(1, 0, 0)
	tries := r.told("load")
	r.tell(o)
	assert.Equal(t, after, r.answer(ask("load", "")).Memory.Limit, "further details teach nothing twice")
	assert.Equal(t, tries, r.told("load"))
}

func TestTheDefaultsOfAnUnknownTaskCreateNone(t *testing.T) {
	r := newReplica(t)
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{}))
	tasks, err := r.Tasks(t.Context(), "", sizing.TaskKey{}, 10)
	require.NoError(t, err)
	assert.Empty(t, tasks)
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{Mode: sizing.Off}))
	require.NoError(t, r.SetPolicy(t.Context(), task("unknown"), sizing.Policy{}), "a policy that was set is reset")
	p, err := r.Policy(t.Context(), task("unknown"))
	require.NoError(t, err)
	assert.True(t, p.IsZero())
}
