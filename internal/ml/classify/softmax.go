package classify

import (
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// SoftmaxTrees fits boosted trees on the cross entropy of the bins.
type SoftmaxTrees struct {
	Trees gbt.Config // its Seed is replaced by Fit's
}

// Name is "softmax-trees".
func (SoftmaxTrees) Name() string { return "softmax-trees" }

// Fit boosts. Errors as of Check and of gbt.FitClassifier.
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
