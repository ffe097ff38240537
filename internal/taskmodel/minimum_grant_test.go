package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestFloorCapAndSufficientRequestReplaceTheMinimumGrant(t *testing.T) {
	const mib = sizing.MiB
	k := newTask(t)
	f := sizing.Features{}
	for range 3 {
		r := measuredRun(0)
		r.MemoryMax, r.Allocated.Memory, r.Requested.Memory = 8*mib, 32*mib, 32*mib
		k.report(f, r)
	}
	for name, c := range map[string]struct {
		q       taskmodel.Question
		want    sizing.Bytes
		isNamed bool // the reason names the minimum grant
	}{
		"no other bound":               {taskmodel.Question{}, 64 * mib, true},
		"a higher request":             {taskmodel.Question{Requested: sizing.Resources{Memory: gib}}, 64 * mib, true},
		"a request that has sufficed":  {taskmodel.Question{Requested: sizing.Resources{Memory: 32 * mib}}, 32 * mib, true},
		"a request below the peak":     {taskmodel.Question{Requested: sizing.Resources{Memory: 4 * mib}}, 64 * mib, true},
		"a cap":                        {taskmodel.Question{Cap: 24 * mib}, 24 * mib, false},
		"a lower floor of the policy":  {taskmodel.Question{Floor: 40 * mib}, 40 * mib, false},
		"a higher floor of the policy": {taskmodel.Question{Floor: 128 * mib}, 128 * mib, false},
	} {
		c.q.Features, c.q.RiskTarget, c.q.Lifts = f, target, 3
		free := k.model.Size(c.q)
		c.q.MinGrant = 64 * mib
		s := k.model.Size(c.q)
		require.Equal(t, c.want, s.Limit, name)
		require.Equal(t, s.Limit, s.Ladder[0], name)
		assert.Equal(t, *s.Promised, *k.model.Risk(c.q, s.Limit), "the promise must be the risk of the grant: %s", name)
		assert.LessOrEqual(t, *s.Promised, *free.Promised, name)
		if c.isNamed {
			assert.Contains(t, s.Reason, "raised to the minimum grant of "+c.want.String(), name)
		} else {
			assert.NotContains(t, s.Reason, "minimum grant", name)
		}
	}
}

func TestMinimumGrantRaisesOnlySmallerAnswers(t *testing.T) {
	k, rng := trainedTask(t, growing, 2, 60)
	var memo taskmodel.Memo
	for range 20 {
		f, _ := growing(rng)
		q := question(f)
		free := k.model.Size(q)
		q.MinGrant = 64 * sizing.MiB
		require.Equal(t, free, k.model.Size(q), "the minimum grant must not change a larger answer")
		for _, least := range []sizing.Bytes{0, 64 * gib, 0, 64 * gib} {
			q.MinGrant = least
			require.Equal(t, k.model.Size(q).Limit, memo.Size(k.model, q).Limit, "the cache must distinguish minimum grants")
		}
	}
	unknown := taskmodel.New().Size(taskmodel.Question{Requested: sizing.Resources{Memory: 8 * sizing.MiB}, MinGrant: 64 * sizing.MiB})
	assert.Equal(t, 8*sizing.MiB, unknown.Limit, "the request of a task without history must stay unchanged")

	k = newTask(t)
	k.report(nil, sizing.HistoryRow{Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: 2000}})
	assert.Equal(t, 64*sizing.MiB, k.model.Size(taskmodel.Question{MinGrant: 64 * sizing.MiB}).Limit, "twice the killed allocation must be raised to the minimum grant")
}
