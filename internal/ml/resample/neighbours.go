package resample

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
)

type neighbourhood struct {
	t        *table.Table
	kinds    []Kind
	class    []int     // rows of the class
	k        int       // number of neighbours
	scales   []float64 // divisor by column, for numbers; 0: only a missing cell counts as a difference
	mismatch float64   // squared distance of two different categories, and of a missing cell and a present one
	found    [][]int   // cached neighbours by index in class; nil: not computed
}

func newNeighbourhood(t *table.Table, kinds []Kind, class []int, scales []float64, k int) *neighbourhood {
	median := 1.0
	if scaled := scaledDeviations(t, kinds, class, scales); len(scaled) > 0 {
		slices.Sort(scaled)
		middle := len(scaled) / 2
		if m := (scaled[middle] + scaled[(len(scaled)-1)/2]) / 2; m > 0 {
			median = m
		}
	}
	return &neighbourhood{
		t: t, kinds: kinds, class: class, k: min(k, len(class)-1),
		scales: scales, mismatch: median * median, found: make([][]int, len(class)),
	}
}

func scaledDeviations(t *table.Table, kinds []Kind, class []int, scales []float64) (out []float64) {
	for j, d := range deviations(t, kinds, class) {
		switch {
		case kinds[j] == Category:
		case scales[j] == 0:
			out = append(out, 0)
		default:
			out = append(out, d/scales[j])
		}
	}
	return out
}

// constant is the relative standard deviation below which the variation of a column is a
// rounding error.
const constant = 1e-9

// deviations returns for each column the standard deviation of the numbers in the rows; missing numbers (NaN) do not
// count. It is 0 for categories, constant columns, columns without numbers and columns whose squares overflow.
func deviations(t *table.Table, kinds []Kind, rows []int) []float64 {
	out := make([]float64, t.Cols())
	for j := range out {
		if kinds[j] == Category {
			continue
		}
		known, mean, square := 0.0, 0.0, 0.0
		for _, i := range rows { // Welford (1962) avoids the cancellation of large sums of squares
			if v := t.Row(i)[j]; !math.IsNaN(v) {
				known++
				step := v - mean
				mean += step / known
				square += step * (v - mean)
			}
		}
		if d := math.Sqrt(square / known); d > constant*math.Abs(mean) && !math.IsInf(d, 0) {
			out[j] = d
		}
	}
	return out
}

// nearest returns the k rows nearest to the row class[at], nearest first. On a tie the earlier
// row comes first.
func (n *neighbourhood) nearest(at int) []int {
	if n.found[at] != nil {
		return n.found[at]
	}
	base := n.t.Row(n.class[at])
	rows, distances := make([]int, 0, n.k+1), make([]float64, 0, n.k+1)
	for i, row := range n.class {
		if i == at {
			continue
		}
		d := n.distance(base, n.t.Row(row))
		if len(rows) == n.k && d >= distances[n.k-1] {
			continue
		}
		index := len(distances)
		for index > 0 && distances[index-1] > d {
			index--
		}
		rows, distances = slices.Insert(rows, index, row), slices.Insert(distances, index, d)
		rows, distances = rows[:min(n.k, len(rows))], distances[:min(n.k, len(distances))]
	}
	n.found[at] = rows
	return rows
}

// distance returns the squared distance of two rows.
func (n *neighbourhood) distance(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		w := b[j]
		switch {
		case v == w || v != v && w != w: // equal or both missing
		case v != v || w != w || n.kinds[j] == Category:
			sum += n.mismatch
		case n.scales[j] > 0:
			d := (v - w) / n.scales[j]
			sum += d * d
		}
	}
	return sum
}
