package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The peaks grow by 1 % per run, so the newest runs set a record every few runs. The runs from the 151st on are killed at most
// about twice as often as promised.
func TestPromisesForGrowingPeaks(t *testing.T) {
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

// The peaks grow by 4 % per run. The cold-start rule must not treat the growth as noise. Also when the experts compete with this
// rule, the grants must stay near the peaks.
func TestGrantsStayNearGrowingPeaksInTheColdStart(t *testing.T) {
	kills, coldStart, later := 0, 0.0, 0.0
	const tasks, runs = 4, 44
	for seed := range uint64(tasks) {
		k, rng := newTask(t), newRand(980+seed)
		for i := range runs {
			gibs := math.Pow(1.04, float64(i)) * noise(rng, .03)
			s := k.run(nil, gibs)
			if i < 12 {
				continue
			}
			kills += countIf(s.killed)
			if i < 32 {
				coldStart += s.granted / gibs / (tasks * 20)
			} else {
				later += s.granted / gibs / (tasks * 12)
			}
		}
	}
	assert.Less(t, coldStart, 1.18) // 1.35 without a trend
	assert.Less(t, later, 1.18)
	assert.LessOrEqual(t, kills, 4)
	t.Logf("granted %.2f and %.2f times the peaks, %d killed", coldStart, later, kills)
}

func countIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
