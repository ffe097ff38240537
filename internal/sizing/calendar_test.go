package sizing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestWeekdayAndHourOfTimesInDays(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(2025, 3, 5, 23, 59, 59, 0, time.UTC), time.Date(2025, 3, 9, 0, 0, 0, 0, time.UTC), time.Date(2025, 3, 9, 1, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC),
	} {
		days := float64(at.Unix()) / (24 * 3600)
		assert.InDelta(t, float64(at.Weekday()), sizing.Weekday(days), 0, "%s", at)
		assert.InDelta(t, float64(at.Hour()), sizing.Hour(days), 0, "%s", at)
	}
}
