package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// savePlannedReceipt stores a receipt of an answer by another replica, with a plan from 1 GiB to a static grant of 9 GiB. The
// memory follows the plan only in the mode ResizeMemory.
func (r *replica) savePlannedReceipt(run string, mode sizing.PhasesMode) sizing.Ask {
	r.t.Helper()
	a := ask("train", run)
	a.Requested = sizing.Resources{Memory: 20 * gib}
	promised := 0.01
	require.NoError(r.t, r.store.SaveReceipts(r.t.Context(), []sizing.Receipt{{
		Ask: a, At: time.Now().Add(-time.Minute), Allocation: sizing.Allocation{
			PredictionID: uuid.Must(uuid.NewV7()).String(), Task: a.Try.TaskKey, Memory: sizing.Grant{Request: 9 * gib, Limit: 9 * gib},
			Source: sizing.FromModel, Mode: sizing.Enforce, Risk: sizing.Risk{Target: 0.015, Promised: &promised}, Model: &sizing.ModelRef{Version: 1},
			Plan: &sizing.Plan{Version: 1, Mode: mode, Start: gib, Static: 9 * gib},
		},
	}}))
	return a
}

func killedAt(a sizing.Ask, allocated sizing.Bytes) sizing.Observation {
	return sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Duration: time.Minute, Allocated: sizing.Resources{Memory: allocated}}
}

func TestALiftAfterAKillOfAPlanIsAtLeastTheStaticGrant(t *testing.T) {
	r := newReplica(t)
	r.trainTask("train", 60) // its runs need at most 1.5 GiB, and the ladder is far below 9 GiB
	for _, c := range []struct {
		run            string
		mode           sizing.PhasesMode
		killed, atMost sizing.Bytes // the killed limit, and the largest expected lift
		atLeast        sizing.Bytes // the smallest expected lift
	}{
		{"early", sizing.ResizeMemory, gib, 9 * gib, 9 * gib},
		{"late", sizing.ResizeMemory, 8 * gib, 24 * gib, 12 * gib},
		{"only the cpu", sizing.ResizeCPU, gib, 8 * gib, gib + 1},
	} {
		a := r.savePlannedReceipt(c.run, c.mode)
		lift := r.lift(a, c.killed)
		require.True(t, lift.Retry, c.run)
		assert.GreaterOrEqual(t, lift.Memory.Limit, c.atLeast, c.run)
		assert.LessOrEqual(t, lift.Memory.Limit, c.atMost, c.run)
		next := r.predict(nthTry(a, 2))
		assert.Equal(t, lift.Memory.Limit, next.Memory.Limit, "%s: the prediction repeats the lift", c.run)
		another := joinReplica(t, r.dsn, service.Config{})
		unlifted := another.predict(nthTry(a, 2))
		assert.GreaterOrEqual(t, unlifted.Memory.Limit, c.atLeast, "%s: %s", c.run, unlifted.Reason)
	}
}

func TestAKillBelowTheStaticGrantIsNoEvidenceAgainstItsPromise(t *testing.T) {
	r := newReplica(t)
	r.trainTask("train", 60)
	for i := range 12 {
		r.report(killedAt(r.savePlannedReceipt(fmt.Sprint("below-", i), sizing.ResizeMemory), gib))
	}
	r.report(killedAt(r.savePlannedReceipt("at the static grant", sizing.ResizeMemory), 9*gib))
	r.report(killedAt(r.savePlannedReceipt("only the cpu", sizing.ResizeCPU), gib))

	compared := map[string]bool{}
	for _, row := range r.history("train").Rows {
		if row.Outcome != sizing.OOMKilled {
			continue
		}
		compared[row.RunID] = row.Promised != nil
		peak, censoring := row.Peak()
		assert.Equal(t, sizing.AtLeast, censoring)
		assert.Equal(t, row.Allocated.Memory, peak, "the peak is at least the killed limit, whatever the static grant")
	}
	assert.Len(t, compared, 14)
	assert.False(t, compared["below-0"])
	assert.True(t, compared["at the static grant"])
	assert.True(t, compared["only the cpu"])

	realised, err := r.store.Realised(t.Context(), task("train"), 100)
	require.NoError(t, err)
	assert.Equal(t, 2, realised.Tries)
	assert.Equal(t, 2, realised.Killed)
	promises, err := r.store.Promises(t.Context(), task("train"), 100)
	require.NoError(t, err)
	assert.Len(t, promises, 2)
	granted, err := r.store.GrantedTries(t.Context(), task("train"), time.Now().Add(-time.Hour), 100)
	require.NoError(t, err)
	require.Len(t, granted, 14)
	for _, g := range granted {
		assert.Equal(t, g.RunID != "at the static grant" && g.RunID != "only the cpu", g.Planned, g.RunID)
	}
}
