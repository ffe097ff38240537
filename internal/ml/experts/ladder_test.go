package experts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cheapestLadder returns the least expected cost of all ladders over the amounts above
// amount i, given that the peak is above amount i. Each rung costs its whole amount. A ladder has at
// most `lifts` rungs, and the last rung is the ceiling. Each rung except rung number `lifts` is at most the larger of
// aboveKnownPeaks and twice the amount before, or it is the next amount of the grid.
func cheapestLadder(g *grid, i, lifts int, aboveKnownPeaks float64) float64 {
	top := len(g.amount) - 1
	if lifts == 1 {
		return g.amount[top] // the ceiling as the only rung
	}
	best := math.Inf(1)
	for j := i + 1; j <= top; j++ {
		if j > i+1 && g.amount[j] > max(aboveKnownPeaks, 2*g.amount[i]) {
			break
		}
		cost := g.amount[j]
		if j < top {
			cost += exceedance(g, i, j) * cheapestLadder(g, j, lifts-1, aboveKnownPeaks)
		}
		best = min(best, cost)
	}
	return best
}

// exceedance returns P(peak > amount j | peak > amount i): the weighted mean of this probability by the residuals and by a
// power law with exponent three.
func exceedance(g *grid, i, j int) float64 {
	ratio := g.amount[i] / g.amount[j]
	law := ratio * ratio * ratio
	if g.risk[i] == 0 {
		return 1 - g.lawWeight[i] + g.lawWeight[i]*law
	}
	return (1-g.lawWeight[i])*min(1, g.risk[j]/g.risk[i]) + g.lawWeight[i]*law
}

// costOf returns the expected cost of the rungs of a ladder after a kill, for peaks up to the last rung, which is the
// ceiling. `from` is the killed amount. s must be the Scratch with which Ladder computed the rungs just before, because its
// grid holds the weights of the power law.
func costOf(x *Experts, p *Point, from float64, rungs []float64, s *Scratch) float64 {
	cost, reached, at := 0.0, 1.0, from
	aboveCeiling := x.ExceedanceProb(p, rungs[len(rungs)-1], s)
	for _, rung := range rungs {
		cost += reached * rung
		before, after := max(0, x.ExceedanceProb(p, at, s)-aboveCeiling), max(0, x.ExceedanceProb(p, rung, s)-aboveCeiling)
		model := 1.0
		if before > 0 {
			model = min(1, after/before)
		}
		weight, ratio := s.grid.lawWeight[slices.Index(s.grid.amount[:], at)], at/rung
		reached *= (1-weight)*model + weight*ratio*ratio*ratio
		at = rung
	}
	return cost
}

func TestTheLadderIsTheCheapestOne(t *testing.T) {
	for _, n := range []int{3, 40, 250} {
		x, s, _ := trained(smallConfig(), uint64(n), n, normal(0.4))
		var scratch Scratch
		for range 10 {
			p, peak := s.next()
			for lifts := 1; lifts <= 4; lifts++ {
				from, ceiling := peak*0.8, 12*gb
				rungs := x.Ladder(&p, from, ceiling, Request{}, lifts, &scratch, nil)
				g := scratch.grid
				require.InEpsilon(t, cheapestLadder(&g, 0, lifts, 1.3*x.MaxPeak), costOf(x, &p, from, rungs, &scratch), 1e-9, "%d rows, %d lifts: %v", n, lifts, rungs)
			}
		}
	}
}

// Of ten known peaks above the killed amount, some are above the double of it; the power law expects an eighth of them.
func TestKnownPeaksChangeTheWeightOfThePowerLaw(t *testing.T) {
	for share, weight := range map[float64]float64{0: 0.3, 0.125: 0.3, 0.2: 0.2553, 0.5: 0.0068, 1: 4e-10} {
		assert.InEpsilon(t, weight, lawWeight(priorLawWeight, 100, 0.1, 0.1*share, 0.5), 0.01, "share above the double: %v", share)
	}
	assert.InEpsilon(t, 0.3*0.125/(0.3*0.125+0.7), lawWeight(priorLawWeight, 1, 1, 1, 0.5), 1e-12, "one peak, with likelihoods of an eighth and one")
	assert.Equal(t, priorLawWeight, lawWeight(priorLawWeight, 0, 0.1, 0.1, 0.5), "without known peaks, the weight must be the prior one")
	assert.Equal(t, priorLawWeight, lawWeight(priorLawWeight, 100, 0, 0, 0.5), "without known peaks above the killed amount, the weight must be the prior one")
}

func TestMoreLiftsNeverCostMore(t *testing.T) {
	x, s, _ := trained(smallConfig(), 4, 200, normal(0.4))
	var scratch Scratch
	improved := 0
	for range 30 {
		p, peak := s.next()
		last := math.Inf(1)
		for lifts := 1; lifts <= 4; lifts++ {
			cost := costOf(x, &p, peak/2, x.Ladder(&p, peak/2, 40*gb, Request{}, lifts, &scratch, nil), &scratch)
			require.LessOrEqual(t, cost, last*(1+1e-9))
			if lifts > 1 && cost < last*0.9 {
				improved++
			}
			last = cost
		}
	}
	assert.GreaterOrEqual(t, improved, 30, "number of additional lifts, of 90, that save more than a tenth")
}

