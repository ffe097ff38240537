package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func with(f sizing.Features, name string, v sizing.Value) sizing.Features {
	f = without(f)
	f[name] = v
	return f
}

// A value far outside the range gives the same grant as a missing value. Only a number far above the range may get more,
// because it may be right: at least the static request and, except for a few percent, the grant near the edge of the range.
func TestImplausibleInputCountsAsMissing(t *testing.T) {
	for _, runs := range []int{60, 150} {
		k, rng := trainedTask(t, salesForecast, 400, runs)
		for range 10 {
			f, _ := salesForecast(rng)
			for name, values := range map[string][]sizing.Value{
				"sale_end":      {dayValue(2_932_896), dayValue(26_000), dayValue(0), dayValue(-719_162)},
				"product_count": {sizing.NumberValue(-1e300), sizing.NumberValue(1e308), sizing.NumberValue(1e12)},
			} {
				for _, v := range values {
					odd, missing := with(f, name, v), without(f, name)
					q := question(odd)
					q.Cap = 0
					s := k.model.Size(q)
					q.Features = missing
					want := k.model.Size(q)
					if name == "product_count" && v.Num > 0 {
						want.Limit = max(want.Limit, 32*gib)
						require.Contains(t, s.Reason, "raised to the static request, because an input is too large to extrapolate")
						require.NotContains(t, s.Reason, "saves")
						q.Features, q.Requested.Memory = with(f, name, sizing.NumberValue(1700)), 0
						edge := k.model.Size(q)
						q.Features = odd
						require.GreaterOrEqual(t, k.model.Size(q).Limit, edge.Limit.Times(.93), edge.Reason) // 1700 is near the largest learned number
					}
					require.Equal(t, want.Limit, s.Limit, "%s %v: %s\n%s", name, v, s.Reason, want.Reason)
					require.Nil(t, s.Promised, s.Reason)
					require.Zero(t, k.model.Extrapolated(odd), s.Reason)
					require.Contains(t, s.Reason, "outside the known range: ")
					require.Contains(t, s.Reason, "too far to extrapolate and treated as missing")
					require.Contains(t, s.Reason, ", so no risk can be stated")
					require.Contains(t, s.Reason, name)
				}
			}
		}
	}
}

// The unit of an input changes from MB to KB. Until the next fit, the new values with usual peaks are learned as missing.
// After this fit the models know the new range, but the lines of the cold-start rule have learned only values in MB.
func TestColdStartAfterTheUnitOfAnInputChanged(t *testing.T) {
	for seed := range uint64(5) {
		k, rng := newTask(t), newRand(430+seed)
		run := func(unit float64) (sizing.Features, float64) {
			v := 50 + 950*rng.Float64()
			return withRows(unit * v), (.5 + v/100) * noise(rng, .06)
		}
		for i := range 37 {
			f, gibs := run([]float64{1, 1000}[i/33])
			k.reportSuccess(f, gibs)
			if i == 32 || i == 36 {
				k.fit()
			}
		}
		for range 10 {
			f, gibs := run(1000)
			q := question(f)
			q.Cap = 0
			s := k.model.Size(q)
			require.NotContains(t, s.Reason, "outside the known range")
			require.Less(t, s.Limit, bytes(16), s.Reason)
			k.reportSuccess(f, gibs)
		}
	}
}

// The unit of an input changes from MB to KB. The first run with a number in KB may be a large run, so its grant is large.
// After the usual peak of this run, no further run gets more than the static request of 32 GiB.
func TestUsualPeakRefutesTheExtrapolationOfItsInput(t *testing.T) {
	for seed := range uint64(5) {
		k, rng := newTask(t), newRand(430+seed)
		for range 33 {
			v := 50 + 950*rng.Float64()
			k.reportSuccess(withRows(v), (.5+v/100)*noise(rng, .06))
		}
		k.fit()
		for i := range 3 {
			v := 400 + 200*rng.Float64()
			q := question(withRows(1000 * v))
			q.Cap = 0
			s := k.model.Size(q)
			require.Contains(t, s.Reason, "outside the known range")
			if i == 0 {
				require.Greater(t, s.Limit, bytes(1000), s.Reason)
			} else {
				require.LessOrEqual(t, s.Limit, bytes(32), s.Reason)
				require.Contains(t, s.Reason, "treated as missing")
			}
			end := measuredRun((.5 + v/100) * noise(rng, .06))
			end.Allocated.Memory = 0
			k.report(withRows(1000*v), end)
			require.Empty(t, k.model.Quarantine)
		}
	}
}

// unitTask draws runs with 0.8 to 16 billion bytes of input, and returns the input in a unit, which is given in bytes. In MiB,
// each of these numbers is far below the range of the numbers in bytes.
func unitTask(rng *rand.Rand, unit float64) (sizing.Features, float64) {
	v := math.Exp(9 + 3*rng.Float64())
	return withRows(v * 1e5 / unit), (1 + v/16e3) * noise(rng, .08)
}

// The unit of an input changes from bytes to MiB. Until a fit has enough of the new numbers, runs are sized as without the
// input.
func TestNumbersFarBelowTheirRangeCountAsMissing(t *testing.T) {
	kills := 0
	for seed := range uint64(4) {
		k, rng := newTask(t), newRand(900+seed)
		for range 400 {
			f, gibs := unitTask(rng, 1)
			k.reportSuccess(f, gibs)
			if k.model.IsFitDue() {
				k.fit()
			}
		}
		for i := range 20 {
			f, gibs := unitTask(rng, 1<<20)
			q := question(f)
			s := k.model.Size(q)
			if i == 0 {
				require.Nil(t, s.Promised, s.Reason)
				require.Contains(t, s.Reason, "too far to extrapolate and treated as missing, so no risk can be stated")
				q.Features = without(f, "rows")
				require.Equal(t, k.model.Size(q).Limit, s.Limit, s.Reason)
			}
			if s.Limit < bytes(gibs) {
				kills++
			}
			k.reportSuccess(f, gibs)
			if k.model.IsFitDue() {
				k.fit()
			}
		}
	}
	assert.LessOrEqual(t, kills, 12, "of 80 runs")
}

