package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	minIsolatedRows = 32  // smallest number of rows with a feature for which one of its numbers may be isolated
	isolatedShare   = 64  // a feature that n rows have has at most 1 + n/64 isolated numbers
	maxIsolated     = 8   // largest number of isolated numbers of a feature in any case
	nextRows        = 5   // number of rows with the numbers that follow the isolated or remote ones in the order of size; the peaks of isolated and remote numbers are compared with the median peak of these rows
	smallerFactor   = 0.8 // a peak up to this share of the median peak of the next rows is clearly smaller
)

// withoutIsolated returns rows without isolated numbers, and marks the rows that had one. An isolated number is more than
// eleven times as large as all numbers of its feature that are not isolated, although the peak of its row is clearly smaller
// than the median peak of the rows with the next largest numbers. A number that is smaller than the others by the same factor
// is isolated, too, if the peak of its row is clearly larger. Isolated numbers are probably typos or in another unit. They
// would widen the range of the input, within which nothing is extrapolated, and distort the ridge regression. The comparison
// adds 1 to each number, so numbers below 1 are hardly ever isolated. withoutIsolated does not modify rows.
func withoutIsolated(rows []row) []row {
	copied := false
	for j := range rows[0].Cells {
		for _, i := range isolatedNumbers(rows, j) {
			if !copied {
				rows, copied = slices.Clone(rows), true
			}
			rows[i].Cells = slices.Clone(rows[i].Cells)
			rows[i].Cells[j], rows[i].Isolated = sizing.Value{}, true
		}
	}
	return rows
}

// isolatedNumbers returns the indices of the rows with an isolated number in field j: large ones or, if there are none,
// small ones. A small number is never 0, which is 0 in any unit.
func isolatedNumbers(rows []row, j int) []int {
	logs := make([]float64, len(rows))
	for i := range rows {
		if logs[i] = math.NaN(); rows[i].Cells[j].Kind == sizing.Number && rows[i].Cells[j].Num >= 0 {
			logs[i] = math.Log1p(rows[i].Cells[j].Num)
		}
	}
	if !hasGap(logs) {
		return nil
	}
	order := largestFirst(logs)
	if found := firstIsolated(rows, logs, order, isSmaller); found != nil {
		return found
	}
	for len(order) > 0 && rows[order[len(order)-1]].Cells[j].Num == 0 {
		order = order[:len(order)-1]
	}
	slices.Reverse(order)
	return firstIsolated(rows, logs, order, isLarger)
}

func largestFirst(values []float64) (order []int) {
	for i, v := range values {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// hasGap reports whether two neighbours among the sorted logarithms may differ by more than math.Log1p(implausibleFactor).
// It does not sort: an interval of half this width without a value would lie between such neighbours.
func hasGap(logs []float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range logs {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	width := math.Log1p(implausibleFactor) / 2
	if !(high-low > 2*width) {
		return false
	}
	filled := make([]bool, int((high-low)/width)+1)
	for _, v := range logs {
		if !math.IsNaN(v) {
			filled[int((v-low)/width)] = true
		}
	}
	return slices.Contains(filled, false)
}

// firstIsolated returns the first rows of `order` if their numbers are isolated from the others and their peaks are all unlike
// the median peak of the rows with the next numbers. If the peak stays the same, the numbers may be right. logs holds the
// logarithm of the number of each row.
func firstIsolated(rows []row, logs []float64, order []int, unlike func(peak, median float64) bool) []int {
	if len(order) < minIsolatedRows {
		return nil
	}
	for k := min(maxIsolated, 1+len(order)/isolatedShare); k > 0; k-- {
		if math.Abs(logs[order[k-1]]-logs[order[k]]) <= math.Log1p(implausibleFactor) {
			continue
		}
		median := medianPeak(rows, order[k:k+nextRows])
		if !slices.ContainsFunc(order[:k], func(i int) bool { return !unlike(rows[i].Peak, median) }) {
			return order[:k]
		}
	}
	return nil
}

func isSmaller(peak, median float64) bool { return peak <= smallerFactor*median }
func isLarger(peak, median float64) bool  { return peak*smallerFactor >= median }

func medianPeak(rows []row, indices []int) float64 {
	var peaks []float64
	for _, i := range indices {
		peaks = append(peaks, rows[i].Peak)
	}
	slices.Sort(peaks)
	return peaks[len(peaks)/2]
}
