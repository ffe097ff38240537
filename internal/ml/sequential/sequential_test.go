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

func killed(promised float64) sequential.Try { return sequential.Try{Promised: promised, Killed: true} }

func survived(promised float64) sequential.Try { return sequential.Try{Promised: promised} }

// The null hypothesis bounds the kill probability by q = 2p = (2/3)^8 = 0.039 (sequential.Slack is 2). The extreme bet is on
// a kill probability of q^(1/8) = 2/3: a kill multiplies its stake by (3/2)^7 = 17.09, and a survival by 0.347. The moderate
// bet is on the square root of q, (2/3)^4, with the factors 5.06 and 0.835. Each bet has half of the stake.
func TestKillsBeyondThePromiseRejectIt(t *testing.T) {
	const p = 128. / 6561
	k, s := killed(p), survived(p)
	for claim, c := range map[string]struct {
		tries    []sequential.Try
		odds     float64
		from, to int
	}{
		"without tries there is no rejection":               {nil, 2, -1, 0},
		"a kill gives half of 17.09":                        {[]sequential.Try{k}, 8.54, 0, 1},
		"a kill gives less than 8.55":                       {[]sequential.Try{k}, 8.55, -1, 0},
		"earlier survivals do not count":                    {[]sequential.Try{s, s, k}, 8.54, 2, 3},
		"two kills give half of 291.9":                      {[]sequential.Try{k, k}, 145.9, 0, 2},
		"a survival between two kills gives 50.6":           {[]sequential.Try{k, s, k}, 50.6, 0, 3},
		"a survival between two kills gives less than 50.7": {[]sequential.Try{k, s, k}, 50.7, -1, 0},
		"all kills in a row belong to the range":            {[]sequential.Try{s, k, k, k}, 145.9, 1, 4},
		"an earlier kill does not belong to the range":      {[]sequential.Try{k, s, s, s, s, s, s, s, s, s, k, k, s}, 145.9, 10, 12},
		"one kill in four rejects by the moderate bet":      {[]sequential.Try{k, s, s, s, k, s, s, s, k, s, s, s, k}, 64.8, 0, 13},
		"one kill in four gives less than 64.9":             {[]sequential.Try{k, s, s, s, k, s, s, s, k, s, s, s, k}, 64.9, -1, 0},
		"later survivals do not undo a rejection":           {[]sequential.Try{k, k, s, s}, 145.9, 0, 2},
		"a much later kill does not belong to the range":    {[]sequential.Try{k, k, s, s, s, s, s, s, s, s, s, k}, 145.9, 0, 2},
		"if both bets reject, the later end counts": {
			[]sequential.Try{k, k, k, k, s, s, s, k}, 145.9, 0, 8,
		},
		"a promise counts as at least 0.5 %":       {[]sequential.Try{killed(0)}, 28.2, -1, 0},
		"a promise of one half or more is ignored": {[]sequential.Try{killed(0.5), killed(1), killed(math.Inf(1)), killed(math.NaN())}, 1.01, -1, 0},
	} {
		from, to := sequential.FindViolation(c.tries, math.Log(c.odds))
		assert.Equal(t, []int{c.from, c.to}, []int{from, to}, claim)
	}
}

func violated(tries []sequential.Try, level float64) bool {
	from, _ := sequential.FindViolation(tries, level)
	return from >= 0
}

// A single check at the end rejects a stream if and only if a check after one of the tries would have rejected it, even if
// hundreds of survivals follow this try.
func TestALateCheckRejectsTheSameStreams(t *testing.T) {
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
			often = often || violated(tries, math.Log(1e5))
		}
		require.Equal(t, often, violated(tries, math.Log(1e5)), "stream %d: a late check must reject it if and only if a frequent check rejects it", s)
		if often {
			found++
		}
	}
	t.Logf("seed %d: 300 streams that recovered after 21 tries, detected by late and frequent checks: %d", seed, found)
	assert.Greater(t, found, 100)
	assert.Less(t, found, 300, "the test needs streams of both kinds")
}

var bets = []float64{1. / 2, 1. / 8}

func factor(bet float64, try sequential.Try) float64 {
	q := sequential.Slack * max(try.Promised, 0.005)
	if try.Killed {
		return math.Pow(q, bet) / q
	}
	return (1 - math.Pow(q, bet)) / (1 - q)
}

// The expected factor is 1 at the boundary of the null hypothesis and below 1 inside it.
func TestTheBetsAreFair(t *testing.T) {
	for _, bet := range bets {
		for promised := 0.005; promised < 0.5; promised *= 1.1 {
			q, lose, win := sequential.Slack*promised, factor(bet, survived(promised)), factor(bet, killed(promised))
			require.InDelta(t, 1, q*win+(1-q)*lose, 1e-9)
			for share := 0.0; share < 1; share += 0.05 {
				require.Less(t, share*q*win+(1-share*q)*lose, 1.0, "promised %v, killed %v", promised, share*q)
			}
		}
	}
}

