package plan

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ramp(seconds, peak float64) []Sample {
	var all []Sample
	for at := 0.0; at < seconds; at += 2 {
		all = append(all, Sample{at, 1e8 + (peak-1e8)*at/seconds})
	}
	return all
}

func TestCurveByHand(t *testing.T) {
	c := NewCurve([]Sample{{0, 1}, {2, 3}, {4, 2}, {12, 5}, {14, 4}})
	assert.Equal(t, Curve{Step: 5, Peak: []float64{3, 3, 5}}, c)
	assert.InDelta(t, 3, c.at(6), 0)
	assert.InDelta(t, 5, c.at(1e9), 0)
	assert.InDelta(t, 5, c.reachedWithin(3, 15), 0, "the run reached 5 after it exceeded 3")
	assert.Zero(t, c.reachedWithin(5, 15), "the run never exceeded 5")
	long := NewCurve(ramp(30*3600, 1e9))
	assert.LessOrEqual(t, len(long.Peak), maxPoints)
	assert.InDelta(t, 30*3600, long.Duration(), long.Step)
	assert.Empty(t, NewCurve(nil).Peak)
}

func TestRampsGetGrowingLimits(t *testing.T) {
	var l Learner
	var pool Pool
	const s = 5e9
	assert.InDelta(t, s, l.Plan(&pool, s, Timing{}).Start(), 1, "without earlier runs, the first limit is the static grant")
	for i := range 12 {
		l.Learn(&pool, NewCurve(ramp(3600*(1+.02*float64(i%3)), 4e9)), s, Timing{})
	}
	p := l.Plan(&pool, s, Timing{})
	assert.Less(t, p.Start(), s/2)
	limit := p.Start()
	for _, m := range ramp(3600, 4e9) {
		limit = Grow(limit, p.Need(m.Seconds, m.Memory))
		require.Greater(t, limit, m.Memory)
		require.LessOrEqual(t, limit, s*1.05)
	}
	assert.NotEmpty(t, p.Steps())
	assert.LessOrEqual(t, p.Risk, maxRisk)
	lifted := p.Lift(4.5e9)
	assert.InDelta(t, 4.5e9*lift, lifted.Start(), 1)
}

// The limit of a run whose memory does not grow must not exceed its static grant by more than 2 %.
func TestFlatRunsHardlyExceedTheStaticGrant(t *testing.T) {
	var l Learner
	var pool Pool
	const level, grant = 4e9, 4.1e9
	for i := range 20 {
		run := []Sample{{0, 1e8}}
		for at := 2.0; at < 1800+float64(i); at += 2 {
			run = append(run, Sample{at, level})
		}
		if i >= 10 {
			limits := l.Plan(&pool, grant, Timing{}).Follow(run, 0, Timing{})
			assert.LessOrEqual(t, limits[len(limits)-1], grant*1.02, "run %d", i)
		}
		l.Learn(&pool, NewCurve(run), grant, Timing{})
	}
}

// The memory of all runs jumps at the same time. Their static grant is just above their peak, as it is for regular runs. The
// plan must save as large a share of the possible savings as with noise, although at the end of a run
// the usage is just below the static grant, and thus near the limit of every rule.
func TestPlansOfRegularRunsSaveAsMuchAsThoseOfNoisyRuns(t *testing.T) {
	const jump, end, peak = 4320.0, 5400.0, 8e9
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ noise, grant float64 }{{0, 1.001}, {0, 1.02}, {.003, 1.02}, {.01, 1.02}, {.03, 1.05}} {
		var l Learner
		var pool Pool
		planned, perfect := 0.0, 0.0
		for i := range 24 {
			var run []Sample
			for at := 0.0; at < end; at += 10 {
				level := .3 * peak
				if at >= jump {
					level = peak
				}
				run = append(run, Sample{at, level * math.Exp(c.noise*rng.NormFloat64())})
			}
			curve := NewCurve(run)
			grant := c.grant * curve.Max()
			if i >= 20 {
				for k, limit := range l.Plan(&pool, grant, Timing{}).Follow(run, 0, Timing{}) {
					require.GreaterOrEqual(t, limit, run[k].Memory, "noise %v, run %d, %v s", c.noise, i, run[k].Seconds)
					planned += limit
					perfect += curve.at(run[k].Seconds)
				}
			}
			l.Learn(&pool, curve, grant, Timing{})
		}
		assert.Less(t, planned, 1.45*perfect, "noise %v, grant of %v peaks, rule %s", c.noise, c.grant, l.Plan(&pool, peak, Timing{}).Rule())
	}
}

