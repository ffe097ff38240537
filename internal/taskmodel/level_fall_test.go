package taskmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// newFallTask returns a daily task whose first runs have peaks of about 8 GiB. `runs` is their number.
func newFallTask(t *testing.T, seed uint64, runs int) levelTask {
	k := levelTask{newTask(t), newRand(seed)}
	k.between = 24 * time.Hour
	for range runs {
		k.runConstant(8)
	}
	return k
}

// runConstant adds a run with a peak of about `gibs`. ratio is the grant divided by the peak.
func (k levelTask) runConstant(gibs float64) (s runResult, ratio float64) {
	gibs *= noise(k.rng, .05)
	s = k.run(sizing.Features{}, gibs)
	if k.model.IsFitDue() {
		k.fit()
	}
	return s, s.granted / gibs
}

// An optimisation divides the peaks by four, in the cold start or after it. The grants follow after five runs, and nearly no run is
// killed.
func TestGrantsFollowAFallAfterFiveRuns(t *testing.T) {
	kills, n := 0, 0
	for _, runs := range []int{8, 12, 24, 48} {
		for seed := range uint64(2) {
			k := newFallTask(t, 1900+seed, runs)
			for i := range 20 {
				s, ratio := k.runConstant(2)
				kills, n = kills+countIf(s.killed), n+1
				switch {
				case i == 2:
					require.Len(t, k.model.Levels.Fall, 3)
					k.model = reopen(t, blobOf(t, k.model)) // the runs are stored
				case i < 5:
					assert.Greater(t, ratio, 3., "grants stay at the old level")
				default:
					assert.Less(t, ratio, 1.6, "run %d after a fall at run %d", i, runs)
				}
			}
			require.Equal(t, runs+20, k.model.Experts.LearnedRows)
		}
	}
	assert.LessOrEqual(t, kills, n/50, "of %d", n)
}

// After eight low runs, of which five show a fall, the peaks return to the level before it. The first lift goes to this level, and
// later low runs are no fall.
func TestATaskWithARevokedFallHasNoFurtherFall(t *testing.T) {
	k := newFallTask(t, 2000, 40)
	for range 8 {
		k.runConstant(2)
	}
	require.Len(t, k.model.Levels.Changes, 1)
	q := question(sizing.Features{})
	ladder := k.model.Size(q).Ladder
	require.Greater(t, len(ladder), 2)
	assert.InDelta(t, 4, float64(ladder[1])/float64(ladder[0]), .6)
	requireExact(t, k.model.Explain(q), ladder[0], "after a fall")
	kills := 0
	for i := range 20 {
		s, ratio := k.runConstant(8)
		if kills += countIf(s.killed); i > 1 {
			assert.Less(t, ratio, 1.5)
		}
	}
	assert.Equal(t, 1, kills)
	changes := k.model.Levels.Changes
	require.Len(t, changes, 2)
	assert.Zero(t, changes[0].Log+changes[1].Log)
	for range 8 {
		k.runConstant(2)
	}
	assert.Len(t, k.model.Levels.Changes, 2, "no further fall")
}

// Fewer than five low runs, low runs of a level that has occurred before, and low runs that are an hour apart are no fall.
func TestOtherLowRunsAreNoFall(t *testing.T) {
	for name, isLow := range map[string]func(run int) bool{
		"four runs":      func(run int) bool { return run >= 40 && run < 44 },
		"a known mode":   func(run int) bool { return run == 12 || run >= 40 },
		"weekends":       func(run int) bool { return run%7 >= 5 },
		"no lower level": func(int) bool { return false },
	} {
		k := newFallTask(t, 2100, 0)
		for run := range 60 {
			gibs := 8.
			if isLow(run) {
				gibs = 2
			}
			k.runConstant(gibs)
			require.Empty(t, k.model.Levels.Changes, "%s, run %d", name, run)
		}
	}
	k := newFallTask(t, 2100, 40)
	k.between = time.Hour
	for range 8 {
		k.runConstant(2)
	}
	assert.Empty(t, k.model.Levels.Changes, "hourly runs")
}
