package fitting_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func rowsOf(x float64) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(x)} }

// Inputs of 1 to 1,000, and questions of up to fifty times the largest, at peaks that go on
// as they went.
func TestAPeakIsExtrapolatedAlongASupportedTrend(t *testing.T) {
	for claim, peak := range map[string]func(x float64) float64{
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
			k.success(rowsOf(x), peak(x)*noise(rng, 0.03))
		}
		k.train()
		last := k.model.Size(question(rowsOf(1000))).Limit
		for _, x := range []float64{1100, 1900, 2100, 5000, 50_000} {
			q := question(rowsOf(x))
			q.Cap = 0
			s := k.model.Size(q)
			need := bytes(peak(x))
			require.Greater(t, s.Limit, need, "%s at %v: %s", claim, x, s.Reason)
			require.Less(t, s.Limit, 3*need, "%s at %v: %s", claim, x, s.Reason)
			require.GreaterOrEqual(t, s.Limit, last, "%s at %v: a larger input needs no less", claim, x)
			last = s.Limit
			if x > 2000 {
				assert.Nil(t, s.Promised, "%s at %v", claim, x)
				assert.Contains(t, s.Reason, "outside what was seen: rows")
				assert.Contains(t, s.Reason, "no risk can be stated")
			} else {
				assert.NotNil(t, s.Promised, "%s at %v", claim, x)
			}
			assert.Equal(t, s.Promised, k.model.Risk(q, s.Limit), "%s at %v", claim, x)
		}
		inside := k.model.Size(question(rowsOf(500)))
		assert.NotContains(t, inside.Reason, "outside")
		assert.Zero(t, k.model.Extrapolated(rowsOf(500)))
		assert.InEpsilon(t, peak(50_000), float64(k.model.Extrapolated(rowsOf(50_000)))/float64(gib), 0.9)
	}
}

func TestAnInputThatDrivesNothingIsNotExtrapolated(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func() sizing.Features {
		f := rowsOf(math.Round(1000 * rng.Float64()))
		f["serial"] = sizing.NumberValue(math.Round(1000 * rng.Float64()))
		return f
	}
	for range 120 {
		f := draw()
		k.success(f, 0.01*f["rows"].Num*noise(rng, 0.05))
	}
	k.train()
	f := rowsOf(500)
	f["serial"] = sizing.NumberValue(500)
	inside := k.model.Size(question(f))
	f["serial"] = sizing.NumberValue(1e6)
	outside := k.model.Size(question(f))
	assert.Greater(t, float64(outside.Limit), 0.85*float64(inside.Limit), outside.Reason)
	assert.Less(t, float64(outside.Limit), 2.2*float64(inside.Limit), outside.Reason)
	assert.NotContains(t, outside.Reason, "outside what was seen")
	assert.NotNil(t, outside.Promised)
}

func TestAnInputThatNeverVariedIsUnknown(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		f := rowsOf(1000 * (1 + rng.Float64()))
		f["copies"] = sizing.NumberValue(2)
		k.success(f, 0.001*f["rows"].Num*noise(rng, 0.05))
	}
	k.train()
	f := rowsOf(1500)
	f["copies"] = sizing.NumberValue(200)
	s := k.model.Size(question(f))
	assert.Nil(t, s.Promised)
	assert.Contains(t, s.Reason, "outside what was seen: copies 200 (2 … 2)")
}

// What is asked far outside is learned from as anything else: the next question at the same
// input is no longer outside.
func TestWhatWasExtrapolatedIsLearned(t *testing.T) {
	k := newTask(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		x := math.Round(1 + 999*rng.Float64())
		k.success(rowsOf(x), 0.01*x*noise(rng, 0.03))
	}
	k.train()
	k.success(rowsOf(20_000), 190)
	q := question(rowsOf(20_000))
	q.Cap = 0
	s := k.model.Size(q)
	assert.NotContains(t, s.Reason, "outside")
	assert.NotNil(t, s.Promised)
	assert.Greater(t, s.Limit, bytes(190))
	blob, err := k.model.Blob()
	require.NoError(t, err)
	assert.NotEmpty(t, blob)
}
