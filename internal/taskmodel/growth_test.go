package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The peaks grow by 1 % per run, so the newest runs set a record every few runs. The runs from the 151st on are killed at most
// about twice as often as promised.
func TestOldTasksWithGrowingPeaksKeepTheirPromises(t *testing.T) {
	kills, promised, granted, used := 0, 0.0, 0.0, 0.0
	for seed := range uint64(6) {
		k, rng := newTask(t), newRand(970+seed)
		for i := range 250 {
			gibs := math.Pow(1.01, float64(i)) * noise(rng, .08)
			s := k.run(nil, gibs)
			k.train()
			if i >= 150 {
				kills, promised = kills+countIf(s.killed), promised+s.promised
				granted, used = granted+s.granted/gibs, used+1
			}
		}
	}
	assert.Less(t, float64(kills), 2*promised+4, "promised %.1f", promised)
	assert.Less(t, granted/used, 1.4)
}

func countIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
