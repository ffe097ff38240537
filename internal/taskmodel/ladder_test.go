package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// twoModes draws runs that need 1 GiB and, in one of twenty cases, 10 GiB. The feature does not show which.
func twoModes(rng *rand.Rand) (sizing.Features, float64) {
	peak := noise(rng, 0.03)
	if rng.IntN(20) == 0 {
		peak *= 10
	}
	return sizing.Features{"rows": sizing.NumberValue(1000 * rng.Float64())}, peak
}

// A run that was killed with little more than 1 GiB needs 10 GiB, so an amount between the two modes is wasted.
func TestLiftReachesTheSecondMode(t *testing.T) {
	lifts, reached := 0, 0
	for seed := range uint64(16) {
		k, rng := newTask(t), newRand(100+seed)
		for known := 0; len(k.history.Rows) < 300; k.train() {
			f, gibs := twoModes(rng)
			first := k.model.Size(question(f)).Limit
			if gibs > 5 {
				known++
			}
			if first < bytes(gibs) && known > 5 && len(k.history.Rows) >= 100 {
				lift := question(f)
				lift.Above = first
				lifts++
				if limit := k.model.Size(lift).Limit; limit >= bytes(gibs) && limit < 2*bytes(gibs) {
					reached++
				}
			}
			k.run(f, gibs)
		}
	}
	assert.GreaterOrEqual(t, lifts, 20)
	assert.GreaterOrEqual(t, float64(reached), 0.75*float64(lifts), "%d of %d lifts are enough for the peak and below twice the peak", reached, lifts)
}

// A run needs far more than all runs before it. The second lift goes to the static request, which no run has exceeded, and only
// the last one to the cap.
func TestTheLastLiftButOneGoesToTheRequest(t *testing.T) {
	k, rng := newTask(t), newRand(500)
	for range 60 {
		k.run(constant(rng))
		k.train()
	}
	f := sizing.Features{"region": sizing.TextValue("emea")}
	q := question(f)
	q.Cap = 128 * gib
	ladder := k.model.Size(q).Ladder
	require.Len(t, ladder, 4)
	assert.Less(t, ladder[1], 16*gib)
	assert.Equal(t, []sizing.Bytes{32 * gib, 128 * gib}, ladder[2:])

	q.Above, q.Lifts = ladder[1], 2
	k.report(f, killed(float64(q.Above)/float64(gib)))
	assert.Equal(t, []sizing.Bytes{32 * gib, 128 * gib}, k.model.Size(q).Ladder, "after the kill of the first retry")

	q.Above = 32 * gib
	k.report(f, killed(32))
	ladder = k.model.Size(q).Ladder
	require.Len(t, ladder, 2)
	assert.Greater(t, ladder[0], 32*gib)
	for range 2 { // the second report confirms the first one
		k.reportSuccess(f, 40)
	}
	q.Above, q.Lifts = 0, 3
	assert.NotContains(t, k.model.Size(q).Ladder, 32*gib, "a run has exceeded the request")
}
