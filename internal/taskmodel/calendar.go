package taskmodel

import (
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	daysPerMonth  = 365.25 / 12
	secondsPerDay = 24 * 60 * 60

	// cycleSignificance is the p-value below which a date gets a column for its position in a cycle. Without a cycle such a
	// column is noise, in which trees would find splits.
	cycleSignificance = 0.001
)

// chooseCycles decides which dates get columns for their positions in cycles: the month, the day of the month and the
// hour. The column of the day has the position in the month on which the peaks depend more: the day (bills of the 25th), or
// the aligned day (ends of months).
func (e *encoder) chooseCycles(rows [][]sizing.Value, y []float64) {
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Kind == sizing.Date {
			year := cycleOf(j, rows, y, monthsSince, monthOfYear)
			c.NoMonth = year.d2 < year.d1 || !year.exceedsTrend(12) // about two years: a release looks like a season in one year
			day, aligned := cycleOf(j, rows, y, math.Floor, monthDay), cycleOf(j, rows, y, math.Floor, alignedMonthDay)
			c.WithMonthDay = day.isSignificant() || aligned.isSignificant()
			c.AlignedMonthDay = aligned.isSignificant() && aligned.f > day.f
			c.WithHour = cycleOf(j, rows, y, hoursSince, hour).isSignificant()
		}
	}
}

// cycleTest compares the positions in a cycle by the periods of a history, such as weekdays by days: an F-test of a one-way
// analysis of variance, and the trend of the periods.
type cycleTest struct {
	f, d1, d2 float64 // F and its degrees of freedom
	spread    float64 // difference of the largest and the smallest mean of a position
	slope     float64 // rise of the least-squares line per period
}

// exceedsTrend reports whether the positions differ by more than the trend rises or falls in one cycle of n periods. A trend alone makes the last position of a cycle larger than the first one, and the prediction would fall
// at the start of the next cycle.
func (t cycleTest) exceedsTrend(n float64) bool { return t.spread > n*math.Abs(t.slope) }

// isSignificant reports whether positions differ as much with a probability below cycleSignificance if there is no cycle.
func (t cycleTest) isSignificant() bool {
	return math.IsInf(t.f, 1) || t.f > 0 && distuv.F{D1: t.d1, D2: t.d2}.Survival(t.f) < cycleSignificance
}

// cycleOf tests whether y depends on the position of the dates of field j in a cycle, such as a week. Dates are in days since
// 1970. period maps a date to its period, such as its day. All rows of one period count as one value, their mean, because they
// resemble one another even without a cycle. position maps a date to its position in the cycle, such as its weekday; all dates
// of a period have the same position.
func cycleOf(j int, rows [][]sizing.Value, y []float64, period, position func(days float64) float64) cycleTest {
	periods, positionOf := map[float64]*meanOf{}, map[float64]float64{}
	for i, cells := range rows {
		if v := cells[j]; v.Kind != sizing.Missing {
			at := period(v.Num)
			addTo(periods, at, y[i]-y[0]) // equal peaks give exact zeros
			positionOf[at] = position(v.Num)
		}
	}
	positions := map[float64]*meanOf{}
	var all, times meanOf
	products := 0.0
	sorted := slices.Sorted(maps.Keys(periods)) // the order of a map would change the sums
	for _, at := range sorted {
		mean := periods[at].mean()
		all.add(mean)
		times.add(at - sorted[0])
		products += mean * (at - sorted[0])
		addTo(positions, positionOf[at], mean)
	}
	between, within, lowest, highest := 0.0, 0.0, math.Inf(1), math.Inf(-1)
	for _, at := range slices.Sorted(maps.Keys(positions)) {
		p := positions[at]
		d := p.mean() - all.mean()
		lowest, highest = min(lowest, p.mean()), max(highest, p.mean())
		between += p.n * d * d
		within += max(0, p.squares-p.n*p.mean()*p.mean())
	}
	t := cycleTest{d1: float64(len(positions) - 1), d2: all.n - float64(len(positions))}
	if t.d1 >= 1 && t.d2 >= 1 && between > 0 {
		t.spread = highest - lowest
		t.slope = (products - times.sum*all.mean()) / (times.squares - times.sum*times.mean())
		t.f = between / t.d1 / (within / t.d2)
	}
	return t
}

