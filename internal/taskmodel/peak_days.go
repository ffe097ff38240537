package taskmodel

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// peakDays are days of the month on which the peaks are larger than on all other days, such as the first or the last three. Trees
// need about five rows of such days, which may take five months. The line learns the effect from two months.
type peakDays struct {
	First   int     `cbor:",omitempty"` // 1 … 31; 0: none
	Last    int     `cbor:",omitempty"`
	Aligned bool    `cbor:",omitempty"` // the days are results of alignedMonthDay
	Days    float64 `cbor:",omitempty"` // number of the fitted days among them
}

const (
	maxPeakDays     = 7
	minPeakDaysSpan = 20   // days from the first of these days to the last, so that there are two months; one large peak may have any cause
	minOtherDays    = 20   // other days that show how much the peaks vary
	peakDaysProb    = 1e-6 // p-value below which the smallest peak of these days differs from those of the other days
)

// findPeakDays returns the days with the strongest evidence, or none.
func (d *datedRows) findPeakDays(y []float64) (best peakDays) {
	least := peakDaysProb
	for _, cycle := range []int{alignedMonthCycle, monthCycle} {
		days, all := d.daysOfMonth(y, cycle)
		for first := 1; first < maxPositions; first++ {
			in := newDayGroup()
			for last := first; last < min(maxPositions, first+maxPeakDays); last++ {
				if days[last].n == 0 {
					continue
				}
				in.merge(&days[last])
				if p := in.test(&all); p < least {
					best, least = peakDays{First: first, Last: last, Aligned: cycle == alignedMonthCycle, Days: in.n}, p
				}
			}
		}
	}
	return best
}

// dayGroup summarises the mean log peaks of the days with some positions in the month.
type dayGroup struct {
	meanOf
	smallest       float64
	oldest, newest float64 // in days
}

func newDayGroup() dayGroup {
	return dayGroup{smallest: math.Inf(1), oldest: math.Inf(1), newest: math.Inf(-1)}
}

func (g *dayGroup) merge(o *dayGroup) {
	g.n, g.sum, g.squares = g.n+o.n, g.sum+o.sum, g.squares+o.squares
	g.smallest, g.oldest, g.newest = min(g.smallest, o.smallest), min(g.oldest, o.oldest), max(g.newest, o.newest)
}

func (d *datedRows) daysOfMonth(y []float64, cycle int) (days [maxPositions]dayGroup, all dayGroup) {
	all = newDayGroup()
	for k := range days {
		days[k] = newDayGroup()
	}
	for _, m := range d.periodMeans(y, y[0], &calendarCycles[cycle]) {
		day := newDayGroup()
		day.add(m.mean)
		day.smallest, day.oldest, day.newest = m.mean, m.at, m.at
		days[m.position].merge(&day)
		all.merge(&day)
	}
	return days, all
}

// test returns the p-value of a t-test of whether the smallest peak of the group is above the mean of the other days. The
// smallest peak counts, so that one outlier is no evidence.
func (g *dayGroup) test(all *dayGroup) float64 {
	n := all.n - g.n
	if g.newest-g.oldest < minPeakDaysSpan || n < minOtherDays {
		return 1
	}
	mean := (all.sum - g.sum) / n
	variance := max(0, (all.squares-g.squares)/n-mean*mean) * n / (n - 1)
	t := (g.smallest - mean) / math.Sqrt(variance) * math.Sqrt(g.n)
	if !(t > 0) {
		return 1
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(t)
}

func (p peakDays) has(days float64) bool {
	if p.First == 0 {
		return false
	}
	day := monthDay(days)
	if p.Aligned {
		day = alignedMonthDay(days)
	}
	return float64(p.First) <= day && day <= float64(p.Last)
}

// isException reports whether few rows show the effect of a day.
func (p peakDays) isException(days float64) bool { return p.Days < exceptionRows && p.has(days) }
