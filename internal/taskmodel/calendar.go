package taskmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	daysPerMonth  = 365.25 / 12
	secondsPerDay = 24 * 60 * 60

	// cycleSignificance is the p-value of the F-test below which the positions in a cycle are used: as a column of a date
	// (day of the month, hour), or as effects on run times and CPU (cycleEffects). Without a cycle such a column is noise, in
	// which trees would find splits. For the month of a date, isSeason decides instead.
	cycleSignificance = 0.001
)

// calendarCycle is a cycle of the calendar. Dates are in days since 1970. period maps a date to its period, such as its day.
// position maps a date to its position in the cycle, such as its weekday; all dates of a period have the same position.
type calendarCycle struct {
	period, position func(days float64) float64
}

// Cycles of the calendar. Blobs store these numbers.
const (
	weekCycle = iota
	monthCycle
	alignedMonthCycle // aligned to the ends of months, see alignedMonthDay
	dayCycle
	yearCycle
	cycleCount

	maxPositions = 32 // larger than all positions in a cycle
)

var calendarCycles = [cycleCount]calendarCycle{
	weekCycle:         {math.Floor, sizing.Weekday},
	monthCycle:        {math.Floor, monthDay},
	alignedMonthCycle: {math.Floor, alignedMonthDay},
	dayCycle:          {sizing.HoursSince, sizing.Hour},
	yearCycle:         {monthsSince, monthOfYear},
}

// chooseCycles chooses the columns of each date. The column of the day has the position in the month on which the peaks
// depend more: the day (bills of the 25th), or the aligned day (ends of months).
func (e *encoder) chooseCycles(rows [][]sizing.Value, y []float64) {
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Kind == sizing.Date {
			d := c.chooseClock(j, rows, y)
			c.NoMonth = !d.test(y, yearCycle).isSeason()
			day, aligned := d.test(y, monthCycle), d.test(y, alignedMonthCycle)
			c.WithMonthDay = day.isSignificant() || aligned.isSignificant()
			c.AlignedMonthDay = aligned.isSignificant() && aligned.f > day.f
			c.WithHour = d.test(y, dayCycle).isSignificant()
			c.NoWeekend = c.WithHour && d.endedWeekendDays() < 2
		}
	}
}

// chooseClock sets LocalTime and returns the rows with a date, in order. It chooses local time if a date has an offset,
// except if the offsets vary and the peaks depend more on a cycle in UTC. Offsets vary if senders mix them; reports stored by
// releases before LocalTime have no offset.
func (c *column) chooseClock(j int, rows [][]sizing.Value, y []float64) datedRows {
	local := newDatedRows(j, rows, true)
	c.LocalTime = local.isLocal
	if !local.hasOffsets {
		return local
	}
	utc := newDatedRows(j, rows, false)
	if utc.strongestCycle(y) > local.strongestCycle(y) {
		c.LocalTime = false
		return utc
	}
	return local
}

// strongestCycle returns the largest F of the cycles on which y depends, or 0. It ignores the year.
func (d *datedRows) strongestCycle(y []float64) (f float64) {
	for _, cycle := range []int{weekCycle, monthCycle, alignedMonthCycle, dayCycle} {
		if t := d.test(y, cycle); t.isSignificant() {
			f = max(f, t.f)
		}
	}
	return f
}

// cycleTest is the result of two calculations on the means of the periods in a history, such as days. The first is an F-test
// (one-way analysis of variance) of whether the means depend on the position in the cycle, such as the weekday. The second is
// the trend of the means.
type cycleTest struct {
	f, d1, d2 float64 // F and its degrees of freedom
	spread    float64 // difference of the largest and the smallest mean of a position
	slope     float64 // rise of the least-squares line per period
	size      float64 // average number of periods of a position, as in the analysis of variance of unequal groups
}

// isSeason reports whether there are about two years of dates and the months differ by more than the trend rises or falls in a
// year. Within one year, a lasting change, such as a new version of the DAG, looks like a season. A trend alone makes the last
// month of each year the largest one, and the prediction would fall at the start of the next year.
func (t cycleTest) isSeason() bool { return t.d2 >= t.d1 && t.spread > 12*math.Abs(t.slope) }

func (t cycleTest) isSignificant() bool {
	return math.IsInf(t.f, 1) || t.f > 0 && distuv.F{D1: t.d1, D2: t.d2}.Survival(t.f) < cycleSignificance
}

// datedRows are the rows with a date of one field, in the order of these dates.
type datedRows struct {
	column     int  // of the field
	isLocal    bool // the dates are in local time; false: in UTC, or no date has an offset
	hasOffsets bool // the offsets of the dates differ
	dates      []float64
	rows       []int
}

func newDatedRows(j int, rows [][]sizing.Value, isLocal bool) datedRows {
	d := datedRows{column: j}
	for i, cells := range rows {
		if cells[j].Kind != sizing.Missing {
			d.rows = append(d.rows, i)
			d.isLocal = d.isLocal || isLocal && cells[j].Offset != 0
		}
	}
	slices.SortStableFunc(d.rows, func(a, b int) int {
		return cmp.Compare(clockDays(rows[a][j], d.isLocal), clockDays(rows[b][j], d.isLocal))
	})
	for _, i := range d.rows {
		d.dates = append(d.dates, clockDays(rows[i][j], d.isLocal))
		d.hasOffsets = d.hasOffsets || rows[i][j].Offset != rows[d.rows[0]][j].Offset
	}
	return d
}

// clockDays returns a date in days since 1970 in local time or in UTC.
func clockDays(v sizing.Value, isLocal bool) float64 {
	if isLocal {
		return v.LocalDays()
	}
	return v.Num
}

