// Package cart fits a classification tree (CART, Breiman et al. 1984) with golearn. The tree is one
// of the baselines of an evaluation.
//
//	table ──▶ ≤ 1,000 rows ──▶ golearn base ──▶ golearn trees ──▶ flat nodes
//	                                                              + leaf frequencies
//
// The library grows the tree. This package flattens its nodes, because the library's
// Predict copies rows, allocates, and gives no probabilities. Fitting takes quadratic time
// and may panic on unexpected data, so it runs on a bounded sample, with recover, and only
// in evaluations and experiments: the tree never serves predictions. The package handles numbers only.
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

// ErrLibrary reports that the library failed on the rows. Fit and Evaluation return this error also in place of a panic of
// the library.
var ErrLibrary = errors.New("cart: the tree library failed on these rows; leave the baseline out")

// Config bounds the tree. Its zero value is usable.
type Config struct {
	MaxRows  int // largest sample; 1,000 if zero
	MaxDepth int // largest number of splits from root to leaf; 6 if zero
}

// Fit grows a tree on a seeded sample of the rows. The library does not support weights, so
// the sample ignores them; the frequencies of the leaves use all rows with their weights.
// Targets are bins 0 … bins−1. Fit returns table.ErrShape for an invalid or empty table, and
// ErrLibrary if the library fails.
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
	tree.setFrequencies(t)
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
			return fmt.Errorf("%w: target of row %d is %v, not a bin from 0 to %d", table.ErrShape, i, y, bins-1)
		}
	}
	return nil
}

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
	grid, err := convert(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	grown = trees.NewDecisionTreeClassifier(trees.GINI, int64(depth), labels)
	if err := grown.Fit(grid); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	return grown, nil
}

func convert(t *table.Table) (base.FixedDataGrid, error) {
	grid := base.NewDenseInstances()
	specs := make([]base.AttributeSpec, t.Cols()+1)
	for j := range specs {
		// The names are numbered, because the library identifies attributes by name.
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
			grid.Set(specs[j], i, base.PackFloatToBytes(clamp(v)))
		}
		grid.Set(class, i, base.PackFloatToBytes(t.Y[i]))
	}
	return grid, nil
}

// clamp replaces a missing value by a number below all others, and limits huge values so
// that the library's mean of two neighbours cannot overflow.
func clamp(v float64) float64 {
	const huge = 1e300
	if math.IsNaN(v) {
		return -huge
	}
	return min(max(v, -huge/2), huge/2)
}
