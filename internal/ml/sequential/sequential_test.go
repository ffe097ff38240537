package sequential_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/sequential"
)

const seed = 20261121

// killed and held are tries of a promise.
func killed(promised float64) sequential.Try { return sequential.Try{Promised: promised, Killed: true} }
func held(promised float64) sequential.Try   { return sequential.Try{Promised: promised} }

// At q = (2/3)^8, 0.039, the bold bet is on 2/3: a kill is (3/2)^7 = 17.09 to one, a
// survival 0.347. The timid one is on (2/3)^4: 5.06 to one, and 0.835. Each has half
// the stake.
func TestKillsBeyondThePromiseAddUp(t *testing.T) {
	const p = 128. / 6561
	k, h := killed(p), held(p)
	for claim, c := range map[string]struct {
		tries    []sequential.Try
		odds     float64
		from, to int
	}{
		"nothing refutes nothing":           {nil, 2, -1, 0},
		"a kill is half of 17 to one":       {[]sequential.Try{k}, 8.54, 0, 1},
		"and not more":                      {[]sequential.Try{k}, 8.55, -1, 0},
		"good times are no credit":          {[]sequential.Try{h, h, k}, 8.54, 2, 3},
		"two kills are half of 291.9":       {[]sequential.Try{k, k}, 145.9, 0, 2},
		"with a survival between them 50.6": {[]sequential.Try{k, h, k}, 50.6, 0, 3},
		"and less than 50.7":                {[]sequential.Try{k, h, k}, 50.7, -1, 0},
		"with it all that is more of it":    {[]sequential.Try{h, k, k, k}, 145.9, 1, 4},
		"and nothing that is less":          {[]sequential.Try{k, h, h, h, h, h, h, h, h, h, k, k, h}, 145.9, 10, 12},
		"one in four is for the timid bet":  {[]sequential.Try{k, h, h, h, k, h, h, h, k, h, h, h, k}, 64.8, 0, 13},
		"and less than 64.9":                {[]sequential.Try{k, h, h, h, k, h, h, h, k, h, h, h, k}, 64.9, -1, 0},
		"what was shown is not undone":      {[]sequential.Try{k, k, h, h}, 145.9, 0, 2},
		"a kill long after it is no part":   {[]sequential.Try{k, k, h, h, h, h, h, h, h, h, h, k}, 145.9, 0, 2},
		"where both find it, the end of the later": {
			[]sequential.Try{k, k, k, k, h, h, h, k}, 145.9, 0, 8,
		},
		"nothing is surer than 0.5 %":   {[]sequential.Try{killed(0)}, 28.2, -1, 0},
		"of a half nothing can be said": {[]sequential.Try{killed(0.5), killed(1), killed(math.Inf(1)), killed(math.NaN())}, 1.01, -1, 0},
	} {
		from, to := sequential.Broken(c.tries, math.Log(c.odds))
		assert.Equal(t, []int{c.from, c.to}, []int{from, to}, claim)
	}
}

// broken is Broken without the place.
func broken(tries []sequential.Try, level float64) bool {
	from, _ := sequential.Broken(tries, level)
	return from >= 0
}

// Whoever looks once in the end sees what whoever looked after every try would have
// seen, and sees it though hundreds of tries held since.
func TestLookingLateShowsNoLess(t *testing.T) {
	found := 0
	for s := range 300 {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		var tries []sequential.Try
		often := false
		for i := range 300 {
			rate := 0.3
			if i > 20 {
				rate = 0.005
			}
			tries = append(tries, sequential.Try{Promised: 0.03 * rng.Float64(), Killed: rng.Float64() < rate})
			often = often || broken(tries, math.Log(1e5))
		}
		require.Equal(t, often, broken(tries, math.Log(1e5)), "stream %d", s)
		if often {
			found++
		}
	}
	t.Logf("seed %d: 300 streams that healed after 20 tries, found late or often: %d", seed, found)
	assert.Greater(t, found, 100)
	assert.Less(t, found, 300, "or nothing is compared")
}

var bets = []float64{1. / 2, 1. / 8}

// factor is what a stake on q^bet against q is multiplied by.
func factor(bet float64, try sequential.Try) float64 {
	q := sequential.Slack * max(try.Promised, 0.005)
	if try.Killed {
		return math.Pow(q, bet) / q
	}
	return (1 - math.Pow(q, bet)) / (1 - q)
}

// Fair odds: the mean of the factor is 1 at the edge of the hypothesis, and below it
// within.
func TestTheBetsAreFair(t *testing.T) {
	for _, bet := range bets {
		for promised := 0.005; promised < 0.5; promised *= 1.1 {
			q, lose, win := sequential.Slack*promised, factor(bet, held(promised)), factor(bet, killed(promised))
			require.InDelta(t, 1, q*win+(1-q)*lose, 1e-9)
			for share := 0.0; share < 1; share += 0.05 {
				require.Less(t, share*q*win+(1-share*q)*lose, 1.0, "promised %v, killed %v", promised, share*q)
			}
		}
	}
}

// The place is the one that trying every bet, every start and every end finds.
func TestThePlaceIsThatOfEveryStakeAndEveryEnd(t *testing.T) {
	const level = 6.0
	rng, found := rand.New(rand.NewPCG(seed, 1)), 0
	for range 300 {
		tries := make([]sequential.Try, 60)
		for i := range tries {
			tries[i] = sequential.Try{Promised: 0.06 * rng.Float64(), Killed: rng.IntN(8) == 0}
		}
		wantFrom, wantTo := -1, 0
		for _, bet := range bets {
			start, end := placeOf(bet, tries, level+math.Log(2))
			wantFrom, wantTo = max(wantFrom, start), max(wantTo, end)
		}
		from, to := sequential.Broken(tries, level)
		require.Equal(t, []int{wantFrom, wantTo}, []int{from, to})
		if from >= 0 {
			found++
		}
	}
	assert.Greater(t, found, 50)
	assert.Less(t, found, 250)
}

