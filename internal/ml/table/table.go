// Package table defines the training data of all models: rows of features, a target and a
// weight. The package handles numbers only: no tasks, bytes, clock or I/O.
package table

import (
	"errors"
	"fmt"
	"math"
)

// ErrShape reports rows, columns, targets or weights that do not match or are invalid.
var ErrShape = errors.New("table: invalid shape or value")

// Table is n rows × p columns. NaN in X is a missing value; Y and W are finite.
type Table struct {
	Names []string  // p column names
	Group []int     // p group numbers: the columns of a one-hot group share a number ≥ 1; 0: not in a group. nil: no groups
	X     []float64 // n·p, row by row
	Y     []float64 // n targets; class numbers 0 … k−1 for classifiers
	W     []float64 // n weights > 0; nil: all 1
}

// Rows returns n.
func (t *Table) Rows() int { return len(t.Y) }

// Cols returns p.
func (t *Table) Cols() int { return len(t.Names) }

// Row returns the p values of row i, which are shared with the table.
func (t *Table) Row(i int) []float64 {
	p := len(t.Names)
	return t.X[i*p : (i+1)*p : (i+1)*p]
}

// Weight returns the weight of row i.
func (t *Table) Weight(i int) float64 {
	if t.W == nil {
		return 1
	}
	return t.W[i]
}

// Select returns a table with copies of the given rows, in the given order (repeats are allowed).
func (t *Table) Select(rows []int) *Table {
	p := t.Cols()
	out := &Table{Names: t.Names, Group: t.Group, X: make([]float64, 0, len(rows)*p), Y: make([]float64, 0, len(rows))}
	for _, i := range rows {
		out.X = append(out.X, t.Row(i)...)
		out.Y = append(out.Y, t.Y[i])
		if t.W != nil {
			out.W = append(out.W, t.W[i])
		}
	}
	return out
}

// Check returns ErrShape if the shapes do not match, if a target or weight is not finite, or if a
// weight is not positive.
func (t *Table) Check() error {
	n, p := t.Rows(), t.Cols()
	if len(t.X) != n*p || t.W != nil && len(t.W) != n || t.Group != nil && len(t.Group) != p {
		return fmt.Errorf("%w: %d rows × %d columns, len(X) %d, len(W) %d, len(Group) %d", ErrShape, n, p, len(t.X), len(t.W), len(t.Group))
	}
	for i := range n {
		if math.IsNaN(t.Y[i]) || math.IsInf(t.Y[i], 0) {
			return fmt.Errorf("%w: target of row %d is %v; must be finite", ErrShape, i, t.Y[i])
		}
		if w := t.Weight(i); !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%w: weight of row %d is %v; must be finite and above 0", ErrShape, i, w)
		}
	}
	return nil
}