// The memory of each run of the task jumps at a random time. Before the jump, the limit must already cover the memory after
// the jump.
func TestRandomJumpsAreCoveredBeforeTheyHappen(t *testing.T) {
	var l Learner
	var pool Pool
	for i := range 20 {
		jump := 100 + math.Mod(float64(i)*937, 3300)
		var run []Sample
		for at := 0.0; at < 3600; at += 2 {
			level := 5e8
			if at > jump {
				level = 4e9
			}
			run = append(run, Sample{at, level})
		}
		l.Learn(&pool, NewCurve(run), 5e9, Timing{})
	}
	p := l.Plan(&pool, 5e9, Timing{})
	assert.Greater(t, Grow(p.Start(), p.Need(600, 5e8)), 4e9, "limit before a jump by the rule %s: it must already cover the memory after the jump", p.Rule())
}

// The earlier runs had much more memory than they needed, as imported runs often have. A share of their allocation would have
// covered each jump, but the same share of a tight grant does not.
func TestPlansHoldWithTighterGrantsThanThoseOfTheEarlierRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	spiked := func() []Sample {
		var run []Sample
		seconds, scale, at := 1800*math.Exp(.15*rng.NormFloat64()), math.Exp(.05*rng.NormFloat64()), rng.Float64()
		for now := 0.0; now < seconds; now += 2 {
			level := 1e9
			if math.Abs(now-at*seconds) < 30 {
				level = 6e9
			}
			run = append(run, Sample{now, level * scale})
		}
		return run
	}
	for _, allocated := range []float64{8e9, 12e9, 14e9, 16e9, 32e9, 64e9} {
		var l Learner
		var pool Pool
		for range 40 {
			l.Learn(&pool, NewCurve(spiked()), allocated, Timing{})
		}
		p := l.Plan(&pool, 7.5e9, Timing{})
		kills := 0
		for range 60 {
			run := spiked()
			for i, limit := range p.Follow(run, 0, Timing{}) {
				if run[i].Memory > limit {
					kills++
					break
				}
			}
		}
		assert.LessOrEqual(t, kills, 2, "allocated %v, rule %s", allocated, p.Rule())
	}
}

// Rules are replayed with a tight grant, so a larger grant must never lower a limit.
func TestALargerGrantNeverLowersALimit(t *testing.T) {
	known := newEnvelope([]Curve{NewCurve(ramp(1800, 4e9)), NewCurve(ramp(1500, 5e9))}, DefaultTiming)
	for i := range rules {
		for _, seconds := range []float64{0, 30, 300, 1700} {
			for level := 0.0; level < 7e9; level += 1e9 {
				f, previous := known.forecast(seconds, level), 0.0
				for grant := 1e9; grant < 2e10; grant *= 1.3 {
					limit := rules[i].limit(grant, level, f)
					require.GreaterOrEqual(t, limit, previous, "rule %s, %v s, level %v, grant %v", &rules[i], seconds, level, grant)
					previous = limit
				}
			}
		}
	}
}

func TestLearnersAreBoundedAndDeterministic(t *testing.T) {
	learn := func() (*Learner, *Pool) {
		var l Learner
		var pool Pool
		for i := range 40 {
			l.Learn(&pool, NewCurve(ramp(700+float64(i), 1e9+1e7*float64(i))), 2e9, Timing{})
		}
		return &l, &pool
	}
	a, pool := learn()
	b, _ := learn()
	assert.Len(t, a.Curves, maxCurves)
	assert.Equal(t, 40, a.Runs)
	assert.Equal(t, a, b)
	text, err := json.Marshal(a)
	require.NoError(t, err)
	var stored Learner
	require.NoError(t, json.Unmarshal(text, &stored))
	assert.Equal(t, a.Plan(pool, 2e9, Timing{}).Steps(), stored.Plan(pool, 2e9, Timing{}).Steps(), "a stored learner gives the same plan")
}

func TestTheRequestFallsWhenCoresAreIdle(t *testing.T) {
	var c Cores
	run := make([]CoreSample, 600)
	for i := range run {
		run[i] = CoreSample{float64(2 * i), .5}
		if i < 100 {
			run[i].Cores = 4
		}
	}
	assert.Equal(t, 4.5, c.Choose(4.5, Timing{}).At(run)[500], "without evidence, the static request is in force")
	for range 3 {
		c.Learn(run, 4.5, Timing{})
	}
	requests := c.Choose(4.5, Timing{}).At(run)
	assert.GreaterOrEqual(t, requests[50], 4.0)
	assert.Less(t, requests[590], 1.0)
}

func TestCoreUseAppliesToTheTimeBeforeItsSample(t *testing.T) {
	var c Cores
	c.Learn([]CoreSample{{10, .5}, {20, 3}, {120, .5}}, 2, Timing{})
	assert.Equal(t, coreTally{Requested: 240, Short: 10, Seconds: 120}, c.Rules[0])
}
