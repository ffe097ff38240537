package classify

import (
	"github.com/loadaware/loadaware/internal/ml/svm"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// SVM fits support vector machines with the Gaussian kernel, one for every two bins.
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
