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

// datesFrom returns n rows with one date each, and their log peaks. The dates begin on 10 January 2024, one per step.
func datesFrom(n int, step time.Duration, logPeak func(at time.Time) float64) (rows [][]sizing.Value, y []float64) {
	at := time.Date(2024, 1, 10, 0, 0, 0, 0, time.UTC)
	for range n {
		rows, y = append(rows, []sizing.Value{sizing.TextValue(at.Format(time.RFC3339))}), append(y, logPeak(at))
		at = at.Add(step)
	}
	return rows, y
}

func TestDatesGetColumnsForCyclesOfThePeak(t *testing.T) {
	const day = 24 * time.Hour
	rng := rand.New(rand.NewPCG(1, 1))
	noisy := func(mean float64) float64 { return mean + 0.15*rng.NormFloat64() }
	for name, c := range map[string]struct {
		runs           int
		step           time.Duration
		logPeak        func(at time.Time) float64
		monthDay, hour bool
	}{
		"no cycle":                    {1500, 7 * time.Hour, func(time.Time) float64 { return noisy(0) }, false, false},
		"growth":                      {1500, 7 * time.Hour, func(at time.Time) float64 { return noisy(float64(at.Unix()) / 1e7) }, false, false},
		"constant peaks":              {1500, 7 * time.Hour, func(time.Time) float64 { return 20.123 }, false, false},
		"weekends":                    {700, day, func(at time.Time) float64 { return noisy(float64(at.Weekday() % 6)) }, false, false},
		"first day of the month":      {365, day, func(at time.Time) float64 { return noisy(2 * indicator(at.Day() == 1)) }, true, false},
		"last day of the month":       {365, day, func(at time.Time) float64 { return noisy(2 * indicator(at.AddDate(0, 0, 1).Day() == 1)) }, true, false},
		"office hours":                {500, time.Hour, func(at time.Time) float64 { return noisy(indicator(at.Hour() > 8 && at.Hour() < 18)) }, false, true},
		"too few days for a cycle":    {20, day, func(at time.Time) float64 { return noisy(2 * indicator(at.Day() == 1)) }, false, false},
		"large peaks on one day only": {1000, time.Hour, func(at time.Time) float64 { return 3 * indicator(at.YearDay() == 20) }, false, false},
		"hours 0 and 12, no noise":    {60, 12 * time.Hour, func(at time.Time) float64 { return float64(at.Hour()) }, false, true},
	} {
		rows, y := datesFrom(c.runs, c.step, c.logPeak)
		column := encoded(rows, y...).Columns[0]
		assert.Equal(t, c.monthDay, column.WithMonthDay, "%s: day of the month", name)
		assert.Equal(t, c.hour, column.WithHour, "%s: hour", name)
	}
}

func TestDayOfTheMonthIsAlignedToTheEndIfPeaksDependOnIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		isLarge func(at time.Time) bool
		aligned bool
	}{
		"last day":     {func(at time.Time) bool { return at.AddDate(0, 0, 1).Day() == 1 }, true},
		"two days":     {func(at time.Time) bool { return at.Day() == 1 || at.AddDate(0, 0, 1).Day() == 1 }, true},
		"25th":         {func(at time.Time) bool { return at.Day() == 25 }, false},
		"29th to 31st": {func(at time.Time) bool { return at.Day() >= 29 }, false},
	} {
		for _, days := range []int{90, 400, 1100} {
			rows, y := datesFrom(days, 24*time.Hour, func(at time.Time) float64 { return 1.8*indicator(c.isLarge(at)) + 0.08*rng.NormFloat64() })
			column := encoded(rows, y...).Columns[0]
			assert.True(t, column.WithMonthDay, "%s in %d days", name, days)
			assert.Equal(t, c.aligned, column.AlignedMonthDay, "%s in %d days", name, days)
		}
	}
}

func TestAlignedDayCountsFromTheEndOfTheMonth(t *testing.T) {
	for text, want := range map[string]float64{
		"2024-02-29": 31, "2025-02-28": 31, "2025-04-30T23:59:59Z": 31, "2025-12-31": 31, "2025-04-29": 30,
		"2025-02-16": 19, "2025-12-16": 16, "2025-02-15": 15, "2025-03-01": 1, "1969-11-30T07:00:00Z": 31,
	} {
		aligned := column{Kind: sizing.Date, WithMonthDay: true, AlignedMonthDay: true}
		_, tree := aligned.date(sizing.TextValue(text), nil, nil)
		require.Equal(t, want, tree[2], text)
	}
	require.NotPanics(t, func() { alignedMonthDay(math.MaxFloat64) })
	require.True(t, math.IsNaN(alignedMonthDay(math.NaN())))
}

