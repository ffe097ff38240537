package classify

import (
	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// CART is the floor that a champion must beat. It sits exams and never serves, so
// its classifiers cannot be encoded.
type CART struct{ Tree cart.Config }

// Name is "cart".
func (CART) Name() string { return "cart" }

// Fit grows one tree. Errors as of Check and of cart.Fit.
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
