package gbt

// Regressor predicts a number: a mean or a quantile. It is read only and safe for
// many goroutines.
type Regressor struct{ forest }

// Cols is the number of columns it was fitted on.
func (r *Regressor) Cols() int { return r.cols }

// Trees is the number of trees that early stopping left.
func (r *Regressor) Trees() int { return len(r.roots) }

// Predict is the prediction for one row: len(x) = Cols(); NaN is missing. With
// Sample.Base it is what is to be added to the row's base score. It allocates
// nothing.
func (r *Regressor) Predict(x []float64) float64 {
	y := r.intercept[0]
	for t := range r.roots {
		y += r.walk(t, x)
	}
	return y
}
