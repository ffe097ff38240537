package service_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func withoutInputs(a sizing.Ask, number int) sizing.Ask {
	a = nthTry(a, number)
	a.Requested, a.MaxMemory, a.Features = sizing.Resources{}, 0, nil
	return a
}

func TestALiftUsesTheRequestOfItsTryOnEachReplica(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 40)
	other := joinReplica(t, r.dsn, service.Config{}).start()
	for i, c := range []struct {
		requested, maxMemory sizing.Bytes
		reported             bool // the kill is reported before the lift
		byLift               bool // only the first lift request sends max_memory
	}{
		{requested: 3 * gib, maxMemory: 4 * gib},
		{requested: 3 * gib, maxMemory: 4 * gib, reported: true},
		{maxMemory: 2 * gib, reported: true},
		{requested: gib, reported: true},
		{requested: 3 * gib, maxMemory: 8 * gib, byLift: true},
	} {
		name := fmt.Sprint("case ", i)
		first := ask("load", fmt.Sprint("r-", i))
		first.Requested = sizing.Resources{Memory: c.requested, CPU: 2}
		if !c.byLift {
			first.MaxMemory = c.maxMemory
		}
		granted := r.predict(first).Memory.Limit
		if c.reported {
			r.report(sizing.Observation{Try: first.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: granted}})
		}
		if c.byLift {
			capped := withoutInputs(first, 1)
			capped.MaxMemory = c.maxMemory
			granted = r.lift(capped, granted).Memory.Limit
		}
		r.waitFor(func() bool { return r.Counts().Queued == 0 }, "the receipts must be stored")
		number := 1
		if c.byLift {
			number = 2
		}
		var lifts []sizing.Bytes
		for _, each := range []*replica{other, joinReplica(t, r.dsn, service.Config{}).start(), r} {
			lift := each.lift(withoutInputs(first, number), granted)
			require.True(t, lift.Retry, "%s: %s", name, lift.Reason)
			if c.maxMemory > 0 {
				assert.LessOrEqual(t, lift.Memory.Limit, c.maxMemory, name)
			}
			lifts = append(lifts, lift.Memory.Limit)
			next := each.predict(withoutInputs(first, number+1))
			assert.Equal(t, lift.Memory.Limit, next.Memory.Limit, name)
			assert.Equal(t, sizing.Cores(2), next.CPU, name)
		}
		assert.Equal(t, lifts[2], lifts[1], "%s: lifts[0] may differ, because that replica has not learned the report to another replica", name)
	}
}

// After a restart, a replica restores the open tries of a task without the caps of their callers. So a lift must read the cap
// from the stored receipts of the run.
func TestALiftKeepsTheCapOfARestoredTry(t *testing.T) {
	r := newReplica(t).start()
	r.trainTask("load", 40)
	first := ask("load", "r")
	first.Requested = sizing.Resources{Memory: 3 * gib}
	initial := r.predict(first).Memory.Limit
	capped := withoutInputs(first, 1)
	capped.MaxMemory = r.lift(withoutInputs(first, 1), initial).Memory.Limit + gib/16 // less than the second lift without a cap
	granted := r.lift(capped, initial).Memory.Limit
	require.Equal(t, capped.MaxMemory, granted)
	r.waitFor(func() bool { return r.Counts().Queued == 0 }, "the receipts must be stored")
	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	restarted.predict(ask("load", "")) // restores the tries of the task
	lift := restarted.lift(withoutInputs(first, 2), granted)
	assert.False(t, lift.Retry, "%s was killed at the cap of the first lift, so a lift to %s would exceed this cap", granted, lift.Memory.Limit)
}
