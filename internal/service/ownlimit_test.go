package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// failAt reports that the program ran out of memory at a measured peak, and asks for a lift.
func (r *replica) failAt(a sizing.Ask, allocated, peak sizing.Bytes) sizing.Lift {
	r.t.Helper()
	r.report(sizing.Observation{Try: a.Try, Outcome: sizing.AppOOM, MemoryMax: peak, Duration: time.Minute, Features: a.Features,
		Requested: a.Requested, Allocated: sizing.Resources{Memory: allocated}})
	lift, err := r.Lift(r.t.Context(), &sizing.LiftAsk{Ask: a, Reason: sizing.AppOOM, Failed: allocated})
	require.NoError(r.t, err)
	return lift
}

func TestOneUselessLiftShowsALimitOfTheProgram(t *testing.T) {
	r := newReplica(t)
	a := steadyAsk("own")
	first := r.failAt(a, 8*gib, 4*gib)
	require.True(t, first.Retry, first.Reason)
	assert.Contains(t, first.Reason, "at a peak of 4Gi, below the 8Gi allocated")
	a.Try.Number++
	second := r.failAt(a, first.Memory.Limit, 4*gib+gib/10)
	assert.Equal(t, sizing.VerdictNotMemory, second.Verdict)
	assert.Contains(t, second.Reason, "a limit of its own")

	b := steadyAsk("share") // the peak grows with the allocation
	first = r.failAt(b, 8*gib, 4*gib)
	b.Try.Number++
	assert.True(t, r.failAt(b, first.Memory.Limit, first.Memory.Limit/2).Retry)
}

// Without a measured peak, only the failure of a whole ladder shows that more memory does not help.
func TestUselessLaddersDoNotRaiseTheDerivedCap(t *testing.T) {
	r := newReplica(t)
	r.reportSteadyRuns("before", 5)
	largest := func(run string) (limit sizing.Bytes) {
		a := steadyAsk(run)
		for limit = 8 * gib; ; a.Try.Number++ {
			lift := r.failAt(a, limit, 0)
			if !lift.Retry {
				return limit
			}
			limit = lift.Memory.Limit
		}
	}
	assert.Greater(t, largest("first"), 32*gib)
	assert.LessOrEqual(t, largest("second"), 32*gib)
}
