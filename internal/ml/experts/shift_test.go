package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The residuals are two standard deviations, and the CUSUM sums add the part above one (shiftAllowance). So every
// row adds one to a sum, and with the 41st row after the change the sum exceeds the bound of 40. update returns the number
// of rows since the change.
func TestAShiftIsDatedToItsFirstRow(t *testing.T) {
	for direction, z := range map[string]float64{"up": 2, "down": -2} {
		var s Shift
		for range 100 {
			assert.Zero(t, s.update(0, 0, patience{}), direction)
		}
		for range int(shiftBound) {
			assert.Zero(t, s.update(z, 0, patience{}), direction)
		}
		assert.Equal(t, int(shiftBound)+1, s.update(z, 0, patience{}), direction)
		want := Shift{Fell: z < 0, Rows: int(shiftBound) + 1}
		if want.Fell {
			want.HighRows = 100
		}
		assert.Equal(t, want, s, "the sums must restart after a shift %s", direction)
	}
}

func TestAFallNeedsManyRowsOrFewerRowsAndTime(t *testing.T) {
	const hour = 60 * 60
	accepted := func(between int64) (rows int) {
		s, p := Shift{Returns: 1}, patience{rows: 100, lastingRows: 30, seconds: 48 * hour}
		for rows = 1; s.update(-3, int64(rows)*between, p) == 0; rows++ {
			assert.Less(t, rows, 1000)
		}
		return rows
	}
	assert.Equal(t, 101, accepted(0))
	assert.Equal(t, 49, accepted(hour))
	assert.Equal(t, 31, accepted(2*hour))
}

