package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// tenants draws runs of n tenants; `deviation` is the standard deviation of the logarithms of their peaks. If isSized is
// true, the runs have a second feature, which has no effect.
func tenants(n int, deviation float64, isSized bool, seed uint64) generator {
	levels, rng := make([]float64, n), newRand(seed)
	for i := range levels {
		levels[i] = noise(rng, deviation)
	}
	return func(rng *rand.Rand) (sizing.Features, float64) {
		at := rng.IntN(n)
		f := sizing.Features{"tenant": sizing.TextValue(fmt.Sprint("tenant-", at))}
		if isSized {
			f["rows"] = sizing.NumberValue(float64(1 + rng.IntN(9)))
		}
		return f, levels[at] * noise(rng, 0.03)
	}
}

// The risk of the first run of a new tenant depends on the number of known tenants, not on the number of runs.
func TestPromiseForAnUnseenValueIncludesTheDifferencesOfTheKnownValues(t *testing.T) {
	t.Parallel()
	const seeds, draws, runs = 12, 200, 90
	for _, c := range []struct {
		values    int
		deviation float64
		isSized   bool
		most      float64 // largest promise
	}{{8, 0.8, false, 0.5}, {8, 0.8, true, 0.5}, {20, 0.8, false, 0.1}, {20, 0.05, false, 0.08}, {20, 0.05, true, 0.08}} {
		killed, promised := 0.0, 0.0
		for seed := range uint64(seeds) {
			draw := tenants(c.values, c.deviation, c.isSized, seed)
			k, rng := trainedTask(t, draw, seed, runs)
			f, _ := draw(rng)
			s := k.model.Size(question(with(f, "tenant", sizing.TextValue("new"))))
			promised += *s.Promised / seeds
			for range draws {
				if bytes(noise(rng, c.deviation)*noise(rng, 0.03)) > s.Limit {
					killed += 1.0 / seeds / draws
				}
			}
		}
		t.Logf("%+v: killed %.3f, promised %.3f", c, killed, promised)
		assert.Less(t, killed, 1.5*promised+0.01, "%+v", c)
		assert.Less(t, promised, c.most, "%+v", c)
	}
}

// In the cold start, the promise for a new value must come from the same distribution as the grant. The peak depends on the
// rows; six categories have no effect.
func TestPromiseForAHarmlessUnseenValueInTheColdStart(t *testing.T) {
	const seeds, runs, categories = 12, 24, 6
	draw := func(rng *rand.Rand) (sizing.Features, float64) {
		rows := 1e5 * noise(rng, 0.5)
		f := sizing.Features{"rows": sizing.NumberValue(rows)}
		for i := range categories {
			f[fmt.Sprint("k", i)] = sizing.TextValue(string("abcdefgh"[rng.IntN(8)]))
		}
		return f, (0.5 + rows/1e5) * noise(rng, 0.05)
	}
	known, unseen := 0.0, 0.0
	for seed := range uint64(seeds) {
		k, rng := trainedTask(t, draw, seed, runs)
		f, _ := draw(rng)
		known += *k.model.Size(question(f)).Promised / seeds
		for i := range categories {
			unseen += *k.model.Size(question(with(f, fmt.Sprint("k", i), sizing.TextValue("new")))).Promised / seeds / categories
		}
	}
	t.Logf("promised %.3f for known values, %.3f for one new value", known, unseen)
	assert.Greater(t, unseen, known)
	assert.Less(t, unseen, 0.1)
}
