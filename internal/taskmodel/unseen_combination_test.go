package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// marketsAndDepartments draws runs whose log peak is the sum of an effect of the market, one of the department, and one of
// the combination with the standard deviation `deviation`. The first market never has the first department.
func marketsAndDepartments(deviation float64, seed uint64) generator {
	rng := newRand(seed)
	var effects [6][5]float64
	for i := range effects {
		for j := range effects[i] {
			effects[i][j] = deviation * rng.NormFloat64()
		}
	}
	return func(rng *rand.Rand) (sizing.Features, float64) {
		i, j := rng.IntN(6), rng.IntN(5)
		for i+j == 0 {
			i, j = rng.IntN(6), rng.IntN(5)
		}
		return combination(i, j), math.Exp(0.2*float64(i)+0.1*float64(j)+effects[i][j]) * noise(rng, 0.05)
	}
}

func combination(i, j int) sizing.Features {
	return sizing.Features{"market": sizing.TextValue(fmt.Sprint("market-", i)), "department": sizing.TextValue(fmt.Sprint("department-", j))}
}

// The values of a new combination are known, but its effect is not.
func TestPromiseForANewCombinationIncludesTheDifferencesOfTheKnownCombinations(t *testing.T) {
	t.Parallel()
	const seeds, draws, runs = 12, 400, 300
	for _, c := range []struct {
		deviation float64
		most      float64 // largest promise
	}{{0, 0.03}, {0.2, 0.3}, {0.5, 0.4}} {
		killed, promised, grant := 0.0, 0.0, 0.0
		for seed := range uint64(seeds) {
			k, rng := trainedTask(t, marketsAndDepartments(c.deviation, seed), seed, runs)
			s := k.model.Size(question(combination(0, 0)))
			promised += *s.Promised / seeds
			grant += float64(s.Limit) / seeds / float64(sizing.GiB)
			for range draws {
				if bytes(math.Exp(c.deviation*rng.NormFloat64())*noise(rng, 0.05)) > s.Limit {
					killed += 1.0 / seeds / draws
				}
			}
		}
		t.Logf("%+v: killed %.3f, promised %.3f, mean grant %.2f Gi", c, killed, promised, grant)
		assert.Less(t, killed, 1.5*promised+0.01, "%+v", c)
		assert.Less(t, promised, c.most, "%+v", c)
	}
}

func TestReasonNamesANewCombinationOnce(t *testing.T) {
	k, _ := trainedTask(t, marketsAndDepartments(0.5, 3), 3, 300)
	first := k.model.Size(question(combination(0, 0)))
	assert.Contains(t, first.Reason, "this combination of department and market was not seen before")
	k.run(combination(0, 0), 1)
	second := k.model.Size(question(combination(0, 0)))
	assert.NotContains(t, second.Reason, "was not seen before")
	assert.Less(t, *second.Promised, *first.Promised)
}
