package taskmodel_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

type usage struct{ seconds, cores float64 }

func withUsage(t *testing.T, draw func(rng *rand.Rand) (sizing.Features, usage)) *task {
	k, rng := newTask(t), newRand(31)
	for range 150 {
		f, used := draw(rng)
		r := measuredRun(noise(rng, 0.05))
		r.Duration = time.Duration(used.seconds * noise(rng, 0.05) * float64(time.Second))
		r.CPUMax, r.Requested = sizing.Cores(used.cores*noise(rng, 0.02)), sizing.Resources{CPU: 8}
		k.report(f, r)
	}
	k.fit()
	return k
}

func askUsage(k *task, f sizing.Features) taskmodel.Answer {
	q := question(f)
	q.Requested.CPU, q.Timeout = 8, 900*time.Second
	return k.model.Size(q)
}

// A flag decides whether a run takes a minute and half a core, or two hours and six cores. A question without the flag
// must not get the mean of both.
func TestRunTimeAndCPUWithoutADecisiveFlag(t *testing.T) {
	k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
		f := sizing.Features{"full": sizing.BoolValue(rng.Float64() < 0.3), "region": sizing.TextValue([]string{"a", "b"}[rng.IntN(2)])}
		if f["full"] == sizing.BoolValue(true) {
			return f, usage{7200, 6}
		}
		return f, usage{60, 0.5}
	})
	for name, f := range map[string]sizing.Features{
		"no feature": nil, "another feature": {"region": sizing.TextValue("a")}, "an unknown feature": {"x": sizing.NumberValue(1)},
	} {
		s := askUsage(k, f)
		require.NotNil(t, s.Duration, name)
		assert.InEpsilon(t, 60, s.Duration.Median.Seconds(), 0.2, name)
		assert.InEpsilon(t, 7400, s.Duration.P95.Seconds(), 0.2, name)
		assert.InDelta(t, 0.3, *s.Duration.Timeout, 0.08, name)
		assert.InDelta(t, 0.3, s.Duration.Outlier, 0.08, name)
		assert.GreaterOrEqual(t, float64(s.CPU), 6.0, name)
		times := k.model.RunTimes([]sizing.Features{f})
		assert.InEpsilon(t, s.Duration.P95.Seconds(), times.Quantile(.95), 1e-3, name)
		table := times.Table(200)
		assert.InEpsilon(t, 60, table[100], 0.2, name)
		assert.InEpsilon(t, 7400, table[190], 0.2, name)
		assert.InEpsilon(t, 7400, times[0].Quantile(.95), 0.2, name)
	}
	short := askUsage(k, sizing.Features{"full": sizing.BoolValue(false), "region": sizing.TextValue("a")})
	assert.Less(t, short.Duration.P95.Seconds(), 90.0)
	assert.LessOrEqual(t, float64(short.CPU), 0.75)
}

func TestRunTimeAndCPUWithoutAProportionalInput(t *testing.T) {
	k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
		rows := 1000 + 99_000*rng.Float64()
		return sizing.Features{"rows": sizing.NumberValue(rows)}, usage{rows / 100, rows / 12_500}
	})
	s := askUsage(k, nil)
	assert.InEpsilon(t, 950, s.Duration.P95.Seconds(), 0.2)
	assert.GreaterOrEqual(t, float64(s.CPU), 7.0)
}

// Reports of runs without the flag must not change the predictions for runs with the flag.
func TestRunsWithoutADecisiveFlagDoNotChangeTheOthers(t *testing.T) {
	k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
		full := rng.Float64() < 0.3
		if full {
			return sizing.Features{"full": sizing.BoolValue(full)}, usage{7200, 6}
		}
		return sizing.Features{"full": sizing.BoolValue(full)}, usage{60, 0.5}
	})
	short := sizing.Features{"full": sizing.BoolValue(false)}
	before, ratios := askUsage(k, short), len(k.model.Ratios())
	for i := range 6 {
		r := measuredRun(1)
		r.Duration, r.CPUMax, r.Requested = []time.Duration{time.Minute, 2 * time.Hour}[i%2], []sizing.Cores{0.5, 6}[i%2], sizing.Resources{CPU: 8}
		k.report(nil, r)
	}
	after := askUsage(k, short)
	assert.Len(t, k.model.Ratios(), ratios)
	assert.InEpsilon(t, before.Duration.P95.Seconds(), after.Duration.P95.Seconds(), 0.1)
	assert.Equal(t, before.CPU, after.CPU)
}

