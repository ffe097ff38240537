package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func isLastDay(at time.Time) bool { return at.AddDate(0, 0, 1).Day() == 1 }

func isFirstBusinessDay(at time.Time) bool {
	weekday := at.Weekday()
	return weekday%6 != 0 && (at.Day() == 1 || weekday == time.Monday && at.Day() <= 3)
}

// peakDaysOf returns the peak days of daily runs from 10 January 2024 on, so 60 days contain two firsts and two last days.
func peakDaysOf(days int, err func(at time.Time) float64) peakDays {
	rows, errs := datesFrom(days, 24*time.Hour, err)
	d := newDatedRows(0, rows, true)
	return findPeakDays(withoutTrend(d.periodMeans(errs, 0, &calendarCycles[monthCycle])))
}

func TestTwoMonthsShowTheDaysWithLargerPeaks(t *testing.T) {
	for name, c := range map[string]struct {
		days  int
		isBig func(at time.Time) bool
		want  peakDays
	}{
		"first day":                 {60, func(at time.Time) bool { return at.Day() == 1 }, peakDays{First: 1, Last: 1, Days: 2}},
		"last day":                  {60, isLastDay, peakDays{First: 31, Last: 31, Days: 2}},
		"first three days":          {60, func(at time.Time) bool { return at.Day() <= 3 }, peakDays{First: 1, Last: 3, Days: 6}},
		"25th":                      {90, func(at time.Time) bool { return at.Day() == 25 }, peakDays{First: 25, Last: 25, Count: 1, Days: 3}},
		"first business day":        {200, isFirstBusinessDay, peakDays{First: 1, Last: 1, Count: 2, Days: 6}},
		"end of the quarter":        {200, func(at time.Time) bool { return isLastDay(at) && at.Month()%3 == 0 }, peakDays{First: 31, Last: 31, Quarter: 3, Days: 2}},
		"no day":                    {300, func(time.Time) bool { return false }, peakDays{}},
		"weekends":                  {300, func(at time.Time) bool { return at.Weekday()%6 == 0 }, peakDays{}},
		"one month":                 {40, func(at time.Time) bool { return at.Day() == 1 }, peakDays{}},
		"an outlier in one month":   {80, func(at time.Time) bool { return at.Month() == 2 && at.Day() == 1 }, peakDays{}},
		"a release in the middle":   {80, func(at time.Time) bool { return at.Month() > 2 }, peakDays{}},
		"smaller peaks on one day":  {90, func(at time.Time) bool { return at.Day() != 1 }, peakDays{}},
		"two of three first days":   {100, func(at time.Time) bool { return at.Day() == 1 && at.Month() != 3 }, peakDays{}},
		"every second day is large": {90, func(at time.Time) bool { return at.Day()%2 == 0 }, peakDays{}},
	} {
		rng := rand.New(rand.NewPCG(7, 7))
		noisy := func(at time.Time) float64 { return indicator(c.isBig(at)) + 0.1*rng.NormFloat64() }
		assert.Equal(t, c.want, peakDaysOf(c.days, noisy), name)
		weekly := func(at time.Time) float64 { return noisy(at) + indicator(at.Weekday() == time.Tuesday) }
		assert.Equal(t, c.want, peakDaysOf(c.days, weekly), "%s, and Tuesdays are large", name)
		growing := func(at time.Time) float64 { return noisy(at) + float64(at.Unix())/1e7 }
		assert.Equal(t, c.want, peakDaysOf(c.days, growing), "%s, with growth", name)
	}
}

// No seed of 400 finds a day in noise with heavy tails.
func TestNoiseHasNoPeakDays(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 9))
		found := peakDaysOf(60+int(seed), func(time.Time) float64 { return rng.NormFloat64() * math.Exp(.5*rng.NormFloat64()) })
		require.Equal(t, peakDays{}, found, "seed %d", seed)
	}
}

func TestPeakDaysAreAnInputOfTheLineOnly(t *testing.T) {
	c := column{Kind: sizing.Date, PeakDays: peakDays{First: 30, Last: 31, Days: 4}}
	wide, _ := c.widths()
	for text, want := range map[string]float64{"2024-02-27": 0, "2024-02-28": 1, "2024-02-29": 1, "2024-03-01": 0, "2024-04-30": 1} {
		line, tree := c.date(sizing.TextValue(text), nil, nil)
		require.Len(t, line, wide)
		assert.Len(t, tree, 2)
		assert.Equal(t, want, line[2], text)
		assert.Equal(t, want > 0, c.isException(sizing.TextValue(text)), text)
	}
	line, _ := c.date(sizing.Value{}, nil, nil)
	assert.Zero(t, line[2], "a missing date")
	assert.False(t, c.isException(sizing.Value{}))
	c.PeakDays.Days = exceptionRows
	assert.False(t, c.isException(sizing.TextValue("2024-02-29")), "many days show the effect")
	require.NotPanics(t, func() { c.PeakDays.has(math.MaxFloat64) })
}

func TestBusinessDaysAreCountedFromBothEndsOfTheMonth(t *testing.T) {
	for text, want := range map[string][2]int{ // from the start, from the end
		"2024-06-01": {0, 0}, "2024-06-03": {1, 20}, "2024-06-28": {20, 1}, "2024-06-30": {0, 0},
		"2024-02-01": {1, 21}, "2024-02-29": {21, 1}, "2024-12-31": {22, 1},
	} {
		days := sizing.TextValue(text).Num
		assert.Equal(t, want, [2]int{businessDay(days), businessDayFromEnd(days)}, text)
	}
	assert.Equal(t, 1, quarterMonth(sizing.TextValue("2024-04-01").Num))
	assert.Equal(t, 3, quarterMonth(sizing.TextValue("2024-12-31").Num))
}
