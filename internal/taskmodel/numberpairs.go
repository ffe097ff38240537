package taskmodel

import (
	"cmp"
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
	var numbers []int
	for j := range e.Columns {
		if e.Columns[j].Kind == sizing.Number && len(numbers) < maxPairedNumbers {
			numbers = append(numbers, j)
		}
	}
	type scored struct {
		pair  [2]int
		share float64
	}
	var found []scored
	for k, i := range numbers {
		for _, j := range numbers[k+1:] {
			mean, share, ok := smallDifference(rows, i, j)
			switch {
			case ok && mean < 0:
				found = append(found, scored{[2]int{j, i}, share})
			case ok:
				found = append(found, scored{[2]int{i, j}, share})
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

// smallDifference returns the mean of the difference of number j minus number i, and the variance of the
// difference relative to the smaller variance of the two numbers. ok is false if the difference is
// constant or not small, or if too few rows have both numbers.
func smallDifference(rows [][]sizing.Value, i, j int) (mean, share float64, ok bool) {
	n := len(rows)
	x, y, d := make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	for _, cells := range rows {
		if a, b := &cells[i], &cells[j]; a.Kind == sizing.Number && b.Kind == sizing.Number {
			x, y, d = append(x, a.Num), append(y, b.Num), append(d, b.Num-a.Num)
		}
	}
	if len(d) < max(minPairRows, n/2) {
		return 0, 0, false
	}
	mean, variance := stat.MeanVariance(d, nil)
	share = variance / min(stat.Variance(x, nil), stat.Variance(y, nil))
	return mean, share, share > 0 && share <= maxDifferenceShare
}
