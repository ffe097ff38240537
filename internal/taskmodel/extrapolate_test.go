package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The learned inputs are 1 to 1,000. The inputs of the questions are up to fifty times the largest learned input,
// and the peaks continue the trend.
func TestPredictionsContinueTheTrendOutsideTheRange(t *testing.T) {
	for name, peak := range map[string]func(x float64) float64{
		"proportional":             func(x float64) float64 { return 0.01 * x },
		"proportional over a base": func(x float64) float64 { return 2 + 0.01*x },
		"square root":              func(x float64) float64 { return 0.3 * math.Sqrt(x) },
	} {
		k := newTask(t)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 120 {
			x := math.Round(math.Exp(rng.Float64() * math.Log(1000)))
			if i == 60 {
				x = 1000
			}
			k.reportSuccess(withRows(x), peak(x)*noise(rng, 0.03))
		}
		k.train()
		last := k.model.Size(question(withRows(1000))).Limit
		for _, x := range []float64{1100, 1900, 2100, 5000, 50_000} {
			q := question(withRows(x))
			q.Cap = 0
			s := k.model.Size(q)
			need := bytes(peak(x))
			require.Greater(t, s.Limit, need, "%s at %v: %s", name, x, s.Reason)
			require.Less(t, s.Limit, 3*need, "%s at %v: %s", name, x, s.Reason)
			require.GreaterOrEqual(t, s.Limit, last, "%s at %v: grants must not fall as the input grows", name, x)
			last = s.Limit
			if x > 2000 {
				assert.Nil(t, s.Promised, "%s at %v", name, x)
				assert.Contains(t, s.Reason, "outside the known range: rows")
				assert.Contains(t, s.Reason, "no risk can be stated")
			} else {
				assert.NotNil(t, s.Promised, "%s at %v", name, x)
			}
			assert.Equal(t, s.Promised, k.model.Risk(q, s.Limit), "%s at %v", name, x)
		}
		inside := k.model.Size(question(withRows(500)))
		assert.NotContains(t, inside.Reason, "outside")
		assert.Zero(t, k.model.Extrapolated(withRows(500)))
		assert.InEpsilon(t, peak(50_000), float64(k.model.Extrapolated(withRows(50_000)))/float64(gib), 0.9)
	}
}

// From three runs on the range of the input is known. Before the fit at twelve runs the model has no trend of the peak.
func TestInputOutsideTheRangeOfAFewRunsHasNoPromise(t *testing.T) {
	k, rng := newTask(t), newRand(440)
	largest := 0.0
	for runs := 1; runs <= 14; runs++ {
		x := math.Round(100 * math.Exp(4*rng.Float64()))
		largest = max(largest, x)
		k.reportSuccess(withRows(x), (.5+.002*x)*noise(rng, .05))
		if runs < 3 {
			continue
		}
		q := question(withRows(4 * largest))
		s := k.model.Size(q)
		require.Nil(t, s.Promised, "%d runs: %s", runs, s.Reason)
		require.Contains(t, s.Reason, "outside the known range: rows")
		require.Contains(t, s.Reason, "no risk can be stated")
		require.Nil(t, k.model.Risk(q, s.Limit))
		inside := k.model.Size(question(withRows(largest)))
		require.NotNil(t, inside.Promised)
		require.NotContains(t, inside.Reason, "outside")
		require.GreaterOrEqual(t, s.Limit, inside.Limit)
	}
}

func TestIrrelevantInputIsNotExtrapolated(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func() sizing.Features {
		f := withRows(math.Round(1000 * rng.Float64()))
		f["serial"] = sizing.NumberValue(math.Round(1000 * rng.Float64()))
		return f
	}
	for range 120 {
		f := draw()
		k.reportSuccess(f, 0.01*f["rows"].Num*noise(rng, 0.05))
	}
	k.train()
	f := withRows(500)
	f["serial"] = sizing.NumberValue(500)
	inside := k.model.Size(question(f))
	f["serial"] = sizing.NumberValue(1e6)
	outside := k.model.Size(question(f))
	assert.Greater(t, float64(outside.Limit), 0.85*float64(inside.Limit), outside.Reason)
	assert.Less(t, float64(outside.Limit), 2.2*float64(inside.Limit), outside.Reason)
	assert.NotContains(t, outside.Reason, "outside the known range")
	assert.NotNil(t, outside.Promised)
}