func requireLadder(t *testing.T, rungs []float64, from, ceiling float64, lifts int) {
	t.Helper()
	if from >= ceiling || lifts < 1 {
		require.Empty(t, rungs)
		return
	}
	require.NotEmpty(t, rungs)
	require.LessOrEqual(t, len(rungs), lifts)
	last := from
	for i, rung := range rungs {
		require.Greater(t, rung, last, "rung %d of %v from %v", i, rungs, from)
		last = rung
	}
	require.InEpsilon(t, ceiling, last, 1e-12, "the last rung is the ceiling")
	require.GreaterOrEqual(t, rungs[0], min(ceiling, from*1.3)*(1-1e-12), "the first rung is at least MinStep times the killed amount, or the ceiling")
}

func TestLaddersEndAtTheCeiling(t *testing.T) {
	x, s, _ := trained(smallConfig(), 6, 80, normal(0.4))
	var scratch Scratch
	p, _ := s.next()
	for _, from := range []float64{1, gb / 100, gb, 3 * gb, 4.99 * gb, 5 * gb, 6 * gb} {
		for lifts := range 7 {
			requireLadder(t, x.Ladder(&p, from, 5*gb, Request{}, lifts, &scratch, nil), from, 5*gb, lifts)
		}
	}
	rungs := x.Ladder(&p, gb, 5*gb, Request{}, 3, &scratch, []float64{7})
	assert.Equal(t, 7.0, rungs[0], "rungs are appended")
}

// The peak is known within 0.1 %, and the killed amount is 1 % below it. In units of the killed
// amount, the ceiling is 2.5, and a rung r costs r + 0.3·2.5/r³. The minimum is at r = 1.22.
// MinStep requires more.
func TestALiftIsAtLeastMinStep(t *testing.T) {
	c := smallConfig()
	x, s, _ := trained(c, 7, 100, normal(0.001))
	var scratch Scratch
	p, peak := s.next()
	from := peak * 0.99
	rungs := x.Ladder(&p, from, 2.5*from, Request{}, 2, &scratch, nil)
	require.Len(t, rungs, 2)
	assert.InEpsilon(t, from*c.MinStep, rungs[0], 1e-9)
}

// One run in twenty needs about 20 times its prediction, but all these predictions are small. After a kill of a run with a
// large prediction, the residuals imply a peak far above all known peaks.
func TestALiftStaysNearTheKnownPeaks(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	x, pool, scratch := New(Default(target)), new(Pool), new(Scratch)
	for range 400 {
		factor := math.Exp(0.05 * rng.NormFloat64())
		if rng.IntN(20) == 0 {
			factor *= 20
		}
		p := pointAt(gb, 1, 60)
		x.Learn(&p, gb*factor, 60, 0, pool, scratch)
	}
	p := pointAt(8*gb, 1, 60)
	rungs := x.Ladder(&p, 10*gb, 400*gb, Request{}, 3, scratch, nil)
	require.Len(t, rungs, 3)
	bound := 1.3 * x.MaxPeak
	require.Less(t, bound, 35*gb)
	assert.LessOrEqual(t, rungs[0], bound)
	assert.LessOrEqual(t, rungs[1], max(bound, 2*rungs[0]))
}

// While no run has exceeded a request far above the known peaks, it is the last lift but one, and the lifts before it are as
// without it. It is no rung below the smallest lift or above the ceiling.
func TestTheRequestIsTheLastLiftButOne(t *testing.T) {
	x, s, _ := trained(smallConfig(), 8, 200, normal(0.1))
	var scratch Scratch
	p, peak := s.next()
	from, ceiling := 2*x.MaxPeak, 4000*peak
	request := Request{Amount: 1000 * peak, LargestPeak: x.MaxPeak}
	for lifts := 2; lifts <= 4; lifts++ {
		rungs := x.Ladder(&p, from, ceiling, request, lifts, &scratch, nil)
		requireLadder(t, rungs, from, ceiling, lifts)
		assert.Equal(t, []float64{request.Amount, ceiling}, rungs[len(rungs)-2:], "%d lifts", lifts)
	}
	assert.Equal(t, []float64{ceiling}, x.Ladder(&p, from, ceiling, request, 1, &scratch, nil))
	for _, amount := range []float64{from, 1.01 * from, ceiling, 2 * ceiling} {
		without := x.Ladder(&p, from, ceiling, Request{}, 3, &scratch, nil)
		assert.Equal(t, without, x.Ladder(&p, from, ceiling, Request{amount, x.MaxPeak}, 3, &scratch, nil), "request %g", amount)
	}
	rungs := x.Ladder(&p, peak/2, ceiling, request, 2, &scratch, nil)
	assert.Less(t, rungs[0], 1.3*x.MaxPeak, "an amount near the known peaks is cheaper than the request")
}

func FuzzLadder(f *testing.F) {
	f.Add(uint64(3), uint16(40), 1e9, 9e9, 3)
	f.Add(uint64(1), uint16(1), 1.0, 1e15, 20)
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, from, ceiling float64, lifts int) {
		if !(from >= 1 && from < 1e16 && ceiling >= 1 && ceiling < 1e16) || lifts < 0 || lifts > 50 {
			return
		}
		x, s, _ := trained(smallConfig(), seed, 1+int(n%100), normal(0.5))
		var scratch Scratch
		p, _ := s.next()
		rungs := x.Ladder(&p, from, ceiling, Request{}, lifts, &scratch, nil)
		requireLadder(t, rungs, from, ceiling, lifts)
		require.True(t, slices.IsSorted(rungs))
	})
}
