package fitting_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// asking is a question at a static request, bounded only far above it.
func asking(f sizing.Features, requested float64) fitting.Question {
	q := question(f)
	q.Requested.Memory, q.Cap = bytes(requested), bytes(4*requested)
	return q
}

func (k *task) successAt(f sizing.Features, gibs, requested float64) {
	k.told(f, sizing.HistoryRow{
		Outcome: sizing.Success, MemoryMax: bytes(gibs), Duration: time.Hour, Try: 1,
		Requested: sizing.Resources{Memory: bytes(requested)},
	})
}

func TestAYoungTaskStaysAtARequestThatHolds(t *testing.T) {
	k := newTask(t)
	for n := 1; n <= 31; n++ {
		k.successAt(nil, 3+0.02*float64(n%3), 4)
		s := k.model.Size(asking(nil, 4))
		require.LessOrEqual(t, s.Limit, 4*gib, "after %d", n)
		require.GreaterOrEqual(t, s.Limit, bytes(3), "after %d", n)
		require.NotContains(t, s.Reason, "above the", "after %d", n)
		if n == 1 {
			assert.Contains(t, s.Reason, "the static request, which has held so far")
		}
	}
}

func TestAYoungTaskLeavesItsRequestForAReason(t *testing.T) {
	t.Run("a kill at it", func(t *testing.T) {
		k := newTask(t)
		k.successAt(nil, 3, 4)
		k.told(nil, killed(4))
		assert.Greater(t, k.model.Size(asking(nil, 4)).Limit, 4*gib)
	})
	t.Run("a peak above it, where limits are not enforced", func(t *testing.T) {
		k := newTask(t)
		k.successAt(nil, 5, 4)
		assert.Greater(t, k.model.Size(asking(nil, 4)).Limit, 5*gib)
	})
	t.Run("a prediction near it", func(t *testing.T) {
		k := newTask(t)
		for n := range 8 {
			k.successAt(sizing.Features{"rows": sizing.NumberValue(100 * float64(n+1))}, 0.3*float64(n+1), 3)
		}
		s := k.model.Size(asking(sizing.Features{"rows": sizing.NumberValue(1200)}, 3))
		assert.Greater(t, s.Limit, bytes(3.3), s.Reason)
	})
	t.Run("requests of the DAG that do not hold", func(t *testing.T) {
		other := newTask(t)
		for range 20 {
			other.successAt(nil, 5, 4)
		}
		pool := other.model.Pool()
		k := newTask(t)
		k.successAt(nil, 3, 4)
		own := k.model.Pool()
		pool.Add(&own)
		k.model.SetPool(&pool)
		assert.Greater(t, k.model.Size(asking(nil, 4)).Limit, 4*gib)
	})
}

func TestIdenticalPeaksGetHeadroomAndATruePromise(t *testing.T) {
	for claim, peak := range map[string]sizing.Bytes{"512Mi": 512 << 20, "512 MB": 512e6, "530 MB": 530e6, "an odd number": 536870913} {
		for _, n := range []int{40, 57, 200} {
			k := newTask(t)
			for i := range n {
				k.told(nil, sizing.HistoryRow{Outcome: sizing.Success, MemoryMax: peak, Duration: time.Hour, Try: 1})
				if i%25 == 24 {
					k.train()
				}
			}
			k.train()
			s := k.model.Size(question(nil))
			name := fmt.Sprintf("%s, %d runs: %s", claim, n, s.Reason)
			assert.GreaterOrEqual(t, float64(s.Limit), float64(peak)*(1+fitting.Headroom), name)
			assert.Less(t, float64(s.Limit), float64(peak)*(1+fitting.Headroom)+2*float64(sizing.MiB), name)
			assert.Less(t, *s.Promised, 0.02, name)
		}
	}
}

func TestTheNewestIdenticalRunsAreNeverUndercut(t *testing.T) {
	k, rng := known(t, growing, 3, 100)
	f := sizing.Features{"rows": sizing.NumberValue(2000)}
	for _, gibs := range []float64{0.3, 2.5, 0.3} {
		k.success(f, gibs)
	}
	assert.GreaterOrEqual(t, k.model.Size(question(f)).Limit, bytes(2.5))
	k.train()
	assert.GreaterOrEqual(t, k.model.Size(question(f)).Limit, bytes(2.5), "after training")
	for range 3 {
		k.success(f, 0.3)
	}
	assert.Less(t, k.model.Size(question(f)).Limit, bytes(2.5), "what has changed is forgotten")
	_ = rng
}

