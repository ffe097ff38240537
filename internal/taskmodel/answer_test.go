package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// questionAt returns a question with a static request in GiB, and a cap of four times the request.
func questionAt(f sizing.Features, requested float64) taskmodel.Question {
	q := question(f)
	q.Requested.Memory, q.Cap = bytes(requested), bytes(4*requested)
	return q
}

// reportSuccessAt reports a success with a peak and a static request in GiB.
func (k *task) reportSuccessAt(f sizing.Features, gibs, requested float64) {
	k.report(f, sizing.HistoryRow{
		Outcome: sizing.Success, MemoryMax: bytes(gibs), Duration: time.Hour, Try: 1,
		Requested: sizing.Resources{Memory: bytes(requested)},
	})
}

func TestColdStartGrantsAtMostASufficientRequest(t *testing.T) {
	k := newTask(t)
	for n := 1; n <= 31; n++ {
		k.reportSuccessAt(nil, 3+0.02*float64(n%3), 4)
		s := k.model.Size(questionAt(nil, 4))
		require.LessOrEqual(t, s.Limit, 4*gib, "after %d runs", n)
		require.GreaterOrEqual(t, s.Limit, bytes(3), "after %d runs", n)
		require.NotContains(t, s.Reason, "above the", "after %d runs", n)
		if n == 1 {
			assert.Contains(t, s.Reason, "the static request, which no run has exceeded so far")
		}
	}
}

func TestColdStartExceedsAnInsufficientRequest(t *testing.T) {
	t.Run("a kill at the request", func(t *testing.T) {
		k := newTask(t)
		k.reportSuccessAt(nil, 3, 4)
		k.report(nil, killed(4))
		assert.Greater(t, k.model.Size(questionAt(nil, 4)).Limit, 4*gib)
	})
	t.Run("a peak above the request", func(t *testing.T) {
		k := newTask(t)
		k.reportSuccessAt(nil, 5, 4)
		assert.Greater(t, k.model.Size(questionAt(nil, 4)).Limit, 5*gib)
	})
	t.Run("a prediction near the request", func(t *testing.T) {
		k := newTask(t)
		for n := range 8 {
			k.reportSuccessAt(sizing.Features{"rows": sizing.NumberValue(100 * float64(n+1))}, 0.3*float64(n+1), 3)
		}
		s := k.model.Size(questionAt(sizing.Features{"rows": sizing.NumberValue(1200)}, 3))
		assert.Greater(t, s.Limit, bytes(3.3), s.Reason)
	})
	t.Run("insufficient requests of the DAG's other tasks", func(t *testing.T) {
		other := newTask(t)
		for range 20 {
			other.reportSuccessAt(nil, 5, 4)
		}
		pool := other.model.Pool()
		k := newTask(t)
		k.reportSuccessAt(nil, 3, 4)
		own := k.model.Pool()
		pool.Add(&own)
		k.model.SetPool(&pool, nil)
		assert.Greater(t, k.model.Size(questionAt(nil, 4)).Limit, 4*gib)
	})
}

func TestIdenticalPeaksGetHeadroomAndALowRisk(t *testing.T) {
	for size, peak := range map[string]sizing.Bytes{"512Mi": 512 << 20, "512 MB": 512e6, "530 MB": 530e6, "an odd number": 536870913} {
		for _, n := range []int{40, 57, 200} {
			k := newTask(t)
			for i := range n {
				k.report(nil, sizing.HistoryRow{Outcome: sizing.Success, MemoryMax: peak, Duration: time.Hour, Try: 1})
				if i%25 == 24 {
					k.train()
				}
			}
			k.train()
			s := k.model.Size(question(nil))
			name := fmt.Sprintf("%s, %d runs: %s", size, n, s.Reason)
			assert.GreaterOrEqual(t, float64(s.Limit), float64(peak)*(1+taskmodel.Headroom), name)
			assert.Less(t, float64(s.Limit), float64(peak)*(1+taskmodel.Headroom)+2*float64(sizing.MiB), name)
			assert.Less(t, *s.Promised, 0.02, name)
		}
	}
}

func TestGrantsCoverTheNewestIdenticalRuns(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 100)
	f := sizing.Features{"rows": sizing.NumberValue(2000)}
	for _, gibs := range []float64{0.3, 2.5, 0.3} {
		k.reportSuccess(f, gibs)
	}
	assert.GreaterOrEqual(t, k.model.Size(question(f)).Limit, bytes(2.5))
	k.train()
	assert.GreaterOrEqual(t, k.model.Size(question(f)).Limit, bytes(2.5), "the grant must cover the run after a training, too")
	for range 3 {
		k.reportSuccess(f, 0.3)
	}
	assert.Less(t, k.model.Size(question(f)).Limit, bytes(2.5), "three newer peaks must replace the old ones")
}

func TestPromisedRisksStayWithinTheirBounds(t *testing.T) {
	for _, k := range sampleTasks(t) {
		rng := rand.New(rand.NewPCG(7, uint64(k.runs)))
		for range 300 {
			q := randomQuestion(rng)
			if s := k.model.Size(q); s.Promised != nil {
				require.GreaterOrEqual(t, *s.Promised, 1e-4, "%+v", q)
				require.LessOrEqual(t, *s.Promised, 1-1e-4, "%+v", q)
			}
		}
	}
}

