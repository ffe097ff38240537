package usageprofile

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Scaler brings quantities to one scale. A column is a quantity by which profiles are found; all lists are by column.
type Scaler struct {
	Quantities []Quantity
	Median     []float64 // of the logarithms; an unknown amount counts as the median
	Scale      []float64 // by which the distance to the median is divided
}

const (
	minKnown       = 0.5    // smallest share of the runs that report the quantity
	maxCorrelation = 0.9999 // largest absolute correlation with an earlier column: a copy adds no information
	minScale       = 0.1    // smallest scale of the logarithms: smaller differences are noise
)

// newScaler chooses the quantities and their scales. The scale of a quantity is its interquartile range divided by that of the
// standard normal distribution, so that outliers do not compress the other runs. If half of the runs are almost equal, the scale
// is the standard deviation, but at least minScale.
func newScaler(runs []Run) Scaler {
	var s Scaler
	var columns [][]float64
	for q := range Quantity(clustered) {
		known := make([]float64, 0, len(runs))
		for i := range runs {
			if v := runs[i].Vector[q]; !math.IsNaN(v) {
				known = append(known, v)
			}
		}
		if float64(len(known)) < minKnown*float64(len(runs)) || len(known) < 2 {
			continue
		}
		slices.Sort(known)
		median, deviation := quantile(known, .5), stat.PopStdDev(known, nil)
		if deviation < 1e-9 {
			continue // the quantity is the same for all runs that report it
		}
		const normal = 1.349 // interquartile range of the standard normal distribution
		scale := (quantile(known, .75) - quantile(known, .25)) / normal
		if scale < minScale {
			scale = max(deviation, minScale)
		}
		column := make([]float64, len(runs))
		for i := range runs {
			column[i] = scaled(runs[i].Vector[q], median, scale)
		}
		if slices.ContainsFunc(columns, func(other []float64) bool { return math.Abs(stat.Correlation(column, other, nil)) > maxCorrelation }) {
			continue
		}
		columns = append(columns, column)
		s.Quantities, s.Median, s.Scale = append(s.Quantities, q), append(s.Median, median), append(s.Scale, scale)
	}
	return s
}

// scaled returns 0, the median, for an unknown (NaN) logarithm.
func scaled(v, median, scale float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return (v - median) / scale
}

func (s *Scaler) point(v *Vector) []float64 {
	p := make([]float64, len(s.Quantities))
	for c, q := range s.Quantities {
		p[c] = scaled(v[q], s.Median[c], s.Scale[c])
	}
	return p
}

// quantile interpolates an ascending list linearly.
func quantile(ascending []float64, q float64) float64 {
	at := q * float64(len(ascending)-1)
	low := int(at)
	high := min(low+1, len(ascending)-1)
	return ascending[low] + (ascending[high]-ascending[low])*(at-float64(low))
}
