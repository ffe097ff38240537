package gbt

// Regressor predicts a mean or a quantile. It is safe for concurrent use.
type Regressor struct{ forest }

// Cols returns the number of training columns.
func (r *Regressor) Cols() int { return r.cols }

// Trees returns the number of trees after early stopping.
func (r *Regressor) Trees() int { return len(r.roots) }

// Predict returns the prediction for one row: len(x) = Cols(); NaN is missing. With
// Sample.Base the result is to be added to the base score of the row. Predict does not
// allocate.
func (r *Regressor) Predict(x []float64) float64 {
	y := r.intercept[0]
	for t := range r.roots {
		y += r.walk(t, x)
	}
	return y
}
