package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// deliveries draws runs with a path as their feature. The peak depends on the customer in the path. The date and the hash
// have no effect.
func deliveries(form string) generator {
	return func(rng *rand.Rand) (sizing.Features, float64) {
		customer := rng.IntN(12)
		names := []string{"acme", "bolt", "cora", "dune", "echo", "fern", "gale", "hale", "iris", "jade", "kiwi", "lime"}
		path := fmt.Sprintf(form, names[customer], 1+rng.IntN(12), 1+rng.IntN(28), rng.Uint64())
		return sizing.Features{"path": sizing.TextValue(path)}, 0.5 * math.Exp2(float64(customer)/2.5) * noise(rng, .05)
	}
}

func TestRecurringPartsOfATextAreLearned(t *testing.T) {
	for _, form := range []string{"s3://bucket/customer-%s/2025-%02d-%02d/%016x.parquet", "/in/%s/part-%02d%02d-%x"} {
		draw := deliveries(form)
		k, rng := trainedTask(t, draw, 700, 300)
		used, granted, kills := 0.0, 0.0, 0
		for range 200 {
			f, gibs := draw(rng)
			s := k.model.Size(question(f))
			require.NotContains(t, s.Reason, "was not seen before")
			used, granted = used+gibs, granted+float64(s.Limit)/float64(gib)
			if s.Limit < bytes(gibs) {
				kills++
			}
		}
		t.Logf("%s: %.2f of the granted memory is used, %d kills", form, used/granted, kills)
		assert.Greater(t, used/granted, .6, form)
		assert.LessOrEqual(t, kills, 8, form)
		blob, err := k.model.VerifiedBlob(&k.history)
		require.NoError(t, err)
		assert.NotEmpty(t, blob)
		s := k.model.Size(question(sizing.Features{"path": sizing.TextValue("of another form")}))
		assert.Greater(t, s.Limit, bytes(1), s.Reason)
		assert.Contains(t, s.Reason, "was not seen before")
	}
}
