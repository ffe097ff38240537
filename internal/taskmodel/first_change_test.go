package taskmodel_test

import (
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// After 35 runs with one value of a feature, no run shows the effect of another value.
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

// While no run has exceeded the static request, a first change raises the grant, because all mapped instances of a task change
// at once.
func TestFirstChangeOfAFeatureRaisesTheGrant(t *testing.T) {
	genome := func(name string) generator {
		return func(rng *rand.Rand) (sizing.Features, float64) {
			rows := 1 + rng.IntN(1000)
			return sizing.Features{"rows": sizing.NumberValue(float64(rows)), "genome": sizing.TextValue(name)}, (.3 + float64(rows)/500) * noise(rng, .05)
		}
	}
	for _, runs := range []int{10, 35, 90} {
		k, _ := trainedTask(t, genome("mouse"), 1220, runs)
		pool, hash := k.model.Pool(), fnv.New64a()
		_, _ = hash.Write([]byte("genome"))
		for range 10 { // other tasks of the DAG have seen large effects
			pool.RecordEffect(hash.Sum64(), 1, .6)
		}
		k.model.SetPool(&pool, nil)
		q := question(sizing.Features{"rows": sizing.NumberValue(500), "genome": sizing.TextValue("mouse")})
		known := k.model.Size(q)
		q.Features = with(q.Features, "genome", sizing.TextValue("human"))
		s := k.model.Size(q)
		assert.Greater(t, s.Limit, known.Limit.Times(1.1), s.Reason)
		assert.Less(t, s.Limit, known.Limit.Times(2.5), s.Reason)
		assert.Contains(t, s.Reason, "for the unknown effect of the first change of a feature")
		assert.InDelta(t, 10*q.RiskTarget, *s.Promised, 0.03, s.Reason)
		for i := range len(s.Ladder) - 1 {
			assert.Less(t, s.Ladder[i], s.Ladder[i+1])
		}
		e := k.model.Explain(q)
		assert.Equal(t, s.Limit, e.Granted)
		assert.Equal(t, s.Limit, e.Terms[len(e.Terms)-1].After)
		recorded, ok := k.model.ExplainRecorded(q, taskmodel.RecordedAnswer{Granted: s.Limit, Guard: s.Guard})
		assert.True(t, ok)
		assert.Equal(t, s.Limit, recorded.Terms[len(recorded.Terms)-1].After)

		q.Requested.Memory = known.Limit.Times(1.05)
		assert.LessOrEqual(t, k.model.Size(q).Limit, q.Requested.Memory.RoundUp(sizing.MiB), "not above the request")
		q.Requested.Memory = k.model.LargestPeak() - 1
		assert.Equal(t, known.Limit, k.model.Size(q).Limit, "a run exceeded the request, so it is no evidence")
	}
}
