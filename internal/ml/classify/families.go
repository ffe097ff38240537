package classify

import (
	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/svm"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Prior predicts the weighted frequencies of the bins for every row. It uses no features
// and is the simplest baseline.
type Prior struct{}

// Name returns "prior".
func (Prior) Name() string { return "prior" }

// Fit adds up the weights of the rows of each bin. All bins share one extra row of weight 1 (Perks
// 1947), so that an empty bin has a small positive probability. Fit returns the errors of Check.
func (Prior) Fit(t *table.Table, bins int, _ uint64) (Classifier, error) {
	if err := Check(t, bins); err != nil {
		return nil, err
	}
	p, total := make(frequencies, bins), 1.0
	for i, y := range t.Y {
		p[int(y)] += t.Weight(i)
		total += t.Weight(i)
	}
	for bin := range p {
		p[bin] = (p[bin] + 1/float64(bins)) / total
	}
	return p, nil
}

// frequencies holds P(bin), the same for every row.
type frequencies []float64

func (f frequencies) Bins() int                    { return len(f) }
func (f frequencies) Probabilities(_, p []float64) { copy(p, f) }

// CART fits classification trees, a baseline for evaluations. Its classifiers are never used for
// predictions, so they cannot be encoded.
type CART struct{ Tree cart.Config }

// Name returns "cart".
func (CART) Name() string { return "cart" }

// Fit grows one tree. It returns the errors of Check and cart.Fit.
func (c CART) Fit(t *table.Table, bins int, seed uint64) (Classifier, error) {
	if err := Check(t, bins); err != nil {
		return nil, err
	}
	tree, err := cart.Fit(t, bins, c.Tree, seed)
	if err != nil { // a typed nil must not become a Classifier
		return nil, err
	}
	return tree, nil
}

// SoftmaxTrees fits boosted trees on the cross entropy of the bins.
type SoftmaxTrees struct {
	Trees gbt.Config // Fit replaces its Seed
}

// Name returns "softmax-trees".
func (SoftmaxTrees) Name() string { return "softmax-trees" }

// Fit boosts the trees. It returns the errors of Check and gbt.FitClassifier.
func (s SoftmaxTrees) Fit(t *table.Table, bins int, seed uint64) (Classifier, error) {
	if err := Check(t, bins); err != nil {
		return nil, err
	}
	s.Trees.Seed = seed
	c, err := gbt.FitClassifier(t, nil, bins, s.Trees)
	if err != nil { // a typed nil must not become a Classifier
		return nil, err
	}
	return c, nil
}

// SVM fits support vector machines with the Gaussian kernel, one for each pair of bins.
type SVM struct{ Machine svm.Config }

// Name returns "svm".
func (SVM) Name() string { return "svm" }

// Fit finds the decision boundaries. It returns the errors of Check and svm.Fit.
func (s SVM) Fit(t *table.Table, bins int, seed uint64) (Classifier, error) {
	if err := Check(t, bins); err != nil {
		return nil, err
	}
	c, err := svm.Fit(t, bins, s.Machine, seed)
	if err != nil { // a typed nil must not become a Classifier
		return nil, err
	}
	return c, nil
}
