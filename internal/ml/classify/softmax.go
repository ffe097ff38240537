package classify

import (
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

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
