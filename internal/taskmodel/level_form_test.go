package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// runWith runs the task with an amount added to its peak, and returns the ratio of the grant to the peak, too.
func (k levelTask) runWith(added float64) (s runResult, ratio float64) {
	rows := 1e5 * math.Exp(.5*k.rng.NormFloat64())
	gibs := rows/1e5*noise(k.rng, .05) + added
	s = k.run(sizing.Features{"rows": sizing.NumberValue(math.Round(rows))}, gibs)
	if k.model.IsFitDue() {
		k.fit()
	}
	return s, s.granted / gibs
}

// A larger base image adds an amount to all peaks. A factor would be too small for small inputs and too large for large ones.
func TestAnAmountAddedToAllPeaksIsNotLearnedAsAFactor(t *testing.T) {
	const tasks, runs, decisive = 12, 30, 15
	kills, late, ratio := 0, 0, 0.0
	for seed := range uint64(tasks) {
		k := newLevelTask(t, 1900+seed, 50)
		for i := range runs {
			s, r := k.runWith(1.5)
			switch {
			case i == 0: // the change itself
			case i < decisive:
				kills += countIf(s.killed)
			default:
				late, ratio = late+countIf(s.killed), ratio+r/tasks/(runs-decisive)
			}
			if i == 1 {
				k.model = reopen(t, blobOf(t, k.model)) // the evidence is stored
			}
		}
	}
	assert.LessOrEqual(t, kills, 7)
	assert.LessOrEqual(t, late, 4)
	assert.Less(t, ratio, 1.35)
}

// After a release that adds an amount is rolled back, grants are as before.
func TestAnAddedAmountIsSubtractedAgain(t *testing.T) {
	const tasks, runs = 6, 20
	kills, ratio := 0, 0.0
	for seed := range uint64(tasks) {
		k := newLevelTask(t, 2000+seed, 50)
		for range 8 {
			k.runWith(1.5)
		}
		for i := range 2 + runs {
			if s, r := k.runWith(0); i >= 2 { // two runs show the return
				kills, ratio = kills+countIf(s.killed), ratio+r/tasks/runs
			}
		}
	}
	assert.LessOrEqual(t, kills, 4)
	assert.Less(t, ratio, 1.5)
}