func TestConstantInputIsRelevantOutsideItsRange(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		f := withRows(1000 * (1 + rng.Float64()))
		f["copies"] = sizing.NumberValue(2)
		k.reportSuccess(f, 0.001*f["rows"].Num*noise(rng, 0.05))
	}
	k.train()
	f := withRows(1500)
	f["copies"] = sizing.NumberValue(200)
	s := k.model.Size(question(f))
	assert.Nil(t, s.Promised)
	assert.Contains(t, s.Reason, "outside the known range: copies 200 (2 … 2)")
}

// One learned run has an input far outside the range of the others. The answer to a question with the same input is based on
// this run. No risk is stated, because one run shows little about the next one.
func TestExtrapolatedRunsAreLearned(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		x := math.Round(1 + 999*rng.Float64())
		k.reportSuccess(withRows(x), 0.01*x*noise(rng, 0.03))
	}
	k.train()
	k.reportSuccess(withRows(20_000), 190)
	q := question(withRows(20_000))
	q.Cap = 0
	s := k.model.Size(q)
	assert.Contains(t, s.Reason, "and, in few runs, up to 20000")
	assert.Nil(t, s.Promised)
	assert.Greater(t, s.Limit, bytes(190))
	assert.Less(t, s.Limit, bytes(2*190))
	blob, err := k.model.Blob()
	require.NoError(t, err)
	assert.NotEmpty(t, blob)
}

// sizeUncapped returns the answer to a question without a cap. It checks that Risk gives the promised risk for the limit of the
// answer.
func sizeUncapped(k *task, f sizing.Features) taskmodel.Answer {
	q := question(f)
	q.Cap = 0
	s := k.model.Size(q)
	assert.Equal(k.t, s.Promised, k.model.Risk(q, s.Limit), s.Reason)
	return s
}

func TestLadderWithoutARiskHasEqualRatios(t *testing.T) {
	k, rng := newTask(t), newRand(9)
	for range 150 {
		x := math.Round(1000 + 9000*rng.Float64())
		k.reportSuccess(withRows(x), (0.5+x/10_000)*noise(rng, 0.04))
	}
	k.train()
	q := question(withRows(20_000_000))
	q.Cap = 500 * gib
	s := k.model.Size(q)
	require.Nil(t, s.Promised, s.Reason)
	require.Len(t, s.Ladder, 1+q.Lifts)
	assert.Equal(t, q.Cap, s.Ladder[q.Lifts])
	for i := 2; i < len(s.Ladder); i++ {
		assert.InEpsilon(t, float64(s.Ladder[1])/float64(s.Ladder[0]), float64(s.Ladder[i])/float64(s.Ladder[i-1]), 0.01, "%v", s.Ladder)
	}
	q.Above = s.Ladder[0]
	assert.Equal(t, s.Ladder[1:], k.model.Size(q).Ladder, "a lift continues the ladder")
}

// saleOf returns the first and the last day of a sale; start is in days since 1970.
func saleOf(start, days float64) sizing.Features {
	return sizing.Features{"sale_start": dayValue(int(start)), "sale_end": dayValue(int(start + days))}
}

func TestDateDifferenceIsExtrapolatedLikeANumber(t *testing.T) {
	for _, added := range []string{"", "days", "planned"} { // a further feature: "days" is a number that equals the difference of the dates, "planned" is a third date
		k := newTask(t)
		rng := rand.New(rand.NewPCG(9, 10))
		draw := func(days float64) sizing.Features {
			f := saleOf(math.Round(20_000+400*rng.Float64()), days)
			switch added {
			case "days":
				f["days"] = sizing.NumberValue(days)
			case "planned":
				f["planned"] = dayValue(int(f["sale_start"].Num) - rng.IntN(30))
			}
			return f
		}
		for range 150 {
			days := 1 + float64(rng.IntN(60))
			k.reportSuccess(draw(days), (.5+days/5)*noise(rng, 0.02))
		}
		k.train()
		s := sizeUncapped(k, draw(365))
		assert.Greater(t, s.Limit, bytes(73.5), "%s: %s", added, s.Reason)
		assert.Less(t, s.Limit, bytes(3*73.5), "%s: %s", added, s.Reason)
		assert.Nil(t, s.Promised, added)
		assert.Regexp(t, `outside the known range:.* sale_end-sale_start 365 \([1-3] … 60\)`, s.Reason, added)
		inside := sizeUncapped(k, draw(30))
		assert.NotNil(t, inside.Promised, added)
		assert.NotContains(t, inside.Reason, "outside", added)
	}
}

