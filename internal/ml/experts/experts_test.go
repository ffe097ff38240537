package experts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	gb     = 1e9
	target = 0.015
)

func pointAt(peak, spread, seconds float64) Point {
	p := Point{Duration: math.Log(seconds)}
	for k := range p.Level {
		p.Level[k] = math.Log(peak)
	}
	p.Scale[TreeScale], p.Scale[SameScale] = spread, spread
	return p
}

// stream generates rows of a task: predictions that are correct except for noise (in log units), and peaks.
type stream struct {
	rng   *rand.Rand
	noise func(*rand.Rand) float64
}

func (s *stream) next() (Point, float64) {
	peak := gb * math.Exp(1.5*s.rng.Float64())
	p := pointAt(peak, 0.3, 60)
	for k := range p.Level { // the last model is the most accurate
		p.Level[k] += 0.02 * float64(ModelCount-1-k) * s.rng.NormFloat64()
	}
	return p, peak * math.Exp(s.noise(s.rng))
}

func normal(deviation float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return deviation * rng.NormFloat64() }
}

// trained learns n rows of a stream. The first row has no Point.
func trained(c Config, seed uint64, n int, noise func(*rand.Rand) float64) (*Experts, *stream, *Pool) {
	x, s, pool := New(c), &stream{rand.New(rand.NewPCG(seed, 9)), noise}, new(Pool)
	scratch := new(Scratch)
	for i := range n {
		p, peak := s.next()
		pool.RecordCost(peak * 60)
		if i == 0 {
			x.Learn(nil, peak, 60, 0, pool, nil)
			continue
		}
		x.Learn(&p, peak, 60, 0, pool, scratch)
	}
	return x, s, pool
}

// smallConfig has short buffers, so that every ring buffer wraps around.
func smallConfig() Config {
	c := Default(target)
	c.WindowRows, c.StoredRows, c.NearRows = 40, 120, 15
	return c
}

func TestKilledTriesCountInFull(t *testing.T) {
	for claim, c := range map[string]struct {
		first, second, peak, waste float64
		killed                     bool
	}{
		"an unused part is wasted":                       {10, 15, 8, 2, false},
		"an exact fit wastes nothing":                    {10, 15, 10, 0, false},
		"a kill wastes its whole allocation":             {10, 15, 12, 10 + 3, true},
		"later rungs double":                             {10, 15, 40, 10 + 15 + 30 + 20, true},
		"a second rung that fits exactly wastes nothing": {10, 15, 15, 10, true},
		"a killed second rung counts in full":            {10, 15, 16, 10 + 15 + 14, true},
	} {
		waste, killed := wastage(c.first, c.second, c.peak)
		assert.Equal(t, c.waste, waste, claim)
		assert.Equal(t, c.killed, killed, claim)
	}
}

// After three rows without error all residuals are zero, so that every expert allocates 1 GB, then 1.3 GB, then 2.6 GB.
// A peak of 2 GB for 10 s costs each expert (1 + 1.3 + 0.6) · 10 GB·s and one kill. All risks have the same amount, so each
// expert chooses the smallest one.
func TestEveryExpertIsChargedAfterThreeResiduals(t *testing.T) {
	config := Default(target)
	config.Decay, config.MinStep, config.BurnInRows = 0.9995, 1.3, 1
	x, pool := New(config), new(Pool)
	p := pointAt(gb, 0.3, 10)
	x.Learn(nil, gb, 10, 0, pool, nil)
	for range 3 {
		x.Learn(&p, gb, 10, 0, pool, new(Scratch))
	}
	assert.Zero(t, x.ChargedRows, "with too few residuals, Learn charges no expert")
	x.Learn(&p, 2*gb, 10, 0, pool, new(Scratch))
	assert.Equal(t, 5, x.LearnedRows)
	assert.Equal(t, 2*gb, x.MaxPeak)
	assert.Equal(t, 1.0, x.ChargedRows)
	assert.InEpsilon(t, 20*gb, x.UsageSum, 1e-12)
	for e := range Count {
		require.InEpsilon(t, 29*gb, x.Cost[e], 1e-9, Name(e))
		require.Equal(t, 1.0, x.Kills[e], Name(e))
		require.Equal(t, 0.0005, x.NominalRisk[e], Name(e))
	}
	for k := range ModelCount {
		require.InEpsilon(t, math.Ln2*math.Ln2, x.SquaredErrors[k], 1e-9)
	}

	x.Learn(&p, 0.5*gb, 10, 0, pool, new(Scratch)) // no kill, only decay
	assert.Equal(t, 0.9995, x.Kills[0])
	assert.Equal(t, 1.9995, x.ChargedRows)
}