// Earlier releases would read the aligned day as the day.
func TestABlobWithAnAlignedDayHasANewFormat(t *testing.T) {
	m := New()
	m.Models = &models{Enc: &encoder{Columns: []column{{Kind: sizing.Date, WithMonthDay: true}}}}
	require.Equal(t, offsetFreeVersion, m.Format())
	m.Models.Enc.Columns[0].AlignedMonthDay = true
	require.Equal(t, alignedVersion, m.Format())
}

// Earlier releases would read the local time as UTC.
func TestABlobWithLocalTimeHasANewFormat(t *testing.T) {
	m := New()
	m.Models = &models{Enc: &encoder{Columns: []column{{Kind: sizing.Date, LocalTime: true}}}}
	require.Equal(t, localVersion, m.Format())
	m.Models.Enc.Columns[0].PeakDays = peakDays{First: 1, Last: 1}
	require.Equal(t, peakDaysVersion, m.Format(), "earlier releases would give the line too few inputs")
}

func TestDateWithCyclesIsEncodedAsDayOfTheMonthAndHour(t *testing.T) {
	c := column{Kind: sizing.Date, WithMonthDay: true, WithHour: true}
	for text, want := range map[string][]float64{ // weekday, month, day of the month, hour
		"2024-02-29":                {4, 1, 29, 0},
		"2024-03-01T23:59:59Z":      {5, 1, 1, 23},
		"2024-03-01T23:59:59.9Z":    {5, 1, 1, 23},
		"2024-03-01T22:59:59.9Z":    {5, 1, 1, 22},
		"1969-12-31T07:00:00Z":      {3, 11, 31, 7},
		"2024-05-01T00:30:00+02:00": {2, 3, 30, 22},
	} {
		_, tree := c.date(sizing.TextValue(text), nil, nil)
		requireSame(t, want, tree, text)
	}
	for text, want := range map[string][]float64{"2020-01-04": {1, 1}, "2020-01-06": {0, 1}, "1969-12-31": {0, math.Cos(math.Pi / 6)}} {
		line, _ := c.date(sizing.TextValue(text), nil, nil) // a Saturday, a Monday and a Wednesday
		requireSame(t, want, line, text)
	}
	_, tree := c.date(sizing.Value{}, nil, nil)
	requireSame(t, []float64{nan, nan, nan, nan}, tree, "missing")
	require.NotPanics(t, func() { c.date(sizing.Value{Kind: sizing.Date, Num: math.MaxFloat64}, nil, nil) })
}

// In the first year, the month shows only the time since the start. Later, a trend makes the last month of each year the
// largest one.
func TestAMonthThatOnlyShowsATrendCountsAsMissing(t *testing.T) {
	const day = 24 * time.Hour
	rng := rand.New(rand.NewPCG(1, 1))
	noisy := func(mean float64) float64 { return mean + 0.08*rng.NormFloat64() }
	daysSince := func(at time.Time) float64 { return at.Sub(time.Date(2024, 1, 10, 0, 0, 0, 0, time.UTC)).Hours() / 24 }
	weekend := func(at time.Time) float64 { return 1.8 * indicator(at.Weekday()%6 == 0) }
	summer := func(at time.Time) float64 { return indicator(at.Month() > 5 && at.Month() < 9) }
	for name, c := range map[string]struct {
		runs    int
		step    time.Duration
		logPeak func(at time.Time) float64
		month   bool
	}{
		"growth of a year":             {370, day, func(at time.Time) float64 { return noisy(weekend(at) + daysSince(at)/300) }, false},
		"growth of three years":        {1000, day, func(at time.Time) float64 { return noisy(weekend(at) + daysSince(at)/300) }, false},
		"a release in the first year":  {390, day, func(at time.Time) float64 { return noisy(weekend(at) + 0.7*indicator(daysSince(at) > 200)) }, false},
		"a summer":                     {400, day, func(at time.Time) float64 { return weekend(at) + summer(at) }, false},
		"two summers":                  {731, day, func(at time.Time) float64 { return weekend(at) + summer(at) }, true},
		"two summers in monthly dates": {26, 30 * day, func(at time.Time) float64 { return summer(at) + daysSince(at)/2000 }, true},
	} {
		rows, y := datesFrom(c.runs, c.step, c.logPeak)
		enc := encoded(rows, y...)
		for _, text := range []string{"2026-01-04", "2026-07-07"} { // a Sunday and a Tuesday
			line, tree := enc.encode([]sizing.Value{sizing.TextValue(text)}, nil, nil)
			require.Len(t, line, 2)
			assert.Equal(t, c.month, !math.IsNaN(tree[1]), "%s: month of %s", name, text)
			assert.Equal(t, c.month, line[1] != 0, "%s: cosine of the month of %s", name, text)
		}
	}
}

