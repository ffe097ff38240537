package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestReasonNamesTheDecidingRule(t *testing.T) {
	for _, n := range []int{5, 100} {
		k, rng := trainedTask(t, growing, 3, n)
		f, _ := growing(rng)
		free := k.model.Size(question(f))
		for name, c := range map[string]struct {
			change func(q *taskmodel.Question)
			want   string
		}{
			"floor":         {func(q *taskmodel.Question) { q.Floor = free.Limit * 2 }, "raised to the policy's floor of " + (free.Limit * 2).Approx()},
			"policy's cap":  {func(q *taskmodel.Question) { q.Cap, q.CapBy = free.Limit/2, taskmodel.CapPolicy }, "at the cap of " + (free.Limit / 2).Approx() + " (set by the policy)"},
			"caller's cap":  {func(q *taskmodel.Question) { q.Cap, q.CapBy = free.Limit/2, taskmodel.CapCaller }, "(the caller's max_memory)"},
			"the request":   {func(q *taskmodel.Question) { q.Cap, q.CapBy = free.Limit/2, taskmodel.CapRequest }, "(the static request: the policy grants no more)"},
			"unschedulable": {func(q *taskmodel.Question) { q.Cap, q.CapBy = free.Limit/2, taskmodel.CapUnschedulable }, "(a larger allocation was unschedulable within the last hour)"},
			"bins":          {func(q *taskmodel.Question) { q.Edges = sizing.Bins{free.Limit * 3} }, "rounded up to the next of the task's bins"},
			"guard":         {func(q *taskmodel.Question) { q.GuardFactor = 1.5 }, "widened by 50 %"},
		} {
			q := question(f)
			c.change(&q)
			s := k.model.Size(q)
			assert.Contains(t, s.Reason, c.want, name)
			if q.GuardFactor == 0 {
				assert.Contains(t, s.Reason, free.Limit.Approx()+" by ", "%s: the reason must include the models' amount before the bound", name)
			}
		}
		require.NotContains(t, free.Reason, free.Limit.Approx()+" by ", "the reason must not repeat the grant as the models' amount")
	}
}

func TestReasonNamesABoundAboveAKnownKill(t *testing.T) {
	k, rng := trainedTask(t, growing, 3, 60)
	f, _ := growing(rng)
	free := k.model.Size(question(f)).Limit
	k.report(f, killed(float64(2*free)/float64(gib)))
	q := question(f)
	rung := k.model.Size(q)
	require.Contains(t, rung.Reason, "was OOM-killed with the same features")

	q.Floor = rung.Limit - sizing.MiB
	assert.Equal(t, rung.Reason, k.model.Size(q).Reason)
	q.Floor = 10 * rung.Limit
	assert.Contains(t, k.model.Size(q).Reason, "raised to the policy's floor of "+q.Floor.Approx())
	q.Floor, q.MinGrant = 0, 5*rung.Limit
	assert.Contains(t, k.model.Size(q).Reason, "raised to the minimum grant of "+q.MinGrant.String())
}

func TestReasonWithoutAnyAmount(t *testing.T) {
	k, q := newTask(t), taskmodel.Question{Features: small}
	for _, m := range []*taskmodel.Model{k.model, k.model.Outline().Model()} {
		s := m.Size(q)
		assert.Zero(t, s.Limit)
		assert.Equal(t, "no peak of this task is known yet: no static request is known, so no amount is granted", s.Reason)
	}
	r := measuredRun(5000)
	r.Allocated.Memory = 2 * gib
	k.report(small, r)
	require.Len(t, k.model.Quarantine, 1)
	assert.Equal(t, "all reports of this task are implausible, and none confirms another: no static request is known, so no amount is granted", k.model.Size(q).Reason)
}

func TestReasonWithoutAMeasuredPeak(t *testing.T) {
	k := newTask(t)
	q := question(sizing.Features{})
	assert.Contains(t, k.model.Size(q).Reason, "no peak of this task is known yet")
	for range 20 {
		r := measuredRun(0)
		r.Allocated.Memory = 4 * gib
		k.report(sizing.Features{}, r)
	}
	const summary = "20 runs succeeded within 4Gi, no peak was measured: report memory_max_bytes"
	s := k.model.Size(q)
	assert.Equal(t, []any{32 * gib, sizing.FromRequested}, []any{s.Limit, s.Source})
	assert.Contains(t, s.Reason, summary)
	q.Requested.Memory = 0
	s = k.model.Size(q)
	assert.Equal(t, []any{4 * gib, sizing.FromProfile}, []any{s.Limit, s.Source})
	assert.Contains(t, s.Reason, summary)
	q.Floor = 6 * gib
	s = k.model.Size(q)
	assert.Equal(t, 6*gib, s.Limit)
	assert.Contains(t, s.Reason, "raised to the policy's floor of 6Gi")
	q.Floor = 0
	k.report(sizing.Features{}, killed(5))
	s = k.model.Size(q)
	assert.Equal(t, 10*gib, s.Limit, s.Reason)
	assert.Contains(t, s.Reason, summary)
}
