package gbt

// Regressor predicts a mean or a quantile. It is safe for concurrent use.
type Regressor struct {
	forest               // without its trees if the field packed has them
	packed *packedForest // the trees of a decoded model; nil if the forest has them
}

// full returns the forest with its trees. It allocates if they are packed.
func (r *Regressor) full() *forest {
	if r.packed == nil {
		return &r.forest
	}
	return r.packed.unpack(&r.forest)
}

// Cols returns the number of training columns.
func (r *Regressor) Cols() int { return r.cols }

// Trees returns the number of trees after early stopping.
func (r *Regressor) Trees() int {
	if r.packed != nil {
		return len(r.packed.roots)
	}
	return len(r.roots)
}

// Predict returns the prediction for one row: len(x) = Cols(); NaN is missing. If the model was
// trained with Sample.Base, the caller adds the base score of the row. Predict does not allocate.
func (r *Regressor) Predict(x []float64) float64 {
	y := r.intercept[0]
	if r.packed != nil {
		return r.packed.predict(x, y)
	}
	for t := range r.roots {
		y += r.walk(t, x)
	}
	return y
}

// Shifted returns a regressor whose predictions are higher by d. It shares the trees of r.
func (r *Regressor) Shifted(d float64) *Regressor {
	shifted := *r
	shifted.intercept = []float64{r.intercept[0] + d}
	return &shifted
}

// Classifier predicts class probabilities. It is safe for concurrent use and implements
// classify.Classifier.
type Classifier struct{ forest }

// Cols returns the number of training columns.
func (c *Classifier) Cols() int { return c.cols }

// Trees returns the number of trees of all classes after early stopping.
func (c *Classifier) Trees() int { return len(c.roots) }

// Bins returns the number of classes.
func (c *Classifier) Bins() int { return c.outputs() }

// Probabilities writes P(class | x) into p: len(p) = Bins(), every value in
// [0, 1], sum 1. len(x) = Cols(); NaN is missing. It does not allocate.
func (c *Classifier) Probabilities(x, p []float64) {
	c.score(x, p)
	normalise(p)
}

// Scores writes the raw score of every class into s: len(s) = Bins(). A score is a log
// probability up to a constant per row. Explain divides it into contributions.
func (c *Classifier) Scores(x, s []float64) { c.score(x, s) }
