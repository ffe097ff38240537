package gbt

// Classifier predicts class probabilities. It is read only and safe for many
// goroutines, and satisfies classify.Classifier.
type Classifier struct{ forest }

// Cols is the number of columns it was fitted on.
func (c *Classifier) Cols() int { return c.cols }

// Trees is the number of trees that early stopping left, over all classes.
func (c *Classifier) Trees() int { return len(c.roots) }

// Bins is the number of classes.
func (c *Classifier) Bins() int { return c.outputs() }

// Probabilities writes P(class | x) into p: len(p) = Bins(), every value in
// [0, 1], sum 1. len(x) = Cols(); NaN is missing. It allocates nothing.
func (c *Classifier) Probabilities(x, p []float64) {
	c.score(x, p)
	normalise(p)
}

// Scores writes the raw score of every class, a log probability up to a constant
// of the row, into s: len(s) = Bins(). Explain's contributions add up to it.
func (c *Classifier) Scores(x, s []float64) { c.score(x, s) }
