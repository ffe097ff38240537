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