// One run in twenty is long. A few donor rows (the similar rows from which a missing feature gets values) may include no long
// run, so the quantiles use the donor rows and all further rows that are as similar as the least similar of them.
func TestQuantilesWithoutTheFlagOfRareLongRunsIncludeTheseRuns(t *testing.T) {
	for start := range 5 {
		i := start
		k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
			if i++; i%20 == 0 {
				return sizing.Features{"full": sizing.BoolValue(true)}, usage{7200, 6}
			}
			return sizing.Features{"full": sizing.BoolValue(false)}, usage{60, 0.5}
		})
		s := askUsage(k, nil)
		assert.Greater(t, s.Duration.P99.Seconds(), 6000.0, start)
		assert.InDelta(t, 0.05, *s.Duration.Timeout, 0.04, start)
		assert.GreaterOrEqual(t, float64(s.CPU), 6.0, start)
	}
}

// A question with a value that the models drop gets the CPU request of a question without the feature, whether the CPU use grows
// or falls with the feature.
func TestCPUForADroppedValueIsThatWithoutTheFeature(t *testing.T) {
	for name, cores := range map[string]func(rows float64) float64{
		"rising": func(rows float64) float64 { return rows / 10 }, "falling": func(rows float64) float64 { return 4.1 - rows/10 },
	} {
		k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
			rows := float64(10 + rng.IntN(31))
			return withRows(rows), usage{5 * rows, cores(rows)}
		})
		for _, rows := range []float64{1e5, 1e12, -5} {
			assert.Equal(t, askUsage(k, nil).CPU, askUsage(k, withRows(rows)).CPU, "%s, %v", name, rows)
		}
		before := askUsage(k, withRows(25)).CPU
		for range 5 { // the CPU use of such a run says nothing about the errors of the regression
			r := measuredRun(1)
			r.CPUMax, r.Requested = 1, sizing.Resources{CPU: 8}
			k.report(withRows(1e12), r)
		}
		assert.Equal(t, before, askUsage(k, withRows(25)).CPU, name)
	}
	k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
		size := rng.IntN(3)
		return sizing.Features{"size": sizing.TextValue([]string{"small", "mid", "large"}[size])}, usage{60, []float64{0.5, 2, 7}[size]}
	})
	assert.Equal(t, askUsage(k, nil).CPU, askUsage(k, sizing.Features{"size": sizing.TextValue("new")}).CPU)
}

// A number that is too large to extrapolate may belong to a long run. Its predicted run time is that at the edge of the known
// range, unless the run time without the number is longer.
func TestRunTimeForADroppedLargeNumberIsThatAtTheEdge(t *testing.T) {
	for name, seconds := range map[string]func(rows float64) float64{
		"rising": func(rows float64) float64 { return rows * rows }, "falling": func(rows float64) float64 { return 40_000 / rows },
	} {
		for _, given := range []sizing.Features{{}, {"full": sizing.BoolValue(true)}} { // a row may lack other features, too
			k := withUsage(t, func(rng *rand.Rand) (sizing.Features, usage) {
				rows, isFull := float64(4+rng.IntN(37)), rng.IntN(2) == 0
				f, factor := withRows(rows), 1.0
				if isFull {
					factor = 3
				}
				f["full"] = sizing.BoolValue(isFull)
				return f, usage{seconds(rows) * factor, 1}
			})
			missing, edge := askUsage(k, given), askUsage(k, with(given, "rows", sizing.NumberValue(40)))
			want := edge
			if name == "falling" {
				want = missing
			}
			for _, rows := range []float64{1e5, 1e12} {
				f := with(given, "rows", sizing.NumberValue(rows))
				large := askUsage(k, f)
				assert.InEpsilon(t, want.Duration.Median.Seconds(), large.Duration.Median.Seconds(), 0.01, name)
				assert.InEpsilon(t, want.Duration.P95.Seconds(), large.Duration.P95.Seconds(), 0.01, name)
				assert.InDelta(t, *want.Duration.Timeout, *large.Duration.Timeout, 0.01, name)
				assert.InEpsilon(t, large.Duration.Median.Seconds(), k.model.RunTimes([]sizing.Features{f}).Quantile(.5), 0.01, name)
				assert.Equal(t, name == "rising", strings.Contains(large.Reason, "; run time raised to that at the edge of the known range"), large.Reason)
			}
			negative := askUsage(k, with(given, "rows", sizing.NumberValue(-1e6)))
			assert.Equal(t, missing.Duration.Median, negative.Duration.Median, name)
		}
	}
}
