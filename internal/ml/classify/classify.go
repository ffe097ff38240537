// Package classify is the contract of the classifiers over usage bins and their
// families. Package classifytest is the exam that every family sits.
//
// It knows numbers only: bins are class numbers 0 … k−1 in ascending order.
package classify

import (
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Classifier gives P(bin | features) for one encoded row.
type Classifier interface {
	// Bins is k.
	Bins() int
	// Probabilities writes P(bin | x) into p: len(p) = Bins(), every value in
	// [0, 1], sum 1. len(x) is the number of columns it was fitted on; NaN is a
	// missing value. It allocates nothing and may be called from many goroutines.
	Probabilities(x, p []float64)
}

// Family fits classifiers of one kind.
type Family interface {
	// Name is the family's name in reports: "softmax-trees", "prior".
	Name() string
	// Fit learns from t, whose targets are bins 0 … k−1; bins without a row are
	// legal. The same table and seed give the same classifier, bit for bit.
	Fit(t *table.Table, bins int, seed uint64) (Classifier, error)
}