// Sixty runs succeed at 2 GiB, then thirty runs are killed at 8 GiB and not retried. A third of all
// tries needed more than 8 GiB, so the next promise must be higher.
func TestUnresolvedKillsRaiseThePromisedRisk(t *testing.T) {
	k := newTask(t)
	for range 60 {
		k.reportSuccess(nil, 2)
	}
	before := *k.model.Size(question(nil)).Promised
	for range 30 {
		k.report(nil, killed(8))
	}
	q := question(nil)
	after := *k.model.Size(q).Promised
	q.Floor = 16 * gib
	high := *k.model.Size(q).Promised
	assert.Less(t, before, 0.02)
	assert.Greater(t, after, 0.05)
	assert.Greater(t, high, 0.03, "even an amount above the killed allocations may be too small")
	assert.LessOrEqual(t, high, after)
	for range 300 {
		k.reportSuccess(nil, 2)
	}
	assert.Less(t, *k.model.Size(question(nil)).Promised, 0.03, "kills lose weight with each later success")
}

func TestResolvedKillsDoNotRaiseThePromisedRisk(t *testing.T) {
	k := newTask(t)
	for range 60 {
		k.reportSuccess(nil, 2)
	}
	for n := range 10 {
		run := fmt.Sprint("lifted-", n)
		kill := killed(2.1)
		kill.RunID = run
		k.report(nil, kill)
		k.report(nil, sizing.HistoryRow{RunID: run, Outcome: sizing.Success, MemoryMax: bytes(3), Duration: time.Hour, Try: 2})
	}
	q := question(nil)
	q.Floor = 16 * gib
	assert.Less(t, *k.model.Size(q).Promised, 0.01)
}

// The risk after a kill is a weighted mean of two probabilities: from the residuals and from a power law
// (internal/ml/experts/ladder.go).
func TestRiskAfterAKillFallsAsTheLimitRises(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 200)
	q := question(sizing.Features{"rows": sizing.NumberValue(2000)})
	q.Above = 8 * gib
	last, highest := 1.0, 0.0
	for _, limit := range []float64{8, 9, 12, 16, 32} {
		risk := *k.model.Risk(q, bytes(limit))
		assert.LessOrEqual(t, risk, last, "the risk must not rise with the amount")
		last, highest = risk, math.Max(highest, risk)
	}
	assert.InDelta(t, 1, highest, 1e-3, "a retry with the killed amount is killed again")
	assert.Greater(t, last, 0.004, "after a kill the margins are not reliable, so the power law counts too")
}

// Most tries of a new task are killed with 1.2 GiB. The few successes have peaks of 1 GiB.
func TestFitLearnsFromManyKillsAndFewSuccesses(t *testing.T) {
	for successes := 1; successes <= 12; successes++ {
		for _, kills := range []int{28, 39, 120} {
			k := newTask(t)
			for range successes {
				k.reportSuccess(nil, 1)
			}
			for range kills {
				k.report(nil, killed(1.2))
			}
			k.fit()
			s := k.model.Size(question(nil))
			assert.Greater(t, s.Limit, bytes(1.2), "%d successes, %d kills", successes, kills)
		}
	}
}

// A known kill still raises the grant after a training that moves the models' amount slightly above the killed amount.
func TestTrainingKeepsTheGrantAboveAKnownKill(t *testing.T) {
	k, _ := trainedTask(t, growing, 3, 60)
	f := sizing.Features{"rows": sizing.NumberValue(5000)}
	granted := k.model.Size(question(f)).Limit
	k.report(f, sizing.HistoryRow{Outcome: sizing.OOMKilled, Duration: time.Minute, Allocated: sizing.Resources{Memory: granted}})
	raised := k.model.Size(question(f)).Limit
	require.Greater(t, float64(raised), 1.2*float64(granted))
	k.fit()
	assert.InEpsilon(t, float64(raised), float64(k.model.Size(question(f)).Limit), 0.2, "the grant must stay nearly the same after the training")
	assert.Greater(t, float64(k.model.Size(question(f)).Limit), 1.2*float64(granted))
}

// The amount is a mean over the experts. The minimum for identical runs raises only the amounts of the experts that are below
// it, so the mean may be above the minimum. The reason names the minimum if the mean is at most 2 % above it, and would be
// below it without the minimum.
func TestReasonNamesTheMinimumOfIdenticalRuns(t *testing.T) {
	named := 0
	for seed := range uint64(6) {
		k, rng := newTask(t), newRand(seed)
		newest := map[string][]float64{}
		for range 160 {
			f, gibs := kinds(rng)
			kind := f["kind"].Text
			if peaks := newest[kind]; len(peaks) >= 3 && len(k.history.Rows) > 40 {
				least := 1.02 * slices.Max(peaks[len(peaks)-3:])
				q := question(f)
				terms := k.model.Explain(q).Terms
				i := slices.IndexFunc(terms, func(term taskmodel.Term) bool { return term.Kind == taskmodel.TermHeadroom })
				if i > 0 && terms[i-1].After < bytes(least) && terms[i].After > bytes(least)+sizing.MiB && float64(terms[i].After) < 1.02*float64(bytes(least)) {
					named++
					require.Contains(t, k.model.Size(q).Reason, "newest identical runs plus 2 %", "seed %d: %+v, least %v", seed, terms, least)
				}
			}
			newest[kind] = append(newest[kind], gibs)
			k.reportSuccess(f, gibs)
			k.train()
		}
	}
	require.Positive(t, named)
}
