package service_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTheLadderEqualsTheLifts(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 40)
	for i, c := range []struct {
		policy    sizing.Policy
		requested sizing.Bytes
		maxMemory sizing.Bytes
	}{
		{},
		{policy: sizing.Policy{MaxLifts: ptr(4)}},
		{policy: sizing.Policy{MaxLifts: ptr(5)}, requested: 64 * gib},
		{policy: sizing.Policy{MaxLifts: ptr(8)}, requested: 64 * gib},
		// NeverAbove bounds grants by the request only before the first OOM kill of the run.
		{policy: sizing.Policy{NeverAbove: true}, requested: gib / 4},
		{policy: sizing.Policy{NeverAbove: true, MaxLifts: ptr(1)}, requested: gib / 4},
		{policy: sizing.Policy{NeverAbove: true, MaxLifts: ptr(0)}, requested: gib / 4},
		{policy: sizing.Policy{NeverAbove: true, MaxLifts: ptr(5)}, requested: gib / 4, maxMemory: 3 * gib},
		{policy: sizing.Policy{NeverAbove: true, Cap: 2 * gib}, requested: gib / 8},
		{policy: sizing.Policy{NeverAbove: true, Floor: gib / 2}, requested: gib / 4},
		{policy: sizing.Policy{NeverAbove: true}, requested: gib / 4, maxMemory: gib / 4},
		{policy: sizing.Policy{NeverAbove: true}, requested: gib / 4, maxMemory: gib / 5},
		{policy: sizing.Policy{NeverAbove: true, Grid: sizing.OnBins, Edges: sizing.Bins{gib, 2 * gib, 4 * gib}}, requested: gib / 4},
		{policy: sizing.Policy{NeverAbove: true}},
		{policy: sizing.Policy{NeverAbove: true}, requested: 64 * gib},
		// The model's ladder reaches the derived cap with fewer lifts than permitted, and a kill at this cap raises it.
		{policy: sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{gib, 4 * gib, 1000 * gib}}, requested: 4 * gib},
		{policy: sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{gib, 4 * gib, 1000 * gib}, MaxLifts: ptr(2)}, requested: 4 * gib},
		{policy: sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{gib, 4 * gib, 1000 * gib}, Cap: 16 * gib}, requested: 4 * gib},
		{policy: sizing.Policy{Floor: 16 * gib}, requested: 4 * gib},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
			question := ask("load", fmt.Sprint("r-", i))
			question.Requested, question.MaxMemory = sizing.Resources{Memory: c.requested}, c.maxMemory
			answer := r.predict(question)
			got := r.killAll(question, answer.Memory.Limit)
			assert.Equal(t, got, answer.Ladder)
			for number := range got { // the kills must not affect the next case
				require.NoError(t, r.Void(t.Context(), try("load", question.Try.RunID, number+1)))
			}
		})
	}
}

func (r *replica) killAll(question sizing.Ask, first sizing.Bytes) (tries []sizing.Bytes) {
	r.t.Helper()
	tries = []sizing.Bytes{first}
	for number := 1; ; number++ {
		lift := r.lift(nthTry(question, number), tries[len(tries)-1])
		if !lift.Retry {
			return tries
		}
		tries = append(tries, lift.Memory.Limit)
	}
}

// A task with an owner is sized by the similar tasks of trainCohort. A task without an owner is in the namespace "alone",
// which has no cohort.
func TestTheLadderOfATaskWithoutHistoryEqualsTheLifts(t *testing.T) {
	r := newReplica(t)
	r.trainCohort(0, 200)
	for i, c := range []struct {
		policy    sizing.Policy
		request   sizing.Bytes
		maxMemory sizing.Bytes
		owner     string
		succeeded sizing.Bytes // allocation of an earlier success without a measured peak; zero: none
		source    sizing.Source
	}{
		{request: 64 * gib, owner: "small", source: sizing.FromCohort},
		{request: 64 * gib, owner: "large", source: sizing.FromCohort},
		{request: 64 * gib, owner: "small", policy: sizing.Policy{NeverAbove: true}, source: sizing.FromCohort},
		{request: 64 * gib, owner: "large", policy: sizing.Policy{NeverAbove: true, MaxLifts: ptr(5)}, source: sizing.FromCohort},
		{request: 64 * gib, owner: "small", policy: sizing.Policy{Floor: 2 * gib, Cap: 6 * gib}, source: sizing.FromCohort},
		{request: 64 * gib, owner: "small", policy: sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{gib, 6 * gib, 80 * gib}}, source: sizing.FromCohort},
		{request: 64 * gib, owner: "large", policy: sizing.Policy{MaxLifts: ptr(0)}, source: sizing.FromCohort},
		{request: 16 * gib, source: sizing.FromRequested},
		{request: 16 * gib, policy: sizing.Policy{NeverAbove: true}, source: sizing.FromRequested},
		{request: 16 * gib, maxMemory: 16 * gib, source: sizing.FromRequested},
		{request: 16 * gib, policy: sizing.Policy{MaxLifts: ptr(1), Cap: 100 * gib}, source: sizing.FromRequested},
		{request: 16 * gib, succeeded: 8 * gib, source: sizing.FromRequested},
		{succeeded: 8 * gib, source: sizing.FromProfile},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			question := askOwned(fmt.Sprint("new", i), "run", c.owner)
			if c.owner == "" {
				question.Try.Namespace, question.Metadata = "alone", nil
			}
			question.Requested, question.MaxMemory = sizing.Resources{Memory: c.request}, c.maxMemory
			require.NoError(t, r.SetPolicy(t.Context(), question.Try.TaskKey, c.policy))
			if c.succeeded > 0 {
				earlier := question.Try
				earlier.RunID = "earlier"
				r.report(sizing.Observation{Try: earlier, Outcome: sizing.Success, Allocated: sizing.Resources{Memory: c.succeeded}})
			}
			answer := r.predict(question)
			require.Equal(t, c.source, answer.Source, answer.Reason)
			assert.Equal(t, r.killAll(question, answer.Memory.Limit), answer.Ladder)
		})
	}
}
