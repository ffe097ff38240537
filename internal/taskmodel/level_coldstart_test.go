package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A release multiplies the peaks of a task with an input by three in its cold start. After three runs at the new level,
// the grants must follow the input at this level.
func TestAChangeOfTheLevelInTheColdStart(t *testing.T) {
	for _, change := range []int{8, 12, 16, 20} {
		used, wasted, killed := 0.0, 0.0, 0
		for seed := range uint64(3) {
			k, rng := newTask(t), newRand(seed)
			for n := range change + 15 {
				rows := 1e6 * noise(rng, .6)
				gibs := (0.5 + rows/4e5) * noise(rng, .05)
				if n >= change {
					gibs *= 3
				}
				limit := float64(k.model.Size(question(withRows(rows))).Limit) / float64(gib)
				if n >= change+3 {
					used, wasted = used+gibs, wasted+max(0, limit-gibs)
					if limit < gibs {
						killed++
					}
				}
				k.reportRows(rows, gibs)
				k.train()
			}
		}
		t.Logf("change at run %d: %.0f %% utilisation, %d killed", change, 100*used/(used+wasted), killed)
		assert.Greater(t, used/(used+wasted), 0.6, "change at run %d", change)
		assert.LessOrEqual(t, killed, 1, "change at run %d", change)
	}
}

// Two runs need three times as much, and the next ones as much as before. The next ones revoke the new
// level, in the cold start, too.
func TestAWrongChangeOfTheLevelInTheColdStartIsRevoked(t *testing.T) {
	grants := func(isDisturbed bool, ablation taskmodel.Ablation) (last float64) {
		k, rng := newTask(t), newRand(1)
		k.model = taskmodel.NewAblated(ablation)
		for n := range 17 {
			rows := 1e6 * noise(rng, .6)
			gibs := (0.5 + rows/4e5) * noise(rng, .05)
			if isDisturbed && (n == 9 || n == 10) {
				gibs *= 3
			}
			k.reportRows(rows, gibs)
			k.train()
		}
		return float64(k.model.Size(question(withRows(1e6))).Limit) / float64(gib)
	}
	usual, disturbed := grants(false, taskmodel.Ablation{}), grants(true, taskmodel.Ablation{})
	unaware := grants(true, taskmodel.Ablation{NoLevels: true})
	t.Logf("%.1f GiB without the two runs, %.1f with them, %.1f without level changes", usual, disturbed, unaware)
	assert.Less(t, disturbed, 1.2*usual)
}
