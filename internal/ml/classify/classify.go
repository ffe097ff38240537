// Package classify defines classifiers over usage bins. A family is a kind of classifier, with the
// method that fits it. Package classifytest is the conformance suite that every family must pass.
//
// The package handles numbers only: bins are class numbers 0 … k−1 in ascending order.
package classify

import (
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Classifier predicts P(bin | features) for one encoded row.
type Classifier interface {
	// Bins returns the number of bins.
	Bins() int
	// Probabilities writes P(bin | x) into p: len(p) = Bins(), every value in
	// [0, 1], sum 1. len(x) is the number of columns of the training table; NaN is a
	// missing value. It does not allocate and is safe for concurrent use.
	Probabilities(x, p []float64)
}

// Family fits classifiers of one kind.
type Family interface {
	// Name returns the name of the family, such as "softmax-trees".
	Name() string
	// Fit learns from t, whose targets are bins 0 … bins−1; a bin may have no rows. The
	// same table and seed give the same classifier, bit for bit.
	Fit(t *table.Table, bins int, seed uint64) (Classifier, error)
}
