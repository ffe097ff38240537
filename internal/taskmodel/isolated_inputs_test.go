package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A typo must not widen the range within which nothing is extrapolated.
func TestInputsWithATypoDoNotWidenTheRange(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(5, 21))
	for i := range 300 {
		x := math.Round(1000 * math.Exp(4*rng.Float64()))
		typed := x
		if i == 60 || i == 250 {
			x, typed = 2000+1000*rng.Float64(), x*1000
		}
		k.reportSuccess(withRows(typed), (0.5+x/10_000)*noise(rng, 0.04))
	}
	k.train()
	for _, x := range []float64{120_000, 2_000_000} { // more than 2 times and more than 36 times the largest correct input
		granted := k.model.Size(question(withRows(x)))
		assert.Contains(t, granted.Reason, "outside the known range", "%v rows", x)
		assert.Nil(t, granted.Promised, "%v rows: %s", x, granted.Reason)
	}
}

// Two inputs of large runs are a thousand times too small.
func TestInputsMadeTooSmallByATypoDoNotWidenTheRange(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(5, 22))
	for i := range 300 {
		x := math.Round(1e6 * math.Exp(2*rng.Float64()))
		typed := x
		if i == 60 || i == 250 {
			x = (6 + rng.Float64()) * 1e6
			typed = x / 1000
		}
		k.reportSuccess(withRows(typed), (0.5+x/1e6)*noise(rng, 0.04))
	}
	k.train()
	s := k.model.Size(question(withRows(6000)))
	assert.Contains(t, s.Reason, "treated as missing")
	assert.Nil(t, s.Promised)
}

// VerifiedBlob returns a blob, and no error, even if the answer of the model for the newest row of the task has no promised risk, as after a
// typo.
func TestModelWithAnUnusualNewestRowIsVerified(t *testing.T) {
	k, rng := newTask(t), newRand(8)
	for range 150 {
		x := math.Round(1000 + 9000*rng.Float64())
		k.reportSuccess(withRows(x), (0.5+x/10_000)*noise(rng, 0.04))
	}
	k.reportSuccess(withRows(5_000_000), 1.1)
	k.train()
	require.Nil(t, k.model.Size(question(withRows(5_000_000))).Promised)
	_, err := k.model.VerifiedBlob(&k.history)
	require.NoError(t, err)
}