// The answers must meet the target for different noise, and the sum of the promised risks
// must match the number of kills.
func TestRealisedRiskMatchesThePromise(t *testing.T) {
	const rows = 5000
	for name, noise := range map[string]func(*rand.Rand) float64{
		"normal": normal(0.3),
		"one of twenty rows is three times as large": func(rng *rand.Rand) float64 {
			return 0.1*rng.NormFloat64() + math.Log(3)*indicator(rng.IntN(20) == 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, s, pool := trained(Default(target), 5, 40, noise)
			killed, promised, waste, used := 0.0, 0.0, 0.0, 0.0
			var scratch Scratch
			for range rows {
				p, peak := s.next()
				a := x.Answer(&p, target, &scratch)
				require.Positive(t, a.Promised)
				promised += a.Promised
				if a.Amount < peak {
					killed++
					waste += a.Amount
				} else {
					waste += a.Amount - peak
				}
				used += peak
				pool.RecordCost(peak * 60)
				pool.RecordOutcome(x.LearnedRows, a.Promised/a.Factor, a.Amount < peak)
				x.Learn(&p, peak, 60, 0, pool, new(Scratch))
			}
			t.Logf("killed %.2f %%, promised %.2f %%, waste/used %.2f", 100*killed/rows, 100*promised/rows, waste/used)
			assert.Less(t, killed/rows, target+3*math.Sqrt(target/rows), "share of killed rows: at most three standard deviations above the target")
			assert.Greater(t, killed/rows, target/5, "share of killed rows: a much smaller share than the target wastes memory")
			assert.LessOrEqual(t, math.Abs(killed-promised), max(promised/2, 3*math.Sqrt(promised)))
			assert.Less(t, waste/used, 2.5)
		})
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The errors of one model are about 5 %, and those of the other models about a factor of 3 (one standard deviation).
// The answers must come from the accurate model, whatever its index.
func TestTheCheapestModelAnswers(t *testing.T) {
	for _, good := range []int{Median, Same, Stack} {
		x, pool, rng := New(smallConfig()), new(Pool), rand.New(rand.NewPCG(8, 8))
		row := func() (Point, float64) {
			peak := gb * math.Exp(rng.Float64())
			p := pointAt(peak, 0.3, 60)
			for k := range p.Level {
				if k != good {
					p.Level[k] += 1.1 * rng.NormFloat64()
				}
			}
			return p, peak * math.Exp(0.05*rng.NormFloat64())
		}
		x.Learn(nil, gb, 60, 0, pool, nil)
		for range 200 {
			p, peak := row()
			pool.RecordCost(60 * peak)
			x.Learn(&p, peak, 60, 0, pool, new(Scratch))
		}
		var scratch Scratch
		p, peak := row()
		a := x.Answer(&p, target, &scratch)
		assert.Equal(t, good, a.Expert/len(prices)/distributionCount, "the model %s must answer, not %s", ModelNames[good], Name(a.Expert))
		assert.Equal(t, Name(a.Expert), x.Leader())
		assert.InDelta(t, 1.1, a.Amount/peak, 0.25)
		total := 0.0
		for _, pick := range x.Picks {
			total += pick.Weight
		}
		assert.InDelta(t, 1, total, 1e-12, "the weights sum to 1")
	}
}

// The risk of the second rung is the largest one in `risks` that is at most 12 % of the risk of the first rung: 0.01 after
// 0.1. Its amount is at least 1.3 times the amount of the first rung.
func TestTheSecondRungReducesTheRiskToAShare(t *testing.T) {
	config := Default(target)
	config.RungRiskShare, config.MinStep = 0.12, 1.3
	x, index := New(config), func(risk float64) int {
		for i, r := range risks {
			if r == risk {
				return i
			}
		}
		t.Fatalf("%v is not in risks", risk)
		return 0
	}
	var steep, flat pairAmounts
	for i, risk := range risks {
		steep.amount[i], flat.amount[i] = 1/risk, 5+0.001*float64(i)
	}
	assert.Equal(t, 1/0.01, x.secondRung(index(0.1), &steep))
	assert.Equal(t, 1/0.002, x.secondRung(index(0.018), &steep))
	assert.InEpsilon(t, 1.3*2000, x.secondRung(index(0.0005), &steep), 1e-12, "without a smaller risk, the second rung is MinStep times the first")
	assert.InEpsilon(t, 1.3*5, x.secondRung(index(0.1), &flat), 0.01, "if a smaller risk needs little more, the second rung is MinStep times the first")
}

// LearnDeferred learns a pending row. The peak of a row passes through a logarithm and back, which changes its last digits.
func TestARoundingErrorOfADeferredRowIsNoKill(t *testing.T) {
	for factor, killed := range map[float64]bool{1 + 1e-12: false, 1.01: true} {
		x, s, _ := trained(smallConfig(), 1, 300, normal(0.3))
		p, _ := s.next()
		p.MinAmount = 20 * gb // more than any expert grants, so that it is the answer
		require.InEpsilon(t, p.MinAmount, x.Answer(&p, target, new(Scratch)).Amount, 1e-13)
		x.AdaptiveTarget.Alpha = target
		x.LearnDeferred(&p, factor*p.MinAmount, 60, new(Scratch))
		assert.Equal(t, killed, x.AdaptiveTarget.Alpha < target, "a peak of %v times the amount", factor)
	}
}

// An expert avoids an expensive kill by a larger allocation, and risks a cheap kill if a smaller allocation saves
// memory.
func TestAHigherPriceLowersTheRisk(t *testing.T) {
	x := New(Default(target))
	x.UsageSum, x.UsageRows = 10*60*gb, 10 // a row uses 60 GB·s on average
	var a pairAmounts
	for i, risk := range risks {
		a.amount[i] = gb * (1 - 0.2*math.Log(risk)) // 1.18 GB at 0.4, 2.52 GB at 0.0005
	}
	a.computeCosts(60)
	// cost/60 GB·s = (1 − 0.2·ln r)·(1 + 1.2·r) + price·r. The slope −0.2/r + price is
	// zero near r = 0.2/price, because 1.2·r adds little: 0.2/16 = 0.0125.
	assert.Contains(t, []float64{0.01, 0.014}, risks[x.cheapestRisk(16, &a)])
	last := math.Inf(1)
	for _, price := range prices {
		risk := risks[x.cheapestRisk(price, &a)]
		assert.LessOrEqual(t, risk, last, "a higher price must not give a higher risk")
		last = risk
	}
	assert.LessOrEqual(t, last, 0.001)
}

// Half of the rows have little noise and half have much, and only one of the two scales
// distinguishes them. Rows with little noise must get a small margin.
func TestAnInformativeScaleIsUsed(t *testing.T) {
	for _, informative := range []int{TreeScale, SameScale} {
		x, pool, rng := New(smallConfig()), new(Pool), rand.New(rand.NewPCG(12, 12))
		row := func(noisy bool) (Point, float64) {
			spread := 0.03
			if noisy {
				spread = 0.6
			}
			p := pointAt(gb, 0.3, 60)
			p.Scale[informative] = spread
			return p, gb * math.Exp(spread*rng.NormFloat64())
		}
		x.Learn(nil, gb, 60, 0, pool, nil)
		for i := range 400 {
			p, peak := row(i%2 == 0)
			pool.RecordCost(60 * peak)
			x.Learn(&p, peak, 60, 0, pool, new(Scratch))
		}
		var s Scratch
		quiet, _ := row(false)
		noisy, _ := row(true)
		assert.Less(t, x.Answer(&quiet, target, &s).Amount, 1.25*gb, "scale %d", informative)
		assert.Greater(t, x.Answer(&noisy, target, &s).Amount, 1.6*gb, "scale %d", informative)
	}
}

func TestColdStartWithoutAMixtureUsesStudentsT(t *testing.T) {
	cases := oracle(t).ColdStart
	require.NotEmpty(t, cases)
	var s Scratch
	config := Default(target)
	config.PriorRows, config.PriorDeviation, config.Reach, config.FirstReach = 2, 0.3, 1, 0
	for _, c := range cases {
		x := New(config)
		x.LearnedRows, x.MaxPeak = c.Rows, gb
		for k := range x.SquaredErrors {
			x.SquaredErrors[k] = c.Squares
		}
		p := pointAt(gb, 0.3, 60)
		a := x.Answer(&p, target, &s)
		assert.Equal(t, -1, a.Expert)
		amount, promised := gb*math.Exp(c.Quantile), target
		if reach := gb * (1 + 1/math.Sqrt(float64(c.Rows))); amount > reach {
			amount, promised = reach, min(0.5, c.RiskAtReach)
		}
		assert.InEpsilon(t, amount, a.Amount, 1e-6, "%d rows, squares %v", c.Rows, c.Squares)
		assert.InEpsilon(t, promised, a.Promised, 1e-6, "%d rows, squares %v", c.Rows, c.Squares)
		assert.InEpsilon(t, a.Promised, x.ExceedanceProb(&p, a.Amount, &s), 1e-6, "ExceedanceProb must equal the promise")
	}
}

func TestColdStartUsesALineOnlyIfItIsClearlyBetter(t *testing.T) {
	var s Scratch
	amount := func(rows int, median, line float64) float64 {
		x := New(Default(target))
		x.LearnedRows, x.MaxPeak = rows, 4*gb
		for k := range x.SquaredErrors {
			x.SquaredErrors[k] = median
		}
		x.SquaredErrors[Line] = line
		p := pointAt(gb, 0.3, 60)
		p.Level[Line] = math.Log(3 * gb)
		return x.Answer(&p, target, &s).Amount
	}
	assert.Greater(t, amount(6, 2, 0.01), 3*gb, "the line answers, because it is much better")
	assert.Equal(t, amount(4, 2, 2), amount(4, 2, 0.01), "the median answers, because four rows are too few to compare models")
	assert.Equal(t, amount(6, 2, 2), amount(6, 2, 1.6), "the median answers, because a small advantage of the line may be chance")
}

func TestAllocationsStayWithinReachOfObservedOrPredictedPeaks(t *testing.T) {
	for seed := range uint64(6) {
		n := 2 + int(seed*seed)*3
		x, s, _ := trained(smallConfig(), seed, n, normal(0.8))
		var scratch Scratch
		for range 50 {
			p, _ := s.next()
			highest := 0.0
			for _, level := range p.Level {
				highest = max(highest, math.Exp(level))
			}
			since := float64(max(1, x.LearnedRows-x.Records[0])) // rows since the fourth-newest record
			reach := max(x.MaxPeak, highest) * (1 + max(smallConfig().FirstReach/since, smallConfig().Reach/math.Sqrt(since)))
			require.LessOrEqual(t, x.Answer(&p, 0.001, &scratch).Amount, reach*(1+1e-12), "%d rows", n)
		}
	}
}

func TestExceedanceNeverIncreasesWithTheAmount(t *testing.T) {
	for _, n := range []int{1, 2, 4, 20, 60, 300} {
		x, s, _ := trained(smallConfig(), uint64(n), n, normal(0.3))
		var scratch Scratch
		for range 20 {
			p, peak := s.next()
			last := 1.0
			for amount := peak / 20; amount < peak*50; amount *= 1.05 {
				risk := x.ExceedanceProb(&p, amount, &scratch)
				require.True(t, risk >= 0 && risk <= last+1e-12, "P(peak > %.3g) = %v must be from 0 to %v, the probability at the next smaller amount (%d rows)", amount, risk, last, n)
				last = risk
			}
			require.Less(t, last, 0.02, "P(peak > amount) at an amount of fifty times the peak")
		}
	}
}

func TestAHigherTargetDoesNotGrantMoreOnAverage(t *testing.T) {
	for _, n := range []int{5, 300} {
		x, s, _ := trained(smallConfig(), 21, n, normal(0.4))
		var scratch Scratch
		sums := map[float64]float64{}
		for range 200 {
			p, _ := s.next()
			for _, risk := range []float64{0.001, 0.015, 0.1, 0.3} {
				sums[risk] += x.Answer(&p, risk, &scratch).Amount
			}
		}
		assert.GreaterOrEqual(t, sums[0.001], sums[0.015], "%d rows", n)
		assert.Greater(t, sums[0.015], sums[0.1], "%d rows", n)
		assert.GreaterOrEqual(t, sums[0.1], sums[0.3], "%d rows", n)
	}
}

func roundTrip(t *testing.T, x *Experts, c Config) *Experts {
	t.Helper()
	raw, err := cbor.Marshal(x)
	require.NoError(t, err)
	back := New(c)
	require.NoError(t, cbor.Unmarshal(raw, back))
	back.Rebuild(c)
	return back
}

// Both copies continue to learn after the round trip. So their ring buffers must remove the same rows, at whatever position
// the oldest row is.
func TestAStoredStateAnswersBitForBit(t *testing.T) {
	for _, n := range []int{1, 3, 30, 119, 121, 301} {
		x, s, pool := trained(smallConfig(), 31, n, normal(0.3))
		back, backPool := roundTrip(t, x, smallConfig()), *pool
		var scratch Scratch
		for range 150 {
			p, peak := s.next()
			require.Equal(t, x.Answer(&p, target, &scratch), back.Answer(&p, target, &scratch), "%d rows", n)
			require.Equal(t, x.ExceedanceProb(&p, 2*gb, &scratch), back.ExceedanceProb(&p, 2*gb, &scratch))
			require.Equal(t, x.Ladder(&p, 2*gb, 9*gb, Request{}, 3, &scratch, nil), back.Ladder(&p, 2*gb, 9*gb, Request{}, 3, &scratch, nil))
			x.Learn(&p, peak, 60, 0, pool, new(Scratch))
			back.Learn(&p, peak, 60, 0, &backPool, new(Scratch))
		}
		require.Equal(t, x.Cost, back.Cost)
	}
}

func TestEveryPairOfModelAndDistributionHasAUniqueName(t *testing.T) {
	names := map[string]bool{}
	for e := range Count {
		names[Name(e)] = true
	}
	assert.Len(t, names, pairCount, "number of names, which do not contain the price")
	assert.Equal(t, "a Bayesian average of simple models", Name(-1))
	assert.Equal(t, "a Bayesian average of simple models", New(Default(target)).Leader())
}