// endedWeekendDays returns the number of weekend days before the day of the newest date. If the peaks depend on the hour, the
// rows of a day that has not ended lack hours, so the line would attribute the effect of these hours to the weekend.
func (d *datedRows) endedWeekendDays() (n int) {
	last := math.NaN()
	for _, at := range d.dates {
		if day := math.Floor(at); day != last && day < math.Floor(d.dates[len(d.dates)-1]) {
			last = day
			n += boolToInt(isWeekend(day))
		}
	}
	return n
}

func isWeekend(days float64) bool {
	weekday := sizing.Weekday(days)
	return weekday == 0 || weekday == 6
}

type periodMean struct {
	at       float64 // the period, see calendarCycle
	position int
	mean     float64
}

// periodMeans returns the means of y − origin by period. All rows of one period count as one value, because they resemble one
// another even without a cycle.
func (d *datedRows) periodMeans(y []float64, origin float64, c *calendarCycle) []periodMean {
	var means []periodMean
	for k := 0; k < len(d.rows); {
		p, n := periodMean{at: c.period(d.dates[k]), position: int(c.position(d.dates[k]))}, 0.0
		for ; k < len(d.rows) && (n == 0 || c.period(d.dates[k]) == p.at); k++ {
			p.mean += y[d.rows[k]] - origin
			n++
		}
		p.mean /= n
		means = append(means, p)
	}
	return means
}

func (d *datedRows) test(y []float64, cycle int) cycleTest {
	return testCycle(d.periodMeans(y, y[0], &calendarCycles[cycle])) // y[0] is subtracted, so that equal peaks give exact zeros
}

func testCycle(means []periodMean) cycleTest {
	var positions [maxPositions]meanOf
	var all, times meanOf
	products := 0.0
	for _, p := range means {
		since := p.at - means[0].at
		all.add(p.mean)
		times.add(since)
		products += p.mean * since
		positions[p.position].add(p.mean)
	}
	between, within, lowest, highest := 0.0, 0.0, math.Inf(1), math.Inf(-1)
	known, squares := 0.0, 0.0
	for k := range positions {
		p := &positions[k]
		if p.n == 0 {
			continue
		}
		d := p.mean() - all.mean()
		lowest, highest = min(lowest, p.mean()), max(highest, p.mean())
		between += p.n * d * d
		within += max(0, p.squares-p.n*p.mean()*p.mean())
		known, squares = known+1, squares+p.n*p.n
	}
	t := cycleTest{d1: known - 1, d2: all.n - known}
	if t.d1 >= 1 && t.d2 >= 1 && between > 0 {
		t.spread = highest - lowest
		t.slope = (products - times.sum*all.mean()) / (times.squares - times.sum*times.mean())
		t.f = between / t.d1 / (within / t.d2)
		t.size = (all.n - squares/all.n) / t.d1
	}
	return t
}

type meanOf struct{ n, sum, squares float64 }

func (m *meanOf) add(v float64) { m.n, m.sum, m.squares = m.n+1, m.sum+v, m.squares+v*v }

func (m *meanOf) mean() float64 { return m.sum / m.n }

// date appends the columns of a date. The line (the ridge regression) gets a weekend flag and the cosine of the
// month. The trees get the weekday (0 is Sunday), the month (0 … 11, of equal length), and the day of the month
// (1 … 31, aligned or not) and the hour if chooseCycles chose these. A month that chooseCycles did not choose counts as
// missing.
func (c *column) date(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	days, weekdayNumber, month, weekend, yearCosine := math.NaN(), math.NaN(), math.NaN(), 0.0, 0.0
	if v.Kind != sizing.Missing {
		days = clockDays(v, c.LocalTime)
		weekdayNumber = sizing.Weekday(days)
		weekend = indicator(!c.NoWeekend && isWeekend(days))
		if !c.NoMonth {
			month = monthOfYear(days)
			yearCosine = math.Cos(2 * math.Pi * month / 12)
		}
	}
	line = append(line, weekend, yearCosine)
	if c.PeakDays.First > 0 {
		line = append(line, indicator(c.PeakDays.has(days)))
	}
	tree = append(tree, weekdayNumber, month)
	switch {
	case c.AlignedMonthDay:
		tree = append(tree, alignedMonthDay(days))
	case c.WithMonthDay:
		tree = append(tree, monthDay(days))
	}
	if c.WithHour {
		tree = append(tree, sizing.Hour(days))
	}
	return line, tree
}

// monthsSince returns the number of months of equal length from 1970 to a date in days since 1970.
func monthsSince(days float64) float64 { return math.Floor(math.Floor(days) / daysPerMonth) }

// monthOfYear returns 0 … 11; the months have equal lengths.
func monthOfYear(days float64) float64 { return math.Mod(math.Mod(monthsSince(days), 12)+12, 12) }

func monthDay(days float64) float64 {
	if math.IsNaN(days) {
		return days
	}
	return float64(utcDay(days).Day())
}

// alignedMonthDay returns the day of the month of a date in days since 1970. From the 16th on, days count from the end of the
// month, such that the last day of each month is 31. The result is NaN if days is NaN.
func alignedMonthDay(days float64) float64 {
	if math.IsNaN(days) {
		return days
	}
	year, month, day := utcDay(days).Date()
	if day > 15 {
		lastDay := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		day += 31 - lastDay
	}
	return float64(day)
}

func utcDay(days float64) time.Time {
	return time.Unix(int64(math.Floor(days))*secondsPerDay, 0).UTC()
}
