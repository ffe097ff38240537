package classify

import (
	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// CART is the baseline that a champion must beat. It takes part in evaluations only, so
// its classifiers cannot be encoded.
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
