package taskmodel

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// peakDays are up to maxPeakDays neighbouring days of each month, or of one month of each quarter, on which the peaks are
// larger than the other features explain, such as the last day of a month. Trees need about five rows of such days, which may
// take five months. The line learns the effect from two months.
type peakDays struct {
	First   int     `cbor:",omitempty"` // 1 …; 0: none
	Last    int     `cbor:",omitempty"`
	Count   int     `cbor:",omitempty"` // index in dayCounts
	Quarter int     `cbor:",omitempty"` // 1 … 3: only this month of each quarter; 0: each month
	Days    float64 `cbor:",omitempty"` // number of the fitted days among them
}

// dayCounts count the days of a month from 1, in four ways. Blobs store the indices.
var dayCounts = [...]func(days float64) int{
	func(days float64) int { return int(alignedMonthDay(days)) },
	func(days float64) int { return int(monthDay(days)) },
	businessDay,
	businessDayFromEnd,
}

const (
	maxPeakDays    = 7
	minMonthSpan   = 20   // smallest number of days from the first to the last of the peak days in the history, so that they are of at least two months; one large peak may have any cause
	minQuarterSpan = 80   // the same if the days are in one month of each quarter, so that there are two quarters
	minOtherDays   = 20   // other days that show how much the peaks vary
	peakDaysProb   = 1e-7 // p-value below which the peaks of these days differ from those of the other days
	lowShare       = 0.25 // share of these days, rounded down, whose peaks may be as small as those of other days
	trendDays      = 7    // number of days before and after a day; the median error of all these days is the level of the peaks at this time
	minWeeks       = 3    // smallest number of days with the same weekday from which the median error of this weekday is subtracted
)

// findPeakDays sets the peak days of each date from the errors of the line. It reports whether there are any. The line must
// then be fitted again.
func (m *models) findPeakDays(rows []row, y []float64) (found bool) {
	isDate := func(c column) bool { return c.Kind == sizing.Date }
	if m.Enc.KeepLine != nil || !slices.ContainsFunc(m.Enc.Columns, isDate) {
		return false // the screened columns were chosen without the peak days
	}
	errs, cells := make([]float64, len(rows)), make([][]sizing.Value, len(rows))
	var x, tree []float64
	for i := range rows {
		cells[i] = rows[i].Cells
		x, tree = m.Enc.encode(cells[i], x[:0], tree[:0])
		errs[i] = y[i] - m.levelOf(m.lineRidge().Predict(x))
	}
	for j := range m.Enc.Columns {
		if c := &m.Enc.Columns[j]; isDate(*c) {
			d := newDatedRows(j, cells, c.LocalTime)
			c.PeakDays = findPeakDays(withoutTrend(d.periodMeans(errs, 0, &calendarCycles[monthCycle])))
			found = found || c.PeakDays.First > 0
		}
	}
	if found {
		m.Enc.resetStatistics()
		m.Enc.countColumns()
	}
	return found
}

// withoutTrend subtracts the level of the days around each day, and then the median of each weekday.
func withoutTrend(days []periodMean) []periodMean {
	flat := slices.Clone(days)
	var near []float64
	for i := range days {
		near = near[:0]
		for _, d := range days[max(0, i-trendDays):min(len(days), i+trendDays+1)] {
			near = append(near, d.mean)
		}
		flat[i].mean -= medianOf(near)
	}
	var weekdays [7][]float64
	for _, d := range flat {
		k := int(sizing.Weekday(d.at))
		weekdays[k] = append(weekdays[k], d.mean)
	}
	var medians [7]float64
	for k, errs := range weekdays {
		if len(errs) >= minWeeks {
			medians[k] = medianOf(errs)
		}
	}
	for i := range flat {
		flat[i].mean -= medians[int(sizing.Weekday(flat[i].at))]
	}
	return flat
}

// medianOf returns the median of errs, which must not be empty; of an even number, the lower of the two middle values. It
// sorts errs.
func medianOf(errs []float64) float64 {
	slices.Sort(errs)
	return stat.Quantile(0.5, stat.Empirical, errs, nil)
}