func TestPromisesAreWithinWhatAHistoryCanSupport(t *testing.T) {
	for _, k := range asked(t) {
		rng := rand.New(rand.NewPCG(7, uint64(k.runs)))
		for range 300 {
			q := anyQuestion(rng)
			if s := k.model.Size(q); s.Promised != nil {
				require.GreaterOrEqual(t, *s.Promised, 1e-4, "%+v", q)
				require.LessOrEqual(t, *s.Promised, 1-1e-4, "%+v", q)
			}
		}
	}
}

// Sixty runs succeed at 2 GiB, then thirty are killed at 8 GiB and given up. The next promise
// knows that a third of all tries needed more than 8 GiB.
func TestKillsWithoutASuccessCountInThePromise(t *testing.T) {
	k := newTask(t)
	for range 60 {
		k.success(nil, 2)
	}
	before := *k.model.Size(question(nil)).Promised
	for range 30 {
		k.told(nil, killed(8))
	}
	q := question(nil)
	after := *k.model.Size(q).Promised
	q.Floor = 16 * gib
	high := *k.model.Size(q).Promised
	assert.Less(t, before, 0.02)
	assert.Greater(t, after, 0.05)
	assert.Greater(t, high, 0.03, "an amount above the kills may still be too little")
	assert.LessOrEqual(t, high, after)
	for range 300 {
		k.success(nil, 2)
	}
	assert.Less(t, *k.model.Size(question(nil)).Promised, 0.03, "a bad day fades")
}

func TestAResolvedKillDoesNotCount(t *testing.T) {
	k := newTask(t)
	for range 60 {
		k.success(nil, 2)
	}
	for n := range 10 {
		run := fmt.Sprint("lifted-", n)
		kill := killed(2.1)
		kill.RunID = run
		k.told(nil, kill)
		k.told(nil, sizing.HistoryRow{RunID: run, Outcome: sizing.Success, MemoryMax: bytes(3), Duration: time.Hour, Try: 2})
	}
	q := question(nil)
	q.Floor = 16 * gib
	assert.Less(t, *k.model.Size(q).Promised, 0.01)
}

func TestPromiseAfterAKillFollowsTheLadder(t *testing.T) {
	k, _ := known(t, growing, 3, 200)
	q := question(sizing.Features{"rows": sizing.NumberValue(2000)})
	q.Above = 8 * gib
	low, high := 1.0, 0.0
	for _, limit := range []float64{8, 9, 12, 16, 32} {
		risk := *k.model.Risk(q, bytes(limit))
		assert.LessOrEqual(t, risk, low, "it falls with the amount")
		low, high = risk, math.Max(high, risk)
	}
	assert.InDelta(t, 1, high, 1e-3, "as much as was killed is certain to be killed")
	assert.Greater(t, low, 0.01, "the margins were wrong already: a power law is believed too")
}

// The first run of a mapped task at a request that is too small: nearly all is killed.
func TestATaskOfManyKillsAndFewSuccessesTrains(t *testing.T) {
	for successes := 1; successes <= 12; successes++ {
		for _, kills := range []int{28, 39, 120} {
			k := newTask(t)
			for range successes {
				k.success(nil, 1)
			}
			for range kills {
				k.told(nil, killed(1.2))
			}
			k.fit()
			s := k.model.Size(question(nil))
			assert.Greater(t, s.Limit, bytes(1.2), "%d successes, %d kills", successes, kills)
		}
	}
}

// A kill stays known when a training lifts the models a little above it.
func TestAKnownKillIsRaisedAboveWhateverTheModelsSay(t *testing.T) {
	k, _ := known(t, growing, 3, 60)
	f := sizing.Features{"rows": sizing.NumberValue(5000)}
	granted := k.model.Size(question(f)).Limit
	k.told(f, sizing.HistoryRow{Outcome: sizing.OOMKilled, Duration: time.Minute, Allocated: sizing.Resources{Memory: granted}})
	raised := k.model.Size(question(f)).Limit
	require.Greater(t, float64(raised), 1.2*float64(granted))
	k.fit()
	assert.InEpsilon(t, float64(raised), float64(k.model.Size(question(f)).Limit), 0.2, "after training")
	assert.Greater(t, float64(k.model.Size(question(f)).Limit), 1.2*float64(granted))
}
