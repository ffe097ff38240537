package taskmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// An hourly task has larger peaks in the office hours of weekdays. The first hours of the first weekend are at night, so the hour
// alone explains their small peaks. The model must not learn an additional effect of the weekend from these peaks.
func TestRunsInTheFirstHoursOfTheFirstWeekendAreRarelyKilled(t *testing.T) {
	killed := 0
	for seed := range uint64(6) {
		k := levelTask{newTask(t), newRand(2200 + seed)}
		for at := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC); at.Before(time.Date(2025, 1, 11, 8, 0, 0, 0, time.UTC)); at = at.Add(time.Hour) {
			gibs := noise(k.rng, .04)
			if at.Weekday() != time.Saturday && at.Hour() >= 8 && at.Hour() < 18 {
				gibs *= 3
			}
			s := k.run(sizing.Features{"logical_date": sizing.TextValue(at.Format(time.RFC3339))}, gibs)
			if k.model.IsFitDue() {
				k.fit()
			}
			killed += countIf(s.killed && at.Weekday() == time.Saturday)
		}
	}
	assert.LessOrEqual(t, killed, 2)
}
