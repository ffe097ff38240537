package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Without features only the last peaks say how large the next peak is. The peaks depend on a level that
// drifts, such as the amount of stored data.
func TestTaskWithoutFeaturesFollowsItsLastPeaks(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(2, 26))
	level, granted, used, kills := 4.0, 0.0, 0.0, 0
	for i := range 600 {
		level = min(16, max(1, level*noise(rng, 0.05)))
		peak := level * noise(rng, 0.02)
		if limit := float64(k.model.Size(question(nil)).Limit) / float64(gib); i >= 100 && limit < peak {
			kills++
		} else if i >= 100 {
			granted, used = granted+limit, used+peak
		}
		k.reportSuccess(nil, peak)
		if i%50 == 49 {
			k.train()
		}
	}
	assert.Greater(t, used/granted, 0.75, "the grants must be near the peaks")
	assert.Less(t, kills, 8, "number of killed runs, of 500")
}