// A return to the higher level counts if that level had lasted at least as long as the lower one, as when the peaks are low at
// weekends. After a short higher level, such as a backfill, the lower one is the normal level.
func TestReturnsFromANormalLevelDoNotCount(t *testing.T) {
	for _, c := range []struct{ high, low, returns int }{{300, 120, 1}, {60, 140, 0}} {
		s, p := Shift{}, patience{rows: 30}
		for range c.high {
			s.update(0, 0, p)
		}
		for range c.low {
			s.update(-3*float64(boolToInt(!s.Fell)), 0, p) // the residuals are normal after the fall is detected
		}
		assert.True(t, s.Fell)
		for s.Fell {
			s.update(3, 0, p)
		}
		assert.Equal(t, c.returns, s.Returns, "%d rows at the higher level", c.high)
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestNoiseAndSingleOutliersAreNotAShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var s Shift
	for i := range 100_000 {
		z := rng.NormFloat64()
		if i%50 == 0 {
			z = 1e9
		}
		assert.Zero(t, s.update(z, 0, patience{}))
	}
}

// simulate answers and learns rows whose log peaks are the predicted ones plus `offset` and noise.
func simulate(x *Experts, rng *rand.Rand, rows int, offset float64) (changes, killed int, used, granted float64) {
	var s Scratch
	var pool Pool
	for range rows {
		var p Point
		level := 23 + rng.NormFloat64()
		for k := range p.Level {
			p.Level[k] = level
		}
		p.Scale = [ScaleCount]float64{0.2, 0.2}
		peak := math.Exp(level + offset + 0.2*rng.NormFloat64())
		if x.LearnedRows > 0 {
			amount := x.Answer(&p, x.config.Target, &s).Amount
			used, granted = used+peak, granted+amount
			if amount < peak {
				killed++
			}
		}
		if x.Learn(&p, peak, 60, 0, &pool, new(Scratch)) > 0 {
			changes++
		}
	}
	return changes, killed, used, granted
}

// A task that needs half of the predicted peak wastes more than half of its allocations while
// residuals from before the change determine the margins.
func TestAfterAChangeTheNewestRowsDetermineTheMargins(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x := New(Default(0.015))
	changes, _, _, _ := simulate(x, rng, 1000, 0)
	assert.Zero(t, changes)
	changes, _, _, _ = simulate(x, rng, 200, -0.7)
	assert.Equal(t, 1, changes)
	_, killed, used, granted := simulate(x, rng, 500, -0.7)
	assert.Greater(t, used/granted, 0.42, "used share of the grants; with the margins from before the change it would be 0.3")
	assert.Less(t, killed, 15)
}

// During a backfill the peaks are six times the prediction, and the models do not adapt. These errors must
// not widen the margins for hundreds of rows, and their end is not a change of the task.
func TestTheErrorsOfABackfillAreForgotten(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	x := New(Default(0.015))
	simulate(x, rng, 300, 0)
	changes, _, _, _ := simulate(x, rng, 60, 1.8)
	assert.Equal(t, 1, changes)
	changes, _, _, _ = simulate(x, rng, 140, 0)
	assert.Zero(t, changes)
	assert.False(t, x.Shift.Fell)
	_, killed, used, granted := simulate(x, rng, 200, 0)
	assert.Greater(t, used/granted, 0.4, "used share of the grants; with the margins of the backfill it would be 0.15")
	assert.Less(t, killed, 8)
}

// In the names of the tests below, the allowance is the allowed kill rate (allowedKillRate) with its adaptive correction
// (AdaptiveTarget), not shiftAllowance. The allowance for chance is the increase of the allowed kill rate for a short history.
func TestTheAllowanceAdaptsToKills(t *testing.T) {
	x := New(Default(0.015))
	x.Picks, x.LearnedRows = []Pick{{0, 1}}, 1e9 // no allowance for chance
	aimed := x.config.AimedShare * 0.015
	assert.InDelta(t, 0.03, x.allowedKillRate(0.03), 1e-7, "before the first update, no target is corrected")
	for range 10 {
		x.updateAllowance(true)
	}
	assert.InDelta(t, 0.015-10*0.001*(1-aimed), x.allowedKillRate(0.015), 1e-7)
	for range 10 {
		x.updateAllowance(true)
	}
	assert.Zero(t, x.allowedKillRate(0.015), "the allowance is never negative")
	for range 100_000 {
		x.updateAllowance(false)
	}
	assert.InDelta(t, maxAllowance*0.015, x.allowedKillRate(0.015), 1e-7, "a period without kills does not allow many kills later")
}

func TestTheAllowanceAimsSlightlyBelowTheTarget(t *testing.T) {
	x := New(Default(0.02))
	x.Picks, x.LearnedRows = []Pick{{0, 1}}, 1e9
	for row := range 5_000 {
		x.updateAllowance(row%50 == 0) // the kill rate is the target
	}
	assert.Less(t, x.allowedKillRate(0.02), 0.016)
	below := x.allowedKillRate(0.02)
	for row := range 5_000 {
		x.updateAllowance(row%60 == 0)
	}
	assert.Greater(t, x.allowedKillRate(0.02), below)
}

func TestShortHistoriesGetAnAllowanceForChance(t *testing.T) {
	x := New(Default(0.015))
	x.LearnedRows = 60
	assert.InDelta(t, 0.03, x.allowedKillRate(0.015), 1e-12, "at 60 rows the allowed kill rate is doubled, because one kill in sixty rows may be chance")
	x.LearnedRows = 6000
	assert.InDelta(t, 0.01515, x.allowedKillRate(0.015), 1e-12)
}

func TestResidualsOfTheBurnInAreNotStored(t *testing.T) {
	x, pool := New(Default(0.015)), new(Pool)
	p := pointAt(gb, 0.3, 10)
	for n := range 20 {
		peak := gb
		if n < 8 {
			peak = 50 * gb // an error of models that have few rows
		}
		x.Learn(&p, peak, 10, 0, pool, new(Scratch))
	}
	assert.Len(t, x.Rows, 12)
	sorted := x.sorted(allRows)
	assert.InDelta(t, 0, sorted.at(11), 1e-12)
}

func TestTheStepsOfTheAllowanceDecay(t *testing.T) {
	c := Default(0.015)
	x, aimed := New(c), c.AimedShare*c.Target
	x.Picks, x.LearnedRows = []Pick{{0, 1}}, 1e9
	lowered := func(rows float64) float64 {
		x.ChargedRows, x.AdaptiveTarget.Alpha = rows, 0.015
		x.updateAllowance(true)
		return 0.015 - x.AdaptiveTarget.Alpha
	}
	for _, rows := range []float64{0, 1, c.StepRows} {
		assert.InDelta(t, c.Step*(1-aimed), lowered(rows), 1e-12, "%g rows", rows)
	}
	assert.InDelta(t, c.Step*(1-aimed)/4, lowered(4*c.StepRows), 1e-12)
	x.ChargedRows = 4 * c.StepRows
	x.discardBefore(60)
	assert.Greater(t, lowered(x.ChargedRows), 2*c.Step/4, "after a change of the task the steps are larger again")
}
