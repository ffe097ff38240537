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

// chooseCycles decides which dates get columns for the day of the month and for the hour. The column of the day has the
// position in the month on which the peaks depend more: the day (bills of the 25th), or the aligned day (ends of months).
func (e *encoder) chooseCycles(rows [][]sizing.Value, y []float64) {
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Kind == sizing.Date {
			day, hasDay := cycleOf(j, rows, y, math.Floor, monthDay)
			aligned, hasAligned := cycleOf(j, rows, y, math.Floor, alignedMonthDay)
			c.WithMonthDay = hasDay || hasAligned
			c.AlignedMonthDay = hasAligned && aligned > day
			_, c.WithHour = cycleOf(j, rows, y, func(days float64) float64 { return days }, hour)
		}
	}
}

// cycleOf reports whether y depends on the position of the dates of field j in a cycle, such as a month, by the F-test of a
// one-way analysis of variance, and returns F. Dates are in days since 1970. period maps a date to its period, such as its
// day. All rows of one period count as one value, their mean, because they resemble one another even without a cycle.
// position maps a period to its position in the cycle, such as the day of the month.
func cycleOf(j int, rows [][]sizing.Value, y []float64, period, position func(days float64) float64) (f float64, significant bool) {
	periods := map[float64]*meanOf{}
	for i, cells := range rows {
		if v := cells[j]; v.Kind != sizing.Missing {
			addTo(periods, period(v.Num), y[i]-y[0]) // equal peaks give exact zeros
		}
	}
	positions := map[float64]*meanOf{}
	var all meanOf
	for _, at := range slices.Sorted(maps.Keys(periods)) { // the order of a map would change the sums
		mean := periods[at].mean()
		all.add(mean)
		addTo(positions, position(at), mean)
	}
	between, within := 0.0, 0.0
	for _, at := range slices.Sorted(maps.Keys(positions)) {
		p := positions[at]
		d := p.mean() - all.mean()
		between += p.n * d * d
		within += max(0, p.squares-p.n*p.mean()*p.mean())
	}
	d1, d2 := float64(len(positions)-1), all.n-float64(len(positions)) // degrees of freedom
	if d1 < 1 || d2 < 1 || between == 0 {
		return 0, false
	}
	f = between / d1 / (within / d2)
	return f, math.IsInf(f, 1) || distuv.F{D1: d1, D2: d2}.Survival(f) < cycleSignificance
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
// (1 … 31, aligned or not) and the hour if chooseCycles chose these.
func (c *column) date(v sizing.Value, line, tree []float64) ([]float64, []float64) {
	weekday, month, isWeekend, yearCosine := math.NaN(), math.NaN(), 0.0, 0.0
	if v.Kind == sizing.Missing {
		v.Num = math.NaN()
	} else {
		// 1970-01-01 was a Thursday.
		weekday = math.Mod(math.Mod(math.Floor(v.Num)+4, 7)+7, 7)
		month = math.Mod(math.Mod(math.Floor(v.Num/daysPerMonth), 12)+12, 12)
		isWeekend, yearCosine = indicator(weekday == 0 || weekday == 6), math.Cos(2*math.Pi*month/12)
	}
	tree = append(tree, weekday, month)
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

// hour returns the UTC hour of a time in days since 1970, 0 … 23; NaN if days is NaN. It rounds the time to milliseconds,
// because the fraction of a whole hour in days is not exact. Finer rounding would reach the error of a float64.
func hour(days float64) float64 {
	if math.IsNaN(days) {
		return days
	}
	const millisecondsPerDay = secondsPerDay * 1000
	return float64(time.UnixMilli(int64(math.Round(days * millisecondsPerDay))).UTC().Hour())
}