// findPeakDays returns the days with the strongest evidence, or none.
func findPeakDays(days []periodMean) (best peakDays) {
	all := dayGroup{days: days}
	all.sum()
	least := peakDaysProb
	for count, of := range dayCounts {
		var groups [4][maxPositions]dayGroup // by month of the quarter; 0: every month
		for _, d := range days {
			k := of(d.at)
			groups[0][k].days = append(groups[0][k].days, d)
			quarter := quarterMonth(d.at)
			groups[quarter][k].days = append(groups[quarter][k].days, d)
		}
		for quarter := range groups {
			minSpan := float64(minMonthSpan)
			if quarter > 0 {
				minSpan = minQuarterSpan
			}
			for first := 1; first < maxPositions; first++ {
				var in dayGroup
				for last := first; last < min(maxPositions, first+maxPeakDays) && groups[quarter][last].isHigh(&all); last++ {
					in.days = append(in.days, groups[quarter][last].days...)
					if p := in.test(&all, minSpan); p < least {
						best, least = peakDays{First: first, Last: last, Count: count, Quarter: quarter, Days: float64(len(in.days))}, p
					}
				}
			}
		}
	}
	return best
}

type dayGroup struct {
	days   []periodMean
	errors meanOf
}

func (g *dayGroup) sum() {
	g.errors = meanOf{}
	for _, d := range g.days {
		g.errors.add(d.mean)
	}
}

// low returns the smallest error of the group without the smallest lowShare of its errors.
func (g *dayGroup) low() float64 {
	errs := make([]float64, len(g.days))
	for i, d := range g.days {
		errs[i] = d.mean
	}
	slices.Sort(errs)
	return errs[int(lowShare*float64(len(errs)))]
}

// isHigh reports whether the group may belong to peak days. It avoids most of the tests.
func (g *dayGroup) isHigh(all *dayGroup) bool {
	return len(g.days) > 0 && g.low() > all.errors.mean()+all.errors.deviation()
}

// test returns the p-value of a t-test of whether the low error of the group is above the mean of the other days. So an
// outlier on one of these days is no evidence.
func (g *dayGroup) test(all *dayGroup, minSpan float64) float64 {
	oldest, newest := math.Inf(1), math.Inf(-1)
	for _, d := range g.days {
		oldest, newest = min(oldest, d.at), max(newest, d.at)
	}
	g.sum()
	others := meanOf{all.errors.n - g.errors.n, all.errors.sum - g.errors.sum, all.errors.squares - g.errors.squares}
	if newest-oldest < minSpan || others.n < minOtherDays {
		return 1
	}
	t := (g.low() - others.mean()) / others.deviation() * math.Sqrt(g.errors.n)
	if !(t > 0) {
		return 1
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: others.n - 1}.Survival(t)
}

// deviation returns the sample standard deviation.
func (m *meanOf) deviation() float64 {
	return math.Sqrt(max(0, m.squares/m.n-m.mean()*m.mean()) * m.n / max(1, m.n-1))
}

func (p peakDays) has(days float64) bool {
	if p.First == 0 || math.IsNaN(days) || p.Quarter > 0 && quarterMonth(days) != p.Quarter {
		return false
	}
	day := dayCounts[p.Count](days)
	return p.First <= day && day <= p.Last
}

// isException reports whether few rows show the effect of a day.
func (p peakDays) isException(days float64) bool { return p.Days < exceptionRows && p.has(days) }

// quarterMonth returns 1 … 3.
func quarterMonth(days float64) int { return (int(utcDay(days).Month())-1)%3 + 1 }

// businessDay returns the number of days from Monday to Friday in the month up to a day, or 0 on a weekend.
func businessDay(days float64) int { return weekdaysUntil(days, int(monthDay(days)), -1) }

// businessDayFromEnd is 1 on the last business day of the month.
func businessDayFromEnd(days float64) int {
	at := utcDay(days)
	return weekdaysUntil(days, at.AddDate(0, 1, -at.Day()).Day()-at.Day()+1, 1)
}

// weekdaysUntil counts the days from Monday to Friday among n days from a day on; step is the direction. It returns 0 if the
// first of them is on a weekend.
func weekdaysUntil(days float64, n int, step float64) (count int) {
	for i := range n {
		if !isWeekend(days + step*float64(i)) {
			count++
		} else if i == 0 {
			return 0
		}
	}
	return count
}
