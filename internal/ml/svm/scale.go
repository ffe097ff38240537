package svm

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/table"
)

const (
	// constant is the deviation, relative to the mean, below which the variation of a
	// column is only rounding error.
	constant = 1e-9
	// maxStandardised is the number of deviations at which a value is clipped. With the default γ
	// a value so far away has a kernel value of 0 anyway, and its square does not overflow.
	maxStandardised = 1e6
)

// scale standardises the columns that vary.
type scale struct {
	cols      int       // number of columns of a row
	used      []uint32  // columns that vary, ascending
	mean      []float64 // mean of each used column
	deviation []float64 // standard deviation of each used column, > 0
}

// newScale computes weighted means of the known values, and weighted deviations of all
// rows with missing values replaced by the mean. `total` is the sum of the weights.
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

// moments returns the mean and the standard deviation of column j. Both are 0 if the column is
// constant or completely missing. It divides by the largest absolute value and the total weight, so no
// square or sum can overflow.
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

// apply writes the standardised row x into z: len(x) = cols, len(z) = len(used). A missing
// or infinite value becomes the mean.
func (s *scale) apply(x, z []float64) {
	for u, j := range s.used {
		z[u] = 0
		if v := x[j]; finite(v) {
			z[u] = max(-maxStandardised, min((v-s.mean[u])/s.deviation[u], maxStandardised))
		}
	}
}
