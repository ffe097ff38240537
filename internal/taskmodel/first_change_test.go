package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// After 35 runs with one value of a feature, nobody knows the effect of another value.
func TestFirstChangeOfAFeatureRaisesThePromise(t *testing.T) {
	with := func(name string, v sizing.Value) func(rng *rand.Rand) (sizing.Features, float64) {
		return func(rng *rand.Rand) (sizing.Features, float64) {
			rows := 1 + rng.IntN(1000)
			f := sizing.Features{"rows": sizing.NumberValue(float64(rows))}
			if v.Kind != sizing.Missing {
				f[name] = v
			}
			return f, (.3 + float64(rows)/500) * noise(rng, .08)
		}
	}
	for name, c := range map[string]struct {
		before, after sizing.Value
		reason        string
	}{
		"customer": {sizing.TextValue("A"), sizing.TextValue("B"), `; customer "B" was not seen before (one value so far)`},
		"full":     {sizing.BoolValue(false), sizing.BoolValue(true), "; full true was not seen before (one value so far)"},
		"mode":     {sizing.Value{}, sizing.TextValue("backfill"), "; sent for the first time: mode"},
		"region":   {sizing.TextValue("eu"), sizing.Value{}, "; missing for the first time: region"},
		"chunk":    {sizing.NumberValue(10), sizing.NumberValue(1), "outside the known range: chunk 1 (10 … 10)"},
	} {
		k, rng := trainedTask(t, with(name, c.before), 1200, 35)
		f, _ := with(name, c.before)(rng)
		known := k.model.Size(question(f))
		require.Less(t, *known.Promised, .05, name)
		delete(f, name)
		if c.after.Kind != sizing.Missing {
			f[name] = c.after
		}
		changed := k.model.Size(question(f))
		assert.Greater(t, *changed.Promised, .1, "%s: %s", name, changed.Reason)
		assert.Less(t, *changed.Promised, .4, "%s: %s", name, changed.Reason)
		assert.Contains(t, changed.Reason, c.reason, name)
		assert.Equal(t, changed.Promised, k.model.Risk(question(f), changed.Limit), name)
		k.model = reopen(t, blobOf(t, k.model))
		assert.Equal(t, changed, k.model.Size(question(f)), name)

		before := k.model.Pool()
		k.reportSuccess(f, 1)
		after := k.model.Pool()
		assert.NotEqual(t, before.Effects, after.Effects, "%s: other tasks of the DAG learn the size of the effect", name)
		assert.Less(t, *k.model.Size(question(f)).Promised, *changed.Promised, "%s: the second run with the new value", name)
	}
}

// No slope is known for a number that had one value so far.
func TestNumberFarAboveItsOnlyValueGetsTheRequest(t *testing.T) {
	k, _ := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) {
		rows := 1 + rng.IntN(1000)
		return sizing.Features{"rows": sizing.NumberValue(float64(rows)), "limit": sizing.NumberValue(10000)}, (.3 + float64(rows)/500) * noise(rng, .08)
	}, 1210, 35)
	for _, limit := range []float64{30000, 100000, 200000} {
		q := question(sizing.Features{"rows": sizing.NumberValue(500), "limit": sizing.NumberValue(limit)})
		q.Requested.Memory, q.Cap = bytes(64), bytes(256)
		s := k.model.Size(q)
		assert.Equal(t, bytes(64), s.Limit, s.Reason)
		assert.Nil(t, s.Promised)
		e := k.model.Explain(q)
		assert.Equal(t, s.Limit, e.Granted)
	}
}
