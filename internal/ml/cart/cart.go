// Package cart is the baseline that every champion must beat: a classification
// tree (CART, Breiman et al. 1984) grown by golearn.
//
//	table ──▶ ≤ 1,000 rows ──▶ golearn base ──▶ golearn trees ──▶ flat nodes
//	                                                              + leaf counts
//
// The library grows the tree; its nodes are then flattened, because its own
// Predict copies rows, allocates, and knows no probabilities. It is slow (time
// grows with the square of the rows) and may panic on data it does not expect, so
// it is fitted on a bounded sample, behind recover, and only ever for an exam: it
// never serves. It knows numbers only.
package cart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/trees"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrLibrary reports that the library gave up on the rows. The exam goes on
// without this baseline.
var ErrLibrary = errors.New("cart: the tree library failed on these rows; leave the baseline out")

// Config bounds the tree. Its zero value is usable.
type Config struct {
	MaxRows  int // rows that the tree is grown on at most; 1,000 if zero
	MaxDepth int // splits from root to leaf at most; 6 if zero
}

// Fit grows a tree on a sample of the rows, drawn by seed without regard to
// weights, which the library does not know; all rows, with their weights, then
// give the leaves their frequencies. Targets are bins 0 … bins−1. table.ErrShape
// for a table that does not match or has no rows, ErrLibrary if the library fails.
func Fit(t *table.Table, bins int, cfg Config, seed uint64) (*Tree, error) {
	if err := check(t, bins); err != nil {
		return nil, err
	}
	sample := t
	if limit := cmp.Or(cfg.MaxRows, 1000); t.Rows() > limit {
		rows := rand.New(rand.NewPCG(seed, 0)).Perm(t.Rows())[:limit]
		slices.Sort(rows)
		sample = t.Select(rows)
	}
	tree := &Tree{bins: bins}
	if sample.Cols() > 0 {
		grown, err := grow(sample, bins, cmp.Or(cfg.MaxDepth, 6))
		if err != nil {
			return nil, err
		}
		tree.flatten(grown)
	}
	tree.count(t)
	return tree, nil
}

func check(t *table.Table, bins int) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 {
		return fmt.Errorf("%w: no rows to fit", table.ErrShape)
	}
	for i, y := range t.Y {
		if y != math.Trunc(y) || y < 0 || y >= float64(bins) {
			return fmt.Errorf("%w: target of row %d is %v, not a bin of %d", table.ErrShape, i, y, bins)
		}
	}
	return nil
}

// grow runs the library behind recover.
func grow(t *table.Table, bins, depth int) (grown *trees.CARTDecisionTreeClassifier, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			grown, err = nil, fmt.Errorf("%w: %v", ErrLibrary, failure)
		}
	}()
	labels := make([]int64, bins)
	for i := range labels {
		labels[i] = int64(i)
	}
	grid, err := interchange(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	grown = trees.NewDecisionTreeClassifier(trees.GINI, int64(depth), labels)
	if err := grown.Fit(grid); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	return grown, nil
}

// interchange is the table in the library's own form: a float attribute for each
// column, and the class as the last one.
func interchange(t *table.Table) (base.FixedDataGrid, error) {
	grid := base.NewDenseInstances()
	specs := make([]base.AttributeSpec, t.Cols()+1)
	for j := range specs {
		// Numbered, since the library tells attributes apart by name.
		specs[j] = grid.AddAttribute(base.NewFloatAttribute(fmt.Sprintf("column %d", j)))
	}
	class := specs[t.Cols()]
	if err := grid.AddClassAttribute(class.GetAttribute()); err != nil {
		return nil, err
	}
	if err := grid.Extend(t.Rows()); err != nil {
		return nil, err
	}
	for i := range t.Rows() {
		for j, v := range t.Row(i) {
			grid.Set(specs[j], i, base.PackFloatToBytes(known(v)))
		}
		grid.Set(class, i, base.PackFloatToBytes(t.Y[i]))
	}
	return grid, nil
}

// known puts a missing value below every number, and a huge one where the
// library's mean of two neighbours cannot overflow.
func known(v float64) float64 {
	const huge = 1e300
	if math.IsNaN(v) {
		return -huge
	}
	return min(max(v, -huge/2), huge/2)
}