// An empty input is empty in any unit. A small input with a peak below all others is a small run, so the next run like it is
// within the range.
func TestSmallRunsAreInRangeAfterASmallPeak(t *testing.T) {
	for seed := range uint64(4) {
		k, rng := newTask(t), newRand(950+seed)
		for range 150 {
			k.reportSuccess(unitTask(rng, 1))
		}
		k.fit()
		s := k.model.Size(question(withRows(0)))
		require.NotNil(t, s.Promised, s.Reason)
		require.Less(t, s.Limit, bytes(4), s.Reason)
		require.Nil(t, k.model.Size(question(withRows(1000))).Promised)
		k.reportSuccess(withRows(1000), 1)
		s = k.model.Size(question(withRows(1100)))
		require.NotNil(t, s.Promised, s.Reason)
		require.Less(t, s.Limit, bytes(4), s.Reason)
	}
}

// One run sent -1 for an unknown number of rows. A large number is still extrapolated; a number far below zero is not.
func TestLargeNumberIsExtrapolatedDespiteAKnownNegativeOne(t *testing.T) {
	for seed := range uint64(3) {
		k, rng := newTask(t), newRand(440+seed)
		for i := range 60 {
			v := 10 + 90*rng.Float64()
			f := withRows(v)
			if i == 30 {
				f = withRows(-1)
			}
			k.reportSuccess(f, (.2+v/100)*noise(rng, .06))
		}
		k.fit()
		q := question(withRows(5000))
		q.Cap = 0
		s := k.model.Size(q)
		require.NotContains(t, s.Reason, "treated as missing")
		require.Greater(t, s.Limit, bytes(40), s.Reason)
		q.Features = withRows(-5000)
		require.Contains(t, k.model.Size(q).Reason, "treated as missing")
	}
}

// The peak falls as the input rises, or it is constant near the upper edge of the range (plateau). So an answer above the range
// must be below the larger of 10 GiB and 1.3 times the answer at the edge, or below 50 GiB if the input is treated as missing.
// On the plateau, the reason of an answer above 1.5 times the answer at the edge must contain "extrapolated".
func TestAnswersOutsideTheRangeStayLowWithoutARisingTrend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		draw func(rng *rand.Rand) float64
		peak func(x float64) float64
		at   []float64
	}{
		"falling": {
			func(rng *rand.Rand) float64 { return math.Pow(2, float64(1+rng.IntN(4))) },
			func(x float64) float64 { return .5 + 64/x },
			[]float64{17, 20, 24, 32, 48, 64, 128, 256, 512, 4096},
		},
		"plateau": {
			func(rng *rand.Rand) float64 { return float64(1 + rng.IntN(1000)) },
			func(x float64) float64 { return map[bool]float64{true: 4, false: .5}[x >= 900] },
			[]float64{1001, 1100, 1500, 2000, 2001, 3000, 10_000},
		},
	} {
		for seed := range uint64(4) {
			for _, runs := range []int{80, 200, 400} {
				k, _ := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) {
					x := c.draw(rng)
					return withRows(x), c.peak(x) * noise(rng, .05)
				}, 410+seed, runs)
				q := question(withRows(c.at[0] - 1.5)) // no run had this input
				q.Cap = 0
				edge := k.model.Size(q).Limit
				for _, x := range c.at {
					q.Features = withRows(x)
					s := k.model.Size(q)
					most := max(bytes(10), edge.Times(1.3)) // this test does not check the answer at the edge itself
					if strings.Contains(s.Reason, "treated as missing") {
						most = bytes(50) // a run whose input is unknown may have any peak
					}
					require.Less(t, s.Limit, most, "%s, %d runs, at %v: %s", name, runs, x, s.Reason)
					if name == "plateau" && s.Limit > edge.Times(1.5) {
						assert.Contains(t, s.Reason, "extrapolated", "%s, %d runs, at %v: %s", name, runs, x, s.Reason)
					}
				}
			}
		}
	}
}

// The peak follows the product of two inputs. In the questions both inputs are above their range. The number of kills must not
// clearly exceed twice the sum of the promises.
func TestRunsWithTwoExtrapolatedInputsAreNotKilledMuchMoreThanPromised(t *testing.T) {
	draw := func(rng *rand.Rand, low, high int) (sizing.Features, float64) {
		a, b := float64(low*20+1+rng.IntN(20*(high-low))), float64(low*200+10+rng.IntN(200*(high-low)-10))
		return sizing.Features{"files": sizing.NumberValue(a), "mb": sizing.NumberValue(b)}, (.3 + a*b/1000) * noise(rng, .05)
	}
	for _, runs := range []int{60, 200, 600} {
		kills, promised, stated := 0.0, 0.0, 0
		for seed := range uint64(2) {
			k, rng := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) { return draw(rng, 0, 1) }, 420+seed, runs)
			for range 150 {
				f, gibs := draw(rng, 1, 2)
				q := question(f)
				q.Cap = 0
				s := k.model.Size(q)
				if s.Promised == nil {
					continue
				}
				stated++
				promised += *s.Promised
				if bytes(gibs) > s.Limit {
					kills++
				}
			}
		}
		t.Logf("%d runs: %v of %d killed, %.1f promised", runs, kills, stated, promised)
		assert.LessOrEqual(t, kills, 2*promised+3*math.Sqrt(promised+1), "%d runs", runs)
	}
}
