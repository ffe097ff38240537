package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxPairedNumbers   = 64   // largest number of features whose differences are considered; the time of a fit grows with its square
	maxNumberPairs     = 8    // largest number of pairs; the pairs with the smallest relative variance of the difference are taken
	minPairRows        = 16   // smallest number of rows with both numbers
	maxDifferenceShare = 0.25 // largest variance of a difference, relative to the smaller variance of the two numbers
)

// numberPairs returns the pairs of numbers whose difference varies little compared with the numbers, such
// as the first and the last id of a partition. Each pair has the number with the smaller mean first. The linear models
// need many runs to find the effect of such a small difference, and the trees hardly find it.
func (e *encoder) numberPairs(rows [][]sizing.Value) (pairs [][2]int) {
	rows = rows[max(0, len(rows)-maxScreenRows):]
	var numbers []numberValues
	for j := range e.Columns {
		if e.Columns[j].Kind == sizing.Number && len(numbers) < maxPairedNumbers {
			numbers = append(numbers, newNumberValues(j, rows))
		}
	}
	type scored struct {
		pair  [2]int
		share float64
	}
	var found []scored
	var b pairBuffers
	for k := range numbers {
		for l := range numbers[k+1:] {
			from, to := &numbers[k], &numbers[k+1+l]
			mean, share, ok := b.smallDifference(from, to)
			if mean < 0 {
				from, to = to, from
			}
			if ok {
				found = append(found, scored{[2]int{from.column, to.column}, share})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.share, b.share) })
	for _, s := range found[:min(len(found), maxNumberPairs)] {
		pairs = append(pairs, s.pair)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return pairs
}

// numberValues holds the values of a numeric feature by row. It is faster to read them once than once per pair.
type numberValues struct {
	column   int
	values   []float64
	known    []bool
	variance float64 // of the values if every row has one; otherwise NaN
}

func newNumberValues(j int, rows [][]sizing.Value) numberValues {
	n := numberValues{column: j, values: make([]float64, len(rows)), known: make([]bool, len(rows)), variance: math.NaN()}
	for i, cells := range rows {
		n.values[i], n.known[i] = cells[j].Num, cells[j].Kind == sizing.Number
	}
	if !slices.Contains(n.known, false) {
		n.variance = stat.Variance(n.values, nil)
	}
	return n
}

type pairBuffers struct{ x, y, d []float64 }

// smallDifference returns the mean of the differences to − from, and the variance of these differences relative to the
// smaller variance of the two numbers. ok is false if the difference is constant or not small, or if too few rows have both
// numbers.
func (b *pairBuffers) smallDifference(from, to *numberValues) (mean, share float64, ok bool) {
	b.x, b.y, b.d = b.x[:0], b.y[:0], b.d[:0]
	for i, x := range from.values {
		if y := to.values[i]; from.known[i] && to.known[i] {
			b.x, b.y, b.d = append(b.x, x), append(b.y, y), append(b.d, y-x)
		}
	}
	if len(b.d) < max(minPairRows, len(from.values)/2) {
		return 0, 0, false
	}
	least := min(from.variance, to.variance)
	if math.IsNaN(least) {
		least = min(stat.Variance(b.x, nil), stat.Variance(b.y, nil))
	}
	mean, variance := stat.MeanVariance(b.d, nil)
	share = variance / least
	return mean, share, share > 0 && share <= maxDifferenceShare
}