// meanOf accumulates the number, the sum and the sum of squares of some values.
type meanOf struct{ n, sum, squares float64 }

func (m *meanOf) add(v float64) { m.n, m.sum, m.squares = m.n+1, m.sum+v, m.squares+v*v }

func (m *meanOf) mean() float64 { return m.sum / m.n }

// addTo adds v to the mean of a group.
func addTo(groups map[float64]*meanOf, group, v float64) {
	if groups[group] == nil {
		groups[group] = &meanOf{}
	}
	groups[group].add(v)
}

// date appends the columns of a date. The line (the ridge regression) gets a weekend flag and the cosine of the
// month. The trees get the weekday (0 is Sunday), the month (0 … 11, of equal length), and the day of the month
// (1 … 31, aligned or not) and the hour if chooseCycles chose these. A month that chooseCycles did not choose counts as
// missing.
func (c *column) date(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	weekdayNumber, month, isWeekend, yearCosine := math.NaN(), math.NaN(), 0.0, 0.0
	if v.Kind == sizing.Missing {
		v.Num = math.NaN()
	} else {
		weekdayNumber = weekday(v.Num)
		isWeekend = indicator(weekdayNumber == 0 || weekdayNumber == 6)
		if !c.NoMonth {
			month = monthOfYear(v.Num)
			yearCosine = math.Cos(2 * math.Pi * month / 12)
		}
	}
	tree = append(tree, weekdayNumber, month)
	switch {
	case c.AlignedMonthDay:
		tree = append(tree, alignedMonthDay(v.Num))
	case c.WithMonthDay:
		tree = append(tree, monthDay(v.Num))
	}
	if c.WithHour {
		tree = append(tree, hour(v.Num))
	}
	return append(line, isWeekend, yearCosine), tree
}

// weekday returns the weekday of a date in days since 1970; 0 is Sunday.
func weekday(days float64) float64 {
	return math.Mod(math.Mod(math.Floor(days)+4, 7)+7, 7) // 1970-01-01 was a Thursday
}

// monthsSince returns the number of months of equal length from 1970 to a date in days since 1970.
func monthsSince(days float64) float64 { return math.Floor(math.Floor(days) / daysPerMonth) }

// monthOfYear returns the month of a date in days since 1970, 0 … 11, of equal length.
func monthOfYear(days float64) float64 { return math.Mod(math.Mod(monthsSince(days), 12)+12, 12) }

// monthDay returns the day of the month of a date in days since 1970; NaN if days is NaN.
func monthDay(days float64) float64 {
	if math.IsNaN(days) {
		return days
	}
	return float64(utcDay(days).Day())
}

// alignedMonthDay returns the day of the month of a date in days since 1970, but from the 16th on the day on which a month of
// 31 days has as many days left: the last day of each month is 31. It is NaN if days is NaN.
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

// utcDay returns the start of the day of a date in days since 1970.
func utcDay(days float64) time.Time {
	return time.Unix(int64(math.Floor(days))*secondsPerDay, 0).UTC()
}

// hour returns the UTC hour of a time in days since 1970, 0 … 23; NaN if days is NaN.
func hour(days float64) float64 {
	return math.Mod(math.Mod(hoursSince(days), 24)+24, 24)
}

// hoursSince returns the number of hours from 1970 to a time in days since 1970. It rounds the time to milliseconds, because
// the fraction of a whole hour in days is not exact. Finer rounding would reach the error of a float64.
func hoursSince(days float64) float64 {
	const millisecondsPerHour, millisecondsPerDay = 3600 * 1000, secondsPerDay * 1000
	return math.Floor(math.Round(days*millisecondsPerDay) / millisecondsPerHour)
}
