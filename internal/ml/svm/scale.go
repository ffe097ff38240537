package svm

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/table"
)

const (
	// constant is the deviation, as a share of the mean, below which a column's
	// variation is the rounding of its own values.
	constant = 1e-9
	// farthest is the deviations from the mean at which a value is cut. Whatever is
	// so far away is near nothing, and squares of it still add up.
	farthest = 1e6
)

// scale standardises the columns that vary.
type scale struct {
	cols      int       // of a row
	used      []uint32  // those that vary, ascending
	mean      []float64 // of each used column …
	deviation []float64 // … and its standard deviation, > 0
}

// newScale takes weighted means of the known values, and weighted deviations of
// all rows once a missing value has taken the mean. total is the sum of weights.
func newScale(t *table.Table, total float64) scale {
	s := scale{cols: t.Cols()}
	for j := range s.cols {
		if mean, deviation := moments(t, j, total); deviation > 0 {
			s.used = append(s.used, uint32(j))
			s.mean, s.deviation = append(s.mean, mean), append(s.deviation, deviation)
		}
	}
	return s
}

// moments are the mean and deviation of column j; deviation 0 if it is constant or
// wholly missing. It works on shares of the largest value and of the total weight:
// no square and no sum can overflow.
func moments(t *table.Table, j int, total float64) (mean, deviation float64) {
	unit, known := 0.0, 0.0
	for i := range t.Rows() {
		if v := t.Row(i)[j]; finite(v) {
			unit, known = max(unit, math.Abs(v)), known+t.Weight(i)/total
		}
	}
	if unit == 0 || known == 0 {
		return 0, 0
	}
	for i := range t.Rows() {
		if v := t.Row(i)[j]; finite(v) {
			mean += t.Weight(i) / total / known * (v / unit)
		}
	}
	variance := 0.0
	for i := range t.Rows() {
		if v := t.Row(i)[j]; finite(v) {
			variance += t.Weight(i) / total * (v/unit - mean) * (v/unit - mean)
		}
	}
	if deviation = math.Sqrt(variance); deviation <= constant*math.Abs(mean) {
		return 0, 0
	}
	return mean * unit, deviation * unit
}

// apply writes the standardised row x into z: len(x) = cols, len(z) = len(used). A
// value that is missing or infinite is at its mean.
func (s *scale) apply(x, z []float64) {
	for u, j := range s.used {
		z[u] = 0
		if v := x[j]; finite(v) {
			z[u] = max(-farthest, min((v-s.mean[u])/s.deviation[u], farthest))
		}
	}
}
