package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// At two deviations and an allowance of one, every row adds one: the bound of 40 is
// passed by the 41st row after the change.
func TestAShiftIsFoundAndDatedToItsOnset(t *testing.T) {
	for claim, z := range map[string]float64{"up": 2, "down": -2} {
		var s Shift
		for range 100 {
			assert.Zero(t, s.learn(0, 0), claim)
		}
		for range int(shiftBound) {
			assert.Zero(t, s.learn(z, 0), claim)
		}
		assert.Equal(t, int(shiftBound)+1, s.learn(z, 0), claim)
		assert.Equal(t, Shift{Fell: z < 0}, s, "it starts anew: %s", claim)
	}
}

func TestNoiseAndSingleOutliersAreNoShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var s Shift
	for i := range 100_000 {
		z := rng.NormFloat64()
		if i%50 == 0 {
			z = 1e9
		}
		assert.Zero(t, s.learn(z, 0))
	}
}

// served tells experts rows whose models are right but for the error given.
func served(x *Experts, rng *rand.Rand, rows int, off float64) (changes, killed int, used, granted float64) {
	var s Scratch
	var pool Pool
	for range rows {
		var p Point
		level := 23 + rng.NormFloat64()
		for k := range p.Level {
			p.Level[k] = level
		}
		p.Scale = [ScaleCount]float64{0.2, 0.2}
		peak := math.Exp(level + off + 0.2*rng.NormFloat64())
		if x.Told > 0 {
			amount := x.Answer(&p, x.config.Target, &s).Amount
			used, granted = used+peak, granted+amount
			if amount < peak {
				killed++
			}
		}
		if x.Learn(&p, peak, 60, &pool) > 0 {
			changes++
		}
	}
	return changes, killed, used, granted
}

// A task that comes to need half of what its models say wastes half of every grant
// for as long as residuals from before the change set its margins.
func TestAfterAChangeTheNewestRowsSetTheMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x := New(Default(0.015))
	changes, _, _, _ := served(x, rng, 1000, 0)
	assert.Zero(t, changes)
	changes, _, _, _ = served(x, rng, 200, -0.7)
	assert.Equal(t, 1, changes)
	_, killed, used, granted := served(x, rng, 500, -0.7)
	assert.Greater(t, used/granted, 0.42, "an allocation of the old margins would use 0.3")
	assert.Less(t, killed, 15)
}

func TestTheAdaptiveCorrectionHoldsTheTarget(t *testing.T) {
	x := New(Default(0.015))
	x.Picks, x.Told = []Pick{{0, 1}}, 1e9 // not young: chance explains nothing
	assert.InDelta(t, 0.03, x.allowed(0.03), 1e-7, "another target is corrected alike")
	for range 10 {
		x.adapt(true)
	}
	assert.InDelta(t, 0.015-10*0.001*(1-0.015), x.allowed(0.015), 1e-7)
	for range 10 {
		x.adapt(true)
	}
	assert.Zero(t, x.allowed(0.015), "never below none")
	for range 100_000 {
		x.adapt(false)
	}
	assert.InDelta(t, mostAllowed*0.015, x.allowed(0.015), 1e-7, "a quiet stretch is not spent on kills")
}

func TestAFewKillsOfFewRowsAreChance(t *testing.T) {
	x := New(Default(0.015))
	x.Told = 60
	assert.InDelta(t, 0.03, x.allowed(0.015), 1e-12, "one more of sixty is no evidence")
	x.Told = 6000
	assert.InDelta(t, 0.01515, x.allowed(0.015), 1e-12)
}

func TestErrorsOfUnripeModelsAreNotKept(t *testing.T) {
	x, pool := New(Default(0.015)), new(Pool)
	p := at(gb, 0.3, 10)
	for n := range 20 {
		peak := gb
		if n < 8 {
			peak = 50 * gb // what the first models knew nothing of
		}
		x.Learn(&p, peak, 10, pool)
	}
	assert.Len(t, x.Ledger, 12)
	assert.InDelta(t, 0, x.windows[byAll][11], 1e-12)
}
