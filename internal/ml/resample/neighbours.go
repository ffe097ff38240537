package resample

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// neighbourhood is one class and how far its rows are from each other.
type neighbourhood struct {
	t        *table.Table
	kinds    []Kind
	class    []int     // its rows
	k        int       // how many rows are near
	scales   []float64 // p deviations that numbers are divided by; 0: tells no rows apart
	mismatch float64   // squared distance of two categories that differ
	found    [][]int   // rows near each row of class; nil until asked, for most are not in a large class
}

func newNeighbourhood(t *table.Table, kinds []Kind, class []int, scales []float64, k int) *neighbourhood {
	median := 1.0
	if spread := spreads(t, kinds, class, scales); len(spread) > 0 {
		slices.Sort(spread)
		middle := len(spread) / 2
		if m := (spread[middle] + spread[(len(spread)-1)/2]) / 2; m > 0 {
			median = m
		}
	}
	return &neighbourhood{
		t: t, kinds: kinds, class: class, k: min(k, len(class)-1),
		scales: scales, mismatch: median * median, found: make([][]int, len(class)),
	}
}

// spreads are the class's deviations of the numbers, standardised.
func spreads(t *table.Table, kinds []Kind, class []int, scales []float64) (spread []float64) {
	for j, d := range deviations(t, kinds, class) {
		switch {
		case kinds[j] == Category:
		case scales[j] == 0:
			spread = append(spread, 0)
		default:
			spread = append(spread, d/scales[j])
		}
	}
	return spread
}

// constant is the deviation, as a share of the mean, below which a column's
// variation is the rounding of its own sums.
const constant = 1e-9

// deviations are the p standard deviations of the known numbers of some rows; 0 for
// categories, constant columns and those whose squares overflow.
func deviations(t *table.Table, kinds []Kind, rows []int) []float64 {
	out := make([]float64, t.Cols())
	for j := range out {
		if kinds[j] == Category {
			continue
		}
		known, mean, square := 0.0, 0.0, 0.0
		for _, i := range rows { // Welford (1962): sums of squares of dates would cancel
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

// nearest are the k rows nearest to the class's row number at, nearest first; of
// equals the earlier row.
func (n *neighbourhood) nearest(at int) []int {
	if n.found[at] != nil {
		return n.found[at]
	}
	base := n.t.Row(n.class[at])
	rows, far := make([]int, 0, n.k+1), make([]float64, 0, n.k+1)
	for i, row := range n.class {
		if i == at {
			continue
		}
		d := n.distance(base, n.t.Row(row))
		if len(rows) == n.k && d >= far[n.k-1] {
			continue
		}
		place := len(far)
		for place > 0 && far[place-1] > d {
			place--
		}
		rows, far = slices.Insert(rows, place, row), slices.Insert(far, place, d)
		rows, far = rows[:min(n.k, len(rows))], far[:min(n.k, len(far))]
	}
	n.found[at] = rows
	return rows
}

// distance is squared.
func (n *neighbourhood) distance(a, b []float64) float64 {
	sum := 0.0
	for j, v := range a {
		w := b[j]
		switch {
		case v == w || v != v && w != w: // both the same or both missing
		case v != v || w != w || n.kinds[j] == Category:
			sum += n.mismatch
		case n.scales[j] > 0:
			d := (v - w) / n.scales[j]
			sum += d * d
		}
	}
	return sum
}