func TestExtrapolationOfNegativeInputsAndFallingPeaks(t *testing.T) {
	for name, c := range map[string]struct {
		low, high float64 // range of the learned inputs
		at        float64 // input of the question
		peak      func(x float64) float64
		follows   bool // the reason says that the answer is extrapolated
		noRisk    bool // the answer states no risk
	}{
		"growing with the magnitude of negative inputs": {-1000, -100, -9000, func(x float64) float64 { return -.01 * x }, true, true},
		"falling, inputs of both signs":                 {-500, 500, -5000, func(x float64) float64 { return 6 - .01*x }, true, true},
		"rising, inputs of both signs":                  {-500, 500, 5000, func(x float64) float64 { return 6 + .01*x }, true, true},
		"rising, below the range":                       {-500, 500, -5000, func(x float64) float64 { return max(1, 6+.01*x) }, false, true},
		"rising, slightly below":                        {-500, 500, -900, func(x float64) float64 { return max(1, 6+.01*x) }, false, false},
		"growing with the distance from zero":           {-500, 500, -900, func(x float64) float64 { return 1 + .01*min(500, math.Abs(x)) }, false, false},
		"positive and falling, below":                   {1000, 5000, 20, func(x float64) float64 { return 2000 / x }, true, true},
	} {
		k := newTask(t)
		rng := rand.New(rand.NewPCG(11, 12))
		for range 150 {
			x := math.Round(c.low + (c.high-c.low)*rng.Float64())
			k.reportSuccess(withRows(x), c.peak(x)*noise(rng, 0.02))
		}
		k.train()
		s := sizeUncapped(k, withRows(c.at))
		assert.Greater(t, s.Limit, bytes(.95*c.peak(c.at)), "%s: %s", name, s.Reason)
		assert.Contains(t, s.Reason, "outside the known range: rows", name)
		assert.Equal(t, c.noRisk, s.Promised == nil, "%s: %s", name, s.Reason)
		assert.Equal(t, c.follows, strings.Contains(s.Reason, "extrapolated"), "%s: %s", name, s.Reason)
	}
}

// The peak is unit · (12 + slope · x) GiB for inputs x up to 1,000. The question has the input x = at.
func TestExtrapolationIsBounded(t *testing.T) {
	for _, c := range []struct{ slope, at, unit float64 }{{.01, 1e5, 100}, {-.01, -1e5, 100}, {.01, 1e9, 1}, {-.01, -1e9, 1}, {.01, 1e18, 1}, {.01, 1e9, 100}, {0, 1e18, 1}} {
		k := newTask(t)
		rng := rand.New(rand.NewPCG(13, 14))
		largest := 0.0
		for range 150 {
			x := math.Round(1000 * rng.Float64())
			deviation := 0.02
			if c.slope == 0 {
				deviation = 1
			}
			peak := c.unit * (12 + c.slope*x) * noise(rng, deviation)
			largest = max(largest, peak)
			k.reportSuccess(withRows(x), peak)
		}
		k.train()
		s := sizeUncapped(k, withRows(c.at))
		assert.LessOrEqual(t, s.Limit, min(64*1024*gib, bytes(1500*largest)), "%v: %s", c, s.Reason)
		if c.slope != 0 {
			assert.Nil(t, s.Promised, "%v: %s", c, s.Reason)
			if math.Abs(c.at) < 1e6 {
				assert.Contains(t, s.Reason, "limited to", "%v", c)
			} else {
				assert.Contains(t, s.Reason, "treated as missing", "%v", c)
			}
			assert.Greater(t, s.Limit, bytes(0.9*largest), "%v: %s", c, s.Reason)
		}
	}
}

func TestExtrapolatedAllocatesAtMostOnceForInputsInRange(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(15, 16))
	for range 60 {
		days := 1 + float64(rng.IntN(60))
		k.reportSuccess(saleOf(20_000, days), (.5+days/5)*noise(rng, 0.02))
	}
	k.train()
	f := saleOf(20_000, 30)
	k.model.Extrapolated(f)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { k.model.Extrapolated(f) }), 1.0)
}
