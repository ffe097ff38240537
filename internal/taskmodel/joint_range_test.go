package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// People reduce the batch for long sequences, so no learned run has large values of both.
func TestInputsThatWereNeverLargeTogetherAreExtrapolated(t *testing.T) {
	for name, peak := range map[string]func(batch, length float64) float64{
		"product":          func(batch, length float64) float64 { return batch * length / 1e6 },
		"base and product": func(batch, length float64) float64 { return 1 + batch*length/1e6 },
	} {
		for seed := range uint64(6) {
			k, rng := newTask(t), newRand(860+seed)
			features := func(batch, length float64) sizing.Features {
				if seed%3 == 0 {
					return sizing.Features{"input": sizing.TextValue(fmt.Sprintf("batch=%.0f/length=%.0f", batch, length))}
				}
				return sizing.Features{"batch": sizing.NumberValue(batch), "length": sizing.NumberValue(length)}
			}
			largest := 0.0
			for range 200 {
				a := .8 * rng.NormFloat64()
				batch, length := math.Round(1000*math.Exp(a)), math.Round(1000*math.Exp(-.8*a)*noise(rng, .48))
				largest = max(largest, peak(batch, length))
				k.reportSuccess(features(batch, length), peak(batch, length)*noise(rng, .05))
				k.train()
			}
			inside := sizeUncapped(k, features(1000, 1000))
			require.NotContains(t, inside.Reason, "outside", "%s, seed %d", name, seed)
			require.NotNil(t, inside.Promised)
			for _, x := range []float64{3300, 4900} {
				s := sizeUncapped(k, features(x, x))
				about := []any{"%s, seed %d, %v: %s", name, seed, x, s.Reason}
				ratio := float64(s.Limit) / float64(bytes(peak(x, x)))
				require.Contains(t, s.Reason, "a combination beyond the known runs", about...)
				require.Greater(t, peak(x, x), 1.5*largest, about...)
				assert.Greater(t, ratio, .8, about...)
				assert.Less(t, ratio, 3.0, about...)
				if x > 4000 {
					assert.Nil(t, s.Promised, about...)
				}
				assert.Positive(t, k.model.Extrapolated(features(x, x)), about...)
			}
		}
	}
}