// placeOf tries every start and every end: from the latest start whose greatest is
// beyond the level it goes back as long as there is something to add to.
func placeOf(bet float64, tries []sequential.Try, level float64) (from, to int) {
	greatest, ends := make([]float64, len(tries)), make([]int, len(tries))
	for i := range tries {
		stake := 0.0
		greatest[i] = math.Inf(-1)
		for j, try := range tries[i:] {
			if stake += math.Log(factor(bet, try)); stake > greatest[i] {
				greatest[i], ends[i] = stake, i+j+1
			}
		}
	}
	from = -1
	for i := len(tries) - 1; i >= 0 && (from < 0 || greatest[i+1] > 0); i-- {
		if greatest[i] > level && (from < 0 || greatest[i] > greatest[from]) {
			from, to = i, ends[i]
		}
	}
	return from, to
}

// Blame is laid where things changed: seldom earlier, by kills that were chance.
func TestTheBeginningIsFoundWhereThingsChanged(t *testing.T) {
	const streams, before = 2000, 200
	for _, rate := range []float64{0.95, 0.5} {
		missed, early, late := 0, 0, 0
		for s := range streams {
			rng := rand.New(rand.NewPCG(seed, uint64(s)))
			tries := make([]sequential.Try, before+32)
			for i := range tries {
				tries[i] = sequential.Try{Promised: 0.015, Killed: rng.Float64() < 0.015}
				if i >= before {
					tries[i].Killed = rng.Float64() < rate
				}
			}
			switch from, _ := sequential.Broken(tries, math.Log(1e5)); {
			case from < 0:
				missed++
			case from < before:
				early++
			case from >= before+8:
				late++
			}
		}
		t.Logf("seed %d, %d streams, killed %.2f from try %d on: not found in %d, begun earlier in %d, eight tries later or more in %d",
			seed, streams, rate, before, missed, early, late)
		assert.Less(t, missed+early+late, streams/10)
	}
}

// alarms is the share of streams of n tries that are ever refuted: looking late shows
// no less.
func alarms(level float64, streams, n int, try func(*rand.Rand) (promised, rate float64)) float64 {
	alarmed := 0
	for s := range streams {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		tries := make([]sequential.Try, n)
		for i := range tries {
			promised, rate := try(rng)
			tries[i] = sequential.Try{Promised: promised, Killed: rng.Float64() < rate}
		}
		if broken(tries, level) {
			alarmed++
		}
	}
	return float64(alarmed) / float64(streams)
}

func TestFalseAlarmsStayBelowTheirBound(t *testing.T) {
	const streams, n = 4000, 500
	honest := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, p }
	edge := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, sequential.Slack * p }
	for _, level := range []float64{math.Log(1e3), math.Log(1e4), math.Log(1e5)} {
		bound := n * math.Exp(-level)
		kept, twice := alarms(level, streams, n, honest), alarms(level, streams, n, edge)
		t.Logf("seed %d, %d streams of %d tries, stake %.0f: bound %.4f, promises kept %.4f, twice the promise %.4f",
			seed, streams, n, math.Exp(level), bound, kept, twice)
		assert.LessOrEqual(t, kept, twice)
		assert.LessOrEqual(t, twice, min(1, bound)+0.01)
	}
	// The test of the test: tries that are killed five times as often as promised.
	fivefold := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, 5 * p }
	assert.Greater(t, alarms(math.Log(1e5), 100, n, fivefold), 0.9)
}

// Allocations of three tenths are nearly always too little.
func TestABrokenPromiseIsFoundSoon(t *testing.T) {
	for _, rate := range []float64{0.95, 0.5, 0.25} {
		longest, sum := 0, 0
		const streams = 500
		for s := range streams {
			rng := rand.New(rand.NewPCG(seed, uint64(s)))
			var tries []sequential.Try
			for !broken(tries, math.Log(1e5)) {
				tries = append(tries, sequential.Try{Promised: 0.015, Killed: rng.Float64() < rate})
			}
			longest, sum = max(longest, len(tries)), sum+len(tries)
		}
		t.Logf("seed %d, %d streams, killed %.2f of promised 0.015: found after %.1f tries, at most %d", seed, streams, rate, float64(sum)/streams, longest)
		assert.Less(t, longest, 200)
	}
}

func TestPairsCountOnlyWhereTheyDiffer(t *testing.T) {
	var p sequential.Pairs
	p.Ended(true, true)
	p.Ended(false, false)
	assert.Zero(t, p)
	for range 8 {
		p.Ended(true, false)
	}
	assert.InDelta(t, math.Log(110.2), p.Log, 0.01)
	p.Ended(false, true)
	assert.InDelta(t, math.Log(22.04), p.Log, 0.01)
}

func TestOfTwoEqualRivalsNoneIsFoundWorse(t *testing.T) {
	const streams, n = 10_000, 500
	found := 0
	for s := range streams {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		var p sequential.Pairs
		for range n {
			p.Ended(rng.IntN(10) == 0, rng.IntN(10) == 0)
			if p.Log > math.Log(100) {
				found++
				break
			}
		}
	}
	t.Logf("seed %d, %d streams of %d tries: found worse in %d, bound %d", seed, streams, n, found, streams/100)
	assert.LessOrEqual(t, found, streams/100)
}
