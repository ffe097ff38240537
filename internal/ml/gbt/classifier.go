package gbt

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
// probability up to a constant per row. The contributions of Explain sum to it.
func (c *Classifier) Scores(x, s []float64) { c.score(x, s) }
