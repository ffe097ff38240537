package taskmodel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// summerTime is the start of summer time in Berlin in 2024.
var summerTime = time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC)

// inBerlin returns a time in 2024, before the end of summer time, on the clock of Berlin.
func inBerlin(at time.Time) time.Time {
	hours := 1
	if !at.Before(summerTime) {
		hours = 2
	}
	return at.In(time.FixedZone("", hours*3600))
}

// hoursUntil returns n hourly rows with one date each, the last one at the given time. text formats a date.
func hoursUntil(last time.Time, n int, text func(at time.Time) string, y func(at time.Time) float64) (rows [][]sizing.Value, values []float64) {
	for i := range n {
		at := last.Add(time.Duration(i-n+1) * time.Hour)
		rows, values = append(rows, []sizing.Value{sizing.TextValue(text(at))}), append(values, y(at))
	}
	return rows, values
}

func TestColumnsOfADateFollowTheClockOnWhichThePeaksDepend(t *testing.T) {
	const days = 24 * time.Hour
	withOffset := func(at time.Time) string { return inBerlin(at).Format(time.RFC3339) }
	inUTC := func(at time.Time) string { return at.Format(time.RFC3339) }
	localNight := func(at time.Time) float64 { return indicator(inBerlin(at).Hour() < 2) }
	for name, c := range map[string]struct {
		last    time.Time
		text    func(at time.Time) string
		logPeak func(at time.Time) float64
		isLocal bool
	}{
		"winter":               {summerTime.Add(-5 * days), withOffset, localNight, true},
		"first days of summer": {summerTime.Add(3 * days), withOffset, localNight, true},
		"weeks of summer":      {summerTime.Add(30 * days), withOffset, localNight, true},
		"local Sundays":        {summerTime.Add(30 * days), withOffset, func(at time.Time) float64 { return indicator(inBerlin(at).Weekday() == 0) }, true},
		"hours in UTC":         {summerTime.Add(30 * days), withOffset, func(at time.Time) float64 { return indicator(at.Hour() < 2) }, false},
		"no cycle":             {summerTime.Add(30 * days), withOffset, func(time.Time) float64 { return 20 }, true},
		"texts in UTC":         {summerTime.Add(30 * days), inUTC, localNight, false},
		"few offsets": {summerTime.Add(-5 * days), func(at time.Time) string { // stored by a release that did not keep offsets
			if at.Before(summerTime.Add(-10 * days)) {
				return inUTC(at)
			}
			return withOffset(at)
		}, localNight, false},
	} {
		rows, y := hoursUntil(c.last, 1500, c.text, c.logPeak)
		e := encoded(rows, y...)
		assert.Equal(t, c.isLocal, e.Columns[0].LocalTime, name)
		if !e.Columns[0].WithHour {
			continue
		}
		next := c.last.Add(10 * time.Hour)
		want := float64(next.UTC().Hour())
		if v := sizing.TextValue(c.text(next)); c.isLocal {
			want = sizing.Hour(v.LocalDays())
		}
		_, tree := e.encode([]sizing.Value{sizing.TextValue(c.text(next))}, nil, nil)
		assert.Equal(t, want, tree[2], name)
	}
}

func TestEffectsOfADateFollowTheClockOnWhichTheErrorsDepend(t *testing.T) {
	text := func(at time.Time) string { return inBerlin(at).Format(time.RFC3339) }
	for name, c := range map[string]struct {
		hour    func(at time.Time) int
		isLocal bool
	}{
		"local hours":  {func(at time.Time) int { return inBerlin(at).Hour() }, true},
		"hours in UTC": {func(at time.Time) int { return at.Hour() }, false},
	} {
		rows, errs := hoursUntil(summerTime.AddDate(0, 0, 30), 1500, text, func(at time.Time) float64 { return indicator(c.hour(at) == 3) })
		e := cycleErrors{rows: rows, errors: errs}
		cycles := e.fit([]column{{Kind: sizing.Date}})
		require.Len(t, cycles, 1, name)
		require.Equal(t, dayCycle, cycles[0].Cycle, name)
		require.Equal(t, c.isLocal, cycles[0].LocalTime, name)
	}
}

func TestDifferencesOfDatesIgnoreOffsets(t *testing.T) {
	e := &encoder{Pairs: [][2]int{{0, 1}}}
	cells := []sizing.Value{sizing.TextValue("2024-03-31T01:30:00+01:00"), sizing.TextValue("2024-03-31T03:30:00+02:00")}
	_, tree := e.differences(cells, nil, nil)
	require.InDelta(t, 1.0/24, tree[0], 1e-9)
}

func TestImputedDatesKeepTheHourOfTheDonorRow(t *testing.T) {
	e := &encoder{Columns: []column{{Kind: sizing.Date}, {Kind: sizing.Date, RarelyMissing: true}}}
	donor := []sizing.Value{sizing.TextValue("2024-03-30T06:00:00+01:00"), sizing.TextValue("2024-03-30T04:00:00+01:00")}
	table := donorTableOf([][]sizing.Value{donor})
	filled := e.fillFrom([]sizing.Value{sizing.TextValue("2024-04-09T06:00:00+02:00"), {}}, table.row(0, nil), nil)
	require.Equal(t, "2024-04-09T04:00:00+02:00", filled[1].JSON())
}
