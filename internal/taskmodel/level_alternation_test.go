package taskmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// runDaily runs the task perDay times on each day from a Monday on, and calls visit after each run. dailyLevel returns the level
// of the peaks on a day.
func (k levelTask) runDaily(days, perDay int, dailyLevel func(at time.Time) float64, visit func(at time.Time, run int, s runResult)) {
	k.between = 24 * time.Hour / time.Duration(perDay)
	at := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)
	for range days {
		for i := range perDay {
			s := k.run(sizing.Features{"ds": sizing.TextValue(at.Format(time.DateOnly))}, dailyLevel(at)*noise(k.rng, .04))
			if k.model.IsFitDue() {
				k.fit()
			}
			visit(at, i, s)
		}
		at = at.AddDate(0, 0, 1)
	}
}

// The peaks are larger at weekends. The first weekend looks like a new level, and shows what the next ones need.
func TestWeekendsAreLearnedFromTheFirstOne(t *testing.T) {
	t.Parallel()
	for _, perDay := range []int{4, 8, 24} {
		const tasks, weeks = 6, 4
		first, killed, promised, runs := 0, 0, 0.0, 0
		for seed := range uint64(tasks) {
			k := levelTask{newTask(t), newRand(1900 + seed)}
			weekend := func(at time.Time) float64 {
				if at.Weekday()%6 == 0 {
					return 2.5
				}
				return 1
			}
			k.runDaily(7*weeks, perDay, weekend, func(at time.Time, i int, s runResult) {
				if at.Day() < 13 {
					return
				}
				killed, promised, runs = killed+countIf(s.killed), promised+s.promised, runs+1
				if at.Weekday() == time.Saturday && i == 0 {
					first += countIf(s.killed)
				}
			})
		}
		assert.LessOrEqual(t, first, 1, "%d runs a day", perDay)
		requireCalibrated(t, promised, float64(killed))
		assert.Less(t, promised/float64(runs), 2*target, "%d runs a day", perDay)
	}
}

// With several runs a day, too, two months show the days of the month with larger peaks.
func TestFirstDaysOfTheMonthAreLearnedFromTwoMonths(t *testing.T) {
	t.Parallel()
	const tasks = 6
	killed := 0
	for seed := range uint64(tasks) {
		k := levelTask{newTask(t), newRand(2000 + seed)}
		firstDays := func(at time.Time) float64 {
			if at.Day() <= 2 {
				return 2.5
			}
			return 1
		}
		k.runDaily(150, 4, firstDays, func(at time.Time, i int, s runResult) {
			if at.Month() >= time.April && at.Day() == 1 && i == 0 { // April, May and June
				killed += countIf(s.killed)
			}
		})
	}
	assert.LessOrEqual(t, killed, tasks/2)
}

// A release starts on a Thursday and is rolled back on the following Saturday, each time between two runs of the day. Other runs
// have these weekdays, too, so the two changes of the level are no effect of the weekday, and both stay.
func TestARolledBackReleaseIsNoEffectOfTheWeekday(t *testing.T) {
	k := levelTask{newTask(t), newRand(2100)}
	run := 0
	release := func(time.Time) float64 {
		if run++; run > 30 && run <= 45 {
			return 3
		}
		return 1
	}
	k.runDaily(7, 8, release, func(time.Time, int, runResult) {})
	require.Len(t, k.model.Levels.Changes, 2)
}
