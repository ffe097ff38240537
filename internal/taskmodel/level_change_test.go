package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// levelTask is a task whose peaks are proportional to the feature `rows`. It is trained after each run, as in the service.
type levelTask struct {
	*task
	rng *rand.Rand
}

func newLevelTask(t *testing.T, seed uint64, runs int) levelTask {
	k := levelTask{newTask(t), newRand(seed)}
	for range runs {
		k.runAt(1)
	}
	return k
}

// runAt runs the task at a level, and returns the ratio of the grant to the peak, too.
func (k levelTask) runAt(level float64) (s runResult, ratio float64) {
	rows := 1e5 * math.Exp(.5*k.rng.NormFloat64())
	gibs := level * rows / 1e5 * noise(k.rng, .05)
	s = k.run(sizing.Features{"rows": sizing.NumberValue(math.Round(rows))}, gibs)
	if k.model.IsFitDue() {
		k.fit()
	}
	return s, s.granted / gibs
}

// A release doubles the peaks. In nearly all tasks, only the first run after the release is killed, and the margins are soon narrow
// again.
func TestOnlyTheFirstRunAtANewLevelIsKilled(t *testing.T) {
	var kills [3]int
	late, promised, ratio := 0, 0.0, 0.0
	const tasks, runs = 12, 20
	for seed := range uint64(tasks) {
		k := newLevelTask(t, 1200+seed, 40)
		for i := range runs {
			s, r := k.runAt(2)
			if i < len(kills) {
				kills[i] += countIf(s.killed)
			} else {
				late, promised, ratio = late+countIf(s.killed), promised+s.promised, ratio+r/tasks/(runs-float64(len(kills)))
			}
			if i == 0 {
				k.model = reopen(t, blobOf(t, k.model)) // the candidate is stored
			}
		}
	}
	assert.Equal(t, tasks, kills[0])
	assert.LessOrEqual(t, kills[1]+kills[2], 3)
	requireCalibrated(t, promised, float64(late))
	assert.Less(t, promised/tasks/(runs-3), 2*target)
	assert.Less(t, ratio, 1.35)
}

// A release that is rolled back after five runs does not widen the margins.
func TestARolledBackReleaseIsOneEvent(t *testing.T) {
	ratio := 0.0
	const tasks, runs = 6, 20
	for seed := range uint64(tasks) {
		k := newLevelTask(t, 1300+seed, 40)
		for range 5 {
			k.runAt(3)
		}
		for i := range 2 + runs {
			if _, r := k.runAt(1); i >= 2 { // two runs show the return
				ratio += r / tasks / runs
			}
		}
	}
	assert.Less(t, ratio, 1.5)
}

// Of two tasks with the same runs, one has an isolated outlier. Only the next grant is for its level.
func TestAnIsolatedOutlierRaisesOneGrant(t *testing.T) {
	for seed := range uint64(4) {
		plain, k := newLevelTask(t, 1400+seed, 60), newLevelTask(t, 1400+seed, 60)
		plain.runAt(1)
		k.runAt(2.5)
		f := sizing.Features{"rows": sizing.NumberValue(1e5)}
		before, raised := plain.model.Size(question(f)), k.model.Size(question(f))
		assert.Greater(t, raised.Limit, before.Limit.Times(2.2))
		assert.Contains(t, raised.Reason, "because the newest run needed far more than predicted")
		requireExact(t, k.model.Explain(question(f)), raised.Limit, "after an outlier")
		assert.Less(t, *raised.Promised, 3*target)
		for range 3 {
			plain.runAt(1)
			k.runAt(1)
		}
		assert.Less(t, k.model.Size(question(f)).Limit, plain.model.Size(question(f)).Limit.Times(1.4))
	}
}

// Outliers are frequent, so the model learns them as before.
func TestFrequentOutliersAreNoNewLevels(t *testing.T) {
	k := newLevelTask(t, 1500, 40)
	raised := 0
	for i := range 200 {
		level := 1.0
		if i%10 == 5 {
			level = 2.5
		}
		if _, r := k.runAt(level); i > 50 && level == 1 && r > 5 {
			raised++
		}
	}
	require.Empty(t, k.model.Levels.Changes)
	assert.Zero(t, raised)
}

// featuresAndPeak draws a run at a level.
func (k levelTask) featuresAndPeak(level float64) (sizing.Features, float64) {
	rows := 1e5 * math.Exp(.5*k.rng.NormFloat64())
	return sizing.Features{"rows": sizing.NumberValue(math.Round(rows))}, level * rows / 1e5 * noise(k.rng, .05)
}

// After a release, one of six runs has an empty input. Such runs do not contradict the new level.
func TestLowOutliersDoNotContradictANewLevel(t *testing.T) {
	for seed := range uint64(4) {
		k := newLevelTask(t, 1700+seed, 80)
		for i := range 24 {
			if i%6 == 5 {
				k.runAt(3. / 40)
			} else {
				k.runAt(3)
			}
		}
		require.Len(t, k.model.Levels.Changes, 1, "seed %d", seed)
	}
}

// The newest run before the task becomes mapped needs far more. No mapped instance decides whether this is a new level.
func TestAMappedTaskLearnsAnUndecidedRun(t *testing.T) {
	k := newLevelTask(t, 1800, 60)
	k.runAt(3)
	require.NotNil(t, k.model.Levels.Candidate)
	learned := k.model.Experts.LearnedRows
	f, gibs := k.featuresAndPeak(1)
	k.reportInstance(1, 0, f, gibs)
	k.train()
	assert.Nil(t, k.model.Levels.Candidate)
	assert.Equal(t, learned+2, k.model.Experts.LearnedRows)
}

// The peaks of a daily task are proportional to `rows`, and three times as large on some days of each month. At most two months
// are needed to learn these days, although each of them looks like a new level.
func TestDaysOfTheMonthWithLargerPeaksAreLearnedFromTwoMonths(t *testing.T) {
	t.Parallel()
	for name, isBig := range map[string]func(at time.Time) bool{
		"first":  func(at time.Time) bool { return at.Day() == 1 },
		"last":   func(at time.Time) bool { return at.AddDate(0, 0, 1).Day() == 1 },
		"to 3rd": func(at time.Time) bool { return at.Day() <= 3 },
	} {
		const tasks, days = 8, 240
		early, late, ratio, n := 0, 0, 0.0, 0.0 // killed runs on these days until 14 April and later, and grants per peak
		for seed := range uint64(tasks) {
			k := levelTask{newTask(t), newRand(1400 + seed)}
			at := time.Date(2025, 1, 5, 0, 0, 0, 0, time.UTC)
			for i := range days {
				rows := noise(k.rng, .3)
				gibs := rows * noise(k.rng, .05)
				if isBig(at) {
					gibs *= 3
				}
				s := k.run(sizing.Features{"ds": sizing.TextValue(at.Format(time.DateOnly)), "rows": sizing.NumberValue(rows)}, gibs)
				if k.model.IsFitDue() {
					k.fit()
				}
				if i >= 100 {
					late += countIf(s.killed && isBig(at))
					ratio, n = ratio+s.granted/gibs, n+1
				} else {
					early += countIf(s.killed && isBig(at))
				}
				at = at.AddDate(0, 0, 1)
			}
		}
		assert.LessOrEqual(t, early, 5*tasks, name)
		assert.LessOrEqual(t, late, tasks, name)
		assert.Less(t, ratio/n, 1.4, name)
	}
}