// The peaks only grow with time. The runs of one hour count as one value, because they resemble one another, so many runs do
// not make this growth a daily cycle.
func TestGrowthIsNoDailyCycle(t *testing.T) {
	for _, runs := range []int{92, 300, 2000} {
		rows, y := datesFrom(runs, 15*time.Minute, func(at time.Time) float64 { return float64(at.Unix()) / 1e5 })
		assert.False(t, encoded(rows, y...).Columns[0].WithHour, "%d runs", runs)
	}
}

// A cycle gets effects only if earlier periods predict later ones, so neither a trend nor a few large errors are a cycle.
func TestErrorsGetEffectsOfTheCyclesOnWhichTheyDepend(t *testing.T) {
	const day = 24 * time.Hour
	source := rand.NewPCG(1, 1)
	rng := rand.New(source)
	noisy := func(mean float64) float64 { return mean + 0.2*rng.NormFloat64() }
	wednesday := func(at time.Time) float64 { return 2 * indicator(at.Weekday() == time.Wednesday) }
	last := func(at time.Time) float64 { return 2 * indicator(at.AddDate(0, 0, 1).Day() == 1) }
	for name, c := range map[string]struct {
		runs  int
		step  time.Duration
		err   func(at time.Time) float64
		want  []int
		dates map[string]float64 // expected sum of the effects on each date
	}{
		"no cycle":             {400, day, func(time.Time) float64 { return noisy(0) }, nil, nil},
		"growth":               {400, day, func(at time.Time) float64 { return noisy(float64(at.YearDay()) / 50) }, nil, nil},
		"a few large errors":   {400, day, func(time.Time) float64 { return noisy(3 * indicator(rng.Float64() < 0.05)) }, nil, nil},
		"tiny effects":         {400, day, func(at time.Time) float64 { return wednesday(at) / 1000 }, nil, nil},
		"Wednesdays":           {60, day, func(at time.Time) float64 { return noisy(wednesday(at)) }, []int{weekCycle}, map[string]float64{"2024-06-05": 2, "2024-06-06": 0}},
		"last day":             {200, day, func(at time.Time) float64 { return noisy(last(at)) }, []int{alignedMonthCycle}, map[string]float64{"2024-06-30": 2, "2024-07-30": 0}},
		"the 25th":             {200, day, func(at time.Time) float64 { return noisy(2 * indicator(at.Day() == 25)) }, []int{monthCycle}, map[string]float64{"2024-06-25": 2}},
		"hour 3":               {200, time.Hour, func(at time.Time) float64 { return noisy(2 * indicator(at.Hour() == 3)) }, []int{dayCycle}, map[string]float64{"2024-06-05T03:20:00Z": 2}},
		"summer":               {900, day, func(at time.Time) float64 { return noisy(indicator(at.Month() == 6)) }, []int{yearCycle}, map[string]float64{"2026-06-16": 1}},
		"Wednesdays, last day": {400, day, func(at time.Time) float64 { return noisy(wednesday(at) + last(at)) }, []int{weekCycle, alignedMonthCycle}, map[string]float64{"2024-07-31": 4, "2024-06-30": 2}},
		"moved to Wednesday": {400, day, func(at time.Time) float64 {
			if at.YearDay() < 180 && at.Year() == 2024 {
				return noisy(wednesday(at.AddDate(0, 0, 1)))
			}
			return noisy(wednesday(at))
		}, []int{weekCycle}, map[string]float64{"2025-06-04": 2, "2025-06-03": 0}},
	} {
		source.Seed(1, 1) // the order of the cases is random
		rows, errors := datesFrom(c.runs, c.step, c.err)
		effects := (&cycleErrors{rows: rows, errors: errors}).fit([]column{{Kind: sizing.Date}})
		var cycles []int
		for _, e := range effects {
			cycles = append(cycles, e.Cycle)
		}
		assert.Equal(t, c.want, cycles, name)
		for text, want := range c.dates {
			assert.InDelta(t, want, effects.effect([]sizing.Value{sizing.TextValue(text)}), 0.3, "%s: %s", name, text)
		}
		assert.Zero(t, effects.effect([]sizing.Value{{}}), "%s: no date", name)
	}
}

func TestABlobWithEffectsOfAnUnknownColumnOrCycleDoesNotOpen(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(1, 0)), 0, 30, .2, 1)
	for _, e := range []cycleEffect{{Column: 1}, {Column: -1}, {Cycle: cycleCount}} {
		m.Models.CoreCycles = cycleEffects{e}
		blob, err := m.Blob()
		require.NoError(t, err)
		_, err = Open(blob)
		require.ErrorIs(t, err, ErrFormat)
	}
}
