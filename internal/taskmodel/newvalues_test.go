package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// runNewTenant trains a task with eight tenants. Then it runs a new tenant len(killed) times, each time after four runs of the
// eight tenants. It adds the kills and promises of the new tenant's runs to the two slices, by run.
func runNewTenant(t *testing.T, deviation float64, seed uint64, killed, promised []float64) {
	draw := tenants(8, deviation, true, seed)
	k, rng := trainedTask(t, draw, seed, 150)
	level := noise(rng, deviation)
	for i := range killed {
		for range 4 {
			k.run(draw(rng))
		}
		f, _ := draw(rng)
		r := k.run(with(f, "tenant", sizing.TextValue("new")), level*noise(rng, 0.03))
		promised[i] += r.promised
		if r.killed {
			killed[i]++
		}
	}
}

// Only the first run with a new value is uncertain. The line and the trees learn the value at the next fit, but the second run
// with this value already gets enough.
func TestTheSecondRunOfANewValueFollowsTheFirst(t *testing.T) {
	t.Parallel()
	const runs, seeds = 6, 40
	for _, deviation := range []float64{0.05, 0.3, 0.8} {
		killed, promised := make([]float64, runs), make([]float64, runs)
		for seed := range uint64(seeds) {
			runNewTenant(t, deviation, seed, killed, promised)
		}
		t.Logf("deviation %.2f: killed %v, promised %.2f", deviation, killed, promised)
		later, expected := 0.0, 0.0
		for i := 1; i < runs; i++ {
			later, expected = later+killed[i], expected+promised[i]
		}
		assert.LessOrEqual(t, math.Abs(later-expected), max(expected/2, 3*math.Sqrt(expected)), "deviation %.2f", deviation)
	}
}

// A bool that was constant changes. The model learns the effect from the first run with the new value.
func TestTheSecondRunWithAFirstChangeFollowsTheFirst(t *testing.T) {
	killed := 0
	for seed := range uint64(8) {
		draw := tenants(8, 0.3, true, seed)
		incremental := func(rng *rand.Rand) (sizing.Features, float64) {
			f, gibs := draw(rng)
			return with(f, "full", sizing.BoolValue(false)), gibs
		}
		k, rng := trainedTask(t, incremental, seed, 150)
		f, gibs := draw(rng)
		k.run(with(f, "full", sizing.BoolValue(true)), 4*gibs)
		f, gibs = draw(rng)
		r := k.run(with(f, "full", sizing.BoolValue(true)), 4*gibs)
		if r.killed {
			killed++
		}
	}
	assert.LessOrEqual(t, killed, 2)
}

// If the later run has all features of the first run with the new value, it has a group, whose mean contains the effect of the
// new value. The effect must not count again.
func TestRepetitionOfAFirstChangeIsNotRaisedTwice(t *testing.T) {
	for seed := range uint64(8) {
		draw := tenants(8, 0.3, true, seed)
		incremental := func(rng *rand.Rand) (sizing.Features, float64) {
			f, gibs := draw(rng)
			return with(f, "full", sizing.BoolValue(false)), gibs
		}
		k, rng := trainedTask(t, incremental, seed, 150)
		f, gibs := draw(rng)
		k.run(with(f, "full", sizing.BoolValue(true)), 4*gibs)
		r := k.run(with(f, "full", sizing.BoolValue(true)), 4*gibs)
		assert.False(t, r.killed, "seed %d", seed)
		assert.Less(t, r.granted, 1.6*4*gibs, "seed %d", seed)
	}
}

func TestExplanationNamesTheFeatureWithANewValue(t *testing.T) {
	k, rng := trainedTask(t, tenants(8, 0.1, true, 5), 5, 150)
	f := with(sizing.Features{"rows": sizing.NumberValue(3)}, "tenant", sizing.TextValue("new"))
	k.run(f, 4*noise(rng, 0.03))
	f["rows"] = sizing.NumberValue(8) // no identical runs
	e := k.model.Explain(question(f))
	requireExact(t, e, k.model.Size(question(f)).Limit, "new tenant")
	for _, term := range e.Terms {
		if term.Name == "tenant" {
			assert.Greater(t, term.Factor, 2.5)
			return
		}
	}
	assert.Fail(t, "no term of the tenant", "%+v", e.Terms)
}
