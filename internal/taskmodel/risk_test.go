package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// lines draws runs with a peak of factor · (0.2 + 0.03 · n) GiB and a noise of 10 %.
func lines(rng *rand.Rand, factor float64) (sizing.Features, float64) {
	n := float64(1 + rng.IntN(100))
	return sizing.Features{"n": sizing.NumberValue(n)}, factor * (0.2 + 0.03*n) * noise(rng, 0.1)
}

// After a change all runs need more. Killed tries are retried, and no retry ends before the last prediction, so the guard
// raises the later grants. The sum of the promises must differ from the number of kills by at most 50 % of this number.
func TestOpenKillsRaiseTheRiskOfGuardedGrants(t *testing.T) {
	for _, factor := range []float64{2, 3} {
		promised, kills := 0.0, 0.0
		for seed := range uint64(6) {
			k, rng := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) { return lines(rng, 1) }, 200+seed, 120)
			var guard taskmodel.Guard
			for run := range uint64(12) {
				f, gibs := lines(rng, factor)
				q := question(f)
				q.GuardFactor, q.Open = guard.Factor(launchTime), guard.OpenKills(launchTime)
				s := k.model.Size(q)
				require.NotNil(t, s.Promised)
				if q.GuardFactor > 1 {
					require.Greater(t, *s.Promised, 0.005, "%s", s.Reason)
				}
				promised += *s.Promised
				guard.Grant(run, taskmodel.BeforeGuard(*s.Promised, s.Guard), launchTime)
				if bytes(gibs) > s.Limit {
					kills++
					r := killed(float64(s.Limit) / float64(gib))
					r.RunID = fmt.Sprint("long-", run)
					k.report(f, r)
					guard.Kill(run, 1)
					guard.Retry(run, 2)
				}
			}
		}
		require.Greater(t, kills, 20.0, "the change must lead to more than 20 kills")
		assert.InEpsilon(t, kills, promised, 0.5, "x%v: %v killed, %.1f promised", factor, kills, promised)
	}
}

// The probability in the reason and the promised risk are consistent: the risk does not rise with
// the amount, and a request within the risk target is granted.
func TestRequestWithinTheRiskTargetIsGranted(t *testing.T) {
	sufficed := 0
	for seed := range uint64(8) {
		k, rng := trainedTask(t, growing, 300+seed, 200)
		for range 40 {
			f, _ := growing(rng)
			q := question(f)
			q.Requested = sizing.Resources{}
			free := k.model.Size(q)
			for _, share := range []float64{0.7, 0.9, 0.97, 0.99, 0.999} {
				q.Requested.Memory = sizing.Bytes(share * float64(free.Limit)).RoundUp(sizing.MiB)
				s := k.model.Size(q)
				require.Equal(t, s.Promised, k.model.Risk(q, s.Limit), s.Reason)
				atRequest := *k.model.Risk(q, q.Requested.Memory)
				require.GreaterOrEqual(t, atRequest, *s.Promised, s.Reason)
				if s.Limit > q.Requested.Memory {
					require.Greater(t, atRequest, q.RiskTarget, s.Reason)
					require.Contains(t, s.Reason, fmt.Sprintf("which the peak exceeds with probability %.2g", atRequest))
				} else if s.Limit == q.Requested.Memory && s.Limit < free.Limit {
					sufficed++
					require.LessOrEqual(t, *s.Promised, q.RiskTarget, s.Reason)
					require.Contains(t, s.Reason, "the static request, which is within the risk target")
				}
			}
		}
	}
	assert.Positive(t, sufficed)
}

func TestRiskFallsGraduallyAboveTheAnswer(t *testing.T) {
	k, rng := trainedTask(t, growing, 310, 200)
	for range 20 {
		f, _ := growing(rng)
		q := question(f)
		s := k.model.Size(q)
		near := *k.model.Risk(q, s.Limit+3*sizing.MiB)
		assert.Greater(t, near, *s.Promised/2, s.Reason)
		assert.Less(t, *k.model.Risk(q, 16*s.Limit), *s.Promised/10, s.Reason)
	}
}

func TestKillsAtTheCapRaiseThePromisedRisk(t *testing.T) {
	k, rng := trainedTask(t, growing, 320, 60)
	f, _ := growing(rng)
	q := question(f)
	q.Cap = k.model.Size(q).Limit + 8*sizing.MiB
	last := *k.model.Size(q).Promised
	for n := 1; n <= 60; n++ {
		r := killed(float64(q.Cap) / float64(gib))
		r.RunID = fmt.Sprint("leak-", n)
		k.report(f, r)
		s := k.model.Size(q)
		require.Equal(t, q.Cap, s.Limit)
		require.InDelta(t, float64(n+1)/float64(n+2), *s.Promised, 0.01, "after %d: %s", n, s.Reason)
		require.Greater(t, *s.Promised, last)
		last = *s.Promised
	}
	k.reportSuccess(f, 0.9*float64(q.Cap)/float64(gib))
	assert.Less(t, *k.model.Size(q).Promised, 0.5, "a success below the cap must lower the promise")
}

// Peaks are 8 GiB per TB of input. Runs above 750 GB are killed at the cap of 6 GiB, as the models predict, and are not
// retried. This says nothing about smaller runs.
func TestExpectedKillsAtTheCapDoNotRaiseOtherPromises(t *testing.T) {
	k, rng := newTask(t), newRand(340)
	promised, kills := 0.0, 0.0
	for run := range 250 {
		size := 100 + 900*rng.Float64()
		f, gibs := sizing.Features{"gb": sizing.NumberValue(size)}, 0.008*size*noise(rng, 0.05)
		q := question(f)
		q.Cap = 6 * gib
		s := k.model.Size(q)
		if run > 50 && s.Limit < q.Cap {
			require.NotNil(t, s.Promised, s.Reason)
			promised += *s.Promised
			if bytes(gibs) > s.Limit {
				kills++
			}
		}
		if bytes(gibs) <= q.Cap {
			k.reportSuccess(f, gibs)
		} else {
			k.report(f, killedRun(fmt.Sprint("too-large-", run), 6))
		}
		k.train()
	}
	t.Logf("%v killed, %.1f promised", kills, promised)
	assert.LessOrEqual(t, math.Abs(kills-promised), 3*math.Sqrt(promised))
	q := question(sizing.Features{"gb": sizing.NumberValue(120)})
	q.Cap = 6 * gib
	assert.Less(t, *k.model.Size(q).Promised, 0.03)
}

func TestMemoDistinguishesOpenKills(t *testing.T) {
	k, rng := trainedTask(t, growing, 330, 60)
	f, _ := growing(rng)
	var memo taskmodel.Memo
	q := question(f)
	q.GuardFactor = 1.2
	for range 3 {
		for _, q.Open = range []taskmodel.OpenKills{{}, {Killed: 4, Runs: 6}, {Killed: 4, Runs: 9}} {
			require.Equal(t, *k.model.Size(q).Promised, *memo.Size(k.model, q).Promised)
		}
	}
	assert.False(t, math.IsNaN(taskmodel.OpenKills{}.Rate(0.01)))
	assert.Zero(t, (&taskmodel.Guard{}).OpenKills(time.Unix(0, 0)))
}
