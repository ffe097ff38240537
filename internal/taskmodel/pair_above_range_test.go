package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The windows of a task have their ends in Unix seconds, and take one to three hours. A run with a longer window is answered,
// explained and learned, whether the peaks depend on the length or not, and the next fit includes it.
func TestALongerWindowThanAllBeforeIsAnsweredAndLearned(t *testing.T) {
	for seed := range uint64(4) {
		for _, slope := range []float64{0, .02, .15} { // rise of the peak per hour
			k, rng := newTask(t), newRand(900+seed)
			window := func(day, hours int) sizing.Features {
				start := 1.77e9 + 86400*float64(day)
				return sizing.Features{"start": sizing.NumberValue(start), "end": sizing.NumberValue(start + 3600*float64(hours))}
			}
			for day := range 80 {
				hours := []int{1, 1, 1, 1, 2, 2, 3}[rng.IntN(7)]
				k.reportSuccess(window(day, hours), 2*(1+slope*float64(hours))*noise(rng, .12))
			}
			k.fit()
			longer := []int{5, 8, 12, 24, 48}
			for _, hours := range longer {
				s, e := k.model.Size(question(window(80, hours))), k.model.Explain(question(window(80, hours)))
				assert.Greater(t, s.Limit, gib, "seed %d, slope %v, %d hours: %s", seed, slope, hours, s.Reason)
				assert.Equal(t, s.Limit, e.Granted, "seed %d, slope %v, %d hours", seed, slope, hours)
			}
			for i, hours := range longer {
				k.reportSuccess(window(80+i, hours), 2*(1+slope*float64(hours)))
			}
			model, outcome, err := taskmodel.Fit(&k.history, k.model)
			require.NoError(t, err)
			require.NotEmpty(t, outcome)
			if model != nil {
				_, err = model.VerifiedBlob(&k.history)
				require.NoError(t, err)
			}
		}
	}
}
