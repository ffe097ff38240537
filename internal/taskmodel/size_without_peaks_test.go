package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The first run is OOM-killed with 4 GiB. The next runs get 8 GiB, and the power law divides their risk by eight.
func TestPromiseAfterAKillWithoutASuccessFallsWithTheGrant(t *testing.T) {
	k := newTask(t)
	q := question(withRows(1000))
	q.Requested.Memory, q.Cap = 4*gib, 0
	k.report(withRows(50_000), killedRun("r", 4))
	s := k.model.Size(q)
	assert.Equal(t, 8*gib, s.Limit, s.Reason)
	assert.InDelta(t, 0.9/8, *s.Promised, 1e-9, s.Reason)
	k.report(withRows(60_000), killedRun("s", 8))
	assert.InDelta(t, 0.9/8, *k.model.Size(q).Promised, 1e-9)

	for _, c := range []struct{ limit, promised float64 }{{4, 0.9}, {8, 0.9}, {12, 0.9 * 8 / 27}, {16, 0.9 / 8}} {
		q.Cap = bytes(c.limit)
		assert.InDelta(t, c.promised, *k.model.Size(q).Promised, 1e-9, "with a cap of %v GiB", c.limit)
	}
	q.Cap, q.Above = 0, 8*gib
	lift := k.model.Size(q)
	assert.InDelta(t, 0.9/8, *lift.Promised, 1e-9, lift.Reason)
	assert.InDelta(t, 0.9/64, *k.model.Risk(taskmodel.Question{Above: 8 * gib}, 32*gib), 1e-9)
}