// An exhaustive search over bets, starts and ends must find the same range.
func TestRangeMatchesExhaustiveSearch(t *testing.T) {
	const level = 6.0
	rng, found := rand.New(rand.NewPCG(seed, 1)), 0
	for range 300 {
		tries := make([]sequential.Try, 60)
		for i := range tries {
			tries[i] = sequential.Try{Promised: 0.06 * rng.Float64(), Killed: rng.IntN(8) == 0}
		}
		wantFrom, wantTo := -1, 0
		for _, bet := range bets {
			start, end := exhaustive(bet, tries, level+math.Log(2))
			wantFrom, wantTo = max(wantFrom, start), max(wantTo, end)
		}
		from, to := sequential.FindViolation(tries, level)
		require.Equal(t, []int{wantFrom, wantTo}, []int{from, to})
		if from >= 0 {
			found++
		}
	}
	assert.Greater(t, found, 50)
	assert.Less(t, found, 250)
}

// exhaustive computes for every start the largest log stake over all ends (`greatest`). The latest start whose `greatest`
// exceeds the level is the last of a range of starts, which extends backwards as long as `greatest` is above 0. exhaustive
// returns the start with the largest `greatest` of this range, and the end at which the stake reaches `greatest`.
func exhaustive(bet float64, tries []sequential.Try, level float64) (from, to int) {
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

// The start of the range is near the change. Chance kills before the change seldom move it.
func TestTheStartOfAChangeIsFound(t *testing.T) {
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
			switch from, _ := sequential.FindViolation(tries, math.Log(1e5)); {
			case from < 0:
				missed++
			case from < before:
				early++
			case from >= before+8:
				late++
			}
		}
		t.Logf("seed %d, %d streams, kill rate %.2f from try %d on: not detected in %d, start too early in %d, eight or more tries too late in %d",
			seed, streams, rate, before, missed, early, late)
		assert.Less(t, missed+early+late, streams/10)
	}
}

// alarms returns the share of streams of n tries that are ever rejected.
func alarms(level float64, streams, n int, try func(*rand.Rand) (promised, rate float64)) float64 {
	alarmed := 0
	for s := range streams {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		tries := make([]sequential.Try, n)
		for i := range tries {
			promised, rate := try(rng)
			tries[i] = sequential.Try{Promised: promised, Killed: rng.Float64() < rate}
		}
		if violated(tries, level) {
			alarmed++
		}
	}
	return float64(alarmed) / float64(streams)
}

func TestFalseAlarmsStayBelowTheirBound(t *testing.T) {
	const streams, n = 4000, 500
	calibrated := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, p }
	boundary := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, sequential.Slack * p }
	for _, level := range []float64{math.Log(1e3), math.Log(1e4), math.Log(1e5)} {
		bound := n * math.Exp(-level)
		calibratedRate, boundaryRate := alarms(level, streams, n, calibrated), alarms(level, streams, n, boundary)
		t.Logf("seed %d, %d streams of %d tries, stake %.0f: bound %.4f, calibrated %.4f, twice the promise %.4f",
			seed, streams, n, math.Exp(level), bound, calibratedRate, boundaryRate)
		assert.LessOrEqual(t, calibratedRate, boundaryRate)
		assert.LessOrEqual(t, boundaryRate, min(1, bound)+0.01)
	}
	// The test has power: tries that are killed five times as often as promised are rejected.
	fivefold := func(rng *rand.Rand) (float64, float64) { p := 0.1 * rng.Float64(); return p, 5 * p }
	assert.Greater(t, alarms(math.Log(1e5), 100, n, fivefold), 0.9)
}

func TestABrokenPromiseIsDetectedSoon(t *testing.T) {
	for _, rate := range []float64{0.95, 0.5, 0.25} {
		longest, sum := 0, 0
		const streams = 500
		for s := range streams {
			rng := rand.New(rand.NewPCG(seed, uint64(s)))
			var tries []sequential.Try
			for !violated(tries, math.Log(1e5)) {
				tries = append(tries, sequential.Try{Promised: 0.015, Killed: rng.Float64() < rate})
			}
			longest, sum = max(longest, len(tries)), sum+len(tries)
		}
		t.Logf("seed %d, %d streams, kill rate %.2f instead of 0.015: detected after %.1f tries on average, %d at most", seed, streams, rate, float64(sum)/streams, longest)
		assert.Less(t, longest, 200)
	}
}

func TestPairsCountOnlyDifferentOutcomes(t *testing.T) {
	var p sequential.Pairs
	p.Record(true, true)
	p.Record(false, false)
	assert.Zero(t, p)
	for range 8 {
		p.Record(true, false)
	}
	assert.InDelta(t, math.Log(110.2), p.LogStake, 0.01)
	p.Record(false, true)
	assert.InDelta(t, math.Log(22.04), p.LogStake, 0.01)
}

func TestEqualModelsAreSeldomRejected(t *testing.T) {
	const streams, n = 10_000, 500
	found := 0
	for s := range streams {
		rng := rand.New(rand.NewPCG(seed, uint64(s)))
		var p sequential.Pairs
		for range n {
			p.Record(rng.IntN(10) == 0, rng.IntN(10) == 0)
			if p.LogStake > math.Log(100) {
				found++
				break
			}
		}
	}
	t.Logf("seed %d, %d streams of %d tries: rejected in %d, bound %d", seed, streams, n, found, streams/100)
	assert.LessOrEqual(t, found, streams/100)
}
