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
		// NeverAbove bounds only the first try by the request.
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
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			require.NoError(t, r.SetPolicy(t.Context(), task("load"), c.policy))
			question := ask("load", fmt.Sprint("r-", i))
			question.Requested, question.MaxMemory = sizing.Resources{Memory: c.requested}, c.maxMemory
			answer := r.predict(question)
			got := []sizing.Bytes{answer.Memory.Limit}
			for number := 1; ; number++ {
				lift := r.lift(nthTry(question, number), got[len(got)-1])
				if !lift.Retry {
					break
				}
				got = append(got, lift.Memory.Limit)
			}
			assert.Equal(t, got, answer.Ladder)
			for number := range got { // the kills must not affect the next case
				require.NoError(t, r.Void(t.Context(), try("load", question.Try.RunID, number+1)))
			}
		})
	}
}
