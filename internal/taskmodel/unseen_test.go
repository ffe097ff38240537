package taskmodel_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func regions(rng *rand.Rand) (sizing.Features, float64) {
	at := rng.IntN(4)
	f := sizing.Features{"region": sizing.TextValue([]string{"emea", "apac", "amer", "anz"}[at]), "rows": sizing.NumberValue(float64(1 + rng.IntN(100)))}
	return f, float64(1+at) * (1 + f["rows"].Num/100) * noise(rng, .05)
}

func TestUnseenValueIsNamedAndRaisesTheRisk(t *testing.T) {
	for _, runs := range []int{60, 200} {
		k, rng := trainedTask(t, regions, 600, runs)
		for range 10 {
			f, _ := regions(rng)
			seen := k.model.Size(question(f))
			assert.NotContains(t, seen.Reason, "not seen before")
			s := k.model.Size(question(with(f, "region", sizing.TextValue("mars"))))
			require.Contains(t, s.Reason, `; region "mars" was not seen before`)
			if s.Limit < bytes(4*(1+f["rows"].Num/100)) {
				assert.Greater(t, *s.Promised, 0.1, s.Reason)
			}
			q := question(with(f, "region", sizing.TextValue("mars")))
			assert.Equal(t, s.Promised, k.model.Risk(q, s.Limit))
			assert.Equal(t, s, k.model.Size(q), "an answer must not depend on the previous content of the buffers")
		}
	}
}

// If new values are frequent, the residuals already include those of runs with new values.
func TestFrequentUnseenValuesDoNotRaiseTheRisk(t *testing.T) {
	n := 0
	newUsers := func(rng *rand.Rand) (sizing.Features, float64) {
		n++
		return sizing.Features{"user": sizing.TextValue(fmt.Sprint("user-", n/2)), "rows": sizing.NumberValue(float64(1 + rng.IntN(100)))}, 2 * noise(rng, .3)
	}
	k, rng := trainedTask(t, newUsers, 610, 150)
	f, _ := newUsers(rng)
	old := k.model.Size(question(with(f, "user", sizing.TextValue("user-70"))))
	unseen := k.model.Size(question(with(f, "user", sizing.TextValue("another"))))
	assert.Contains(t, unseen.Reason, `user "another" was not seen before`)
	assert.InDelta(t, *old.Promised, *unseen.Promised, 0.02)
}

func TestUnseenValueOfTheOnlyFeatureIsSizedLikeAMissingOne(t *testing.T) {
	k, _ := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) {
		at := rng.IntN(3)
		return sizing.Features{"region": sizing.TextValue([]string{"emea", "apac", "amer"}[at])}, []float64{1, 4, 9}[at] * noise(rng, .03)
	}, 620, 90)
	unseen := k.model.Size(question(sizing.Features{"region": sizing.TextValue("mars")}))
	none := k.model.Size(question(sizing.Features{}))
	assert.Equal(t, none.Limit, unseen.Limit, unseen.Reason)
	assert.Greater(t, *unseen.Promised, *none.Promised+0.1, "a fourth value may need more than the three known ones")
	assert.Greater(t, unseen.Limit, bytes(8))
	assert.Contains(t, unseen.Reason, `no feature is known: sized by the peaks of all runs; region "mars" was not seen before`)
}

// A feature that was constant so far has no column.
func TestUnseenValueOfAConstantFeatureIsNamed(t *testing.T) {
	for _, runs := range []int{1, 2, 10, 25, 60} {
		for name, c := range map[string]struct {
			known, other sizing.Value
			want         string
		}{
			"text":      {sizing.TextValue("v1"), sizing.TextValue("v2"), `"v2"`},
			"long text": {sizing.TextValue(strings.Repeat("v", 90)), sizing.TextValue(strings.Repeat("v", 90) + "2"), `"` + strings.Repeat("v", 40) + `…"`},
			"bool":      {sizing.BoolValue(false), sizing.BoolValue(true), "true"},
		} {
			for _, alone := range []bool{false, true} {
				of := func(v sizing.Value, rows int) sizing.Features {
					if alone {
						return sizing.Features{"code": v}
					}
					return sizing.Features{"code": v, "rows": sizing.NumberValue(float64(rows))}
				}
				k, rng := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) {
					rows := 10 + rng.IntN(90)
					return of(c.known, rows), (.5 + float64(rows)/50) * noise(rng, .05)
				}, 630, runs)
				known := k.model.Size(question(of(c.known, 50)))
				require.NotContains(t, known.Reason, "not seen before", name)
				k.model = reopen(t, blobOf(t, k.model))
				unseen := k.model.Size(question(of(c.other, 50)))
				require.Contains(t, unseen.Reason, "; code "+c.want+" was not seen before", "%s %d", name, runs)
				k.reportSuccess(of(c.other, 50), 1.5*noise(rng, .05))
				require.NotContains(t, k.model.Size(question(of(c.other, 50))).Reason, "not seen before", name)
			}
		}
	}
}
