package classify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrLesson reports a table or bins that no family can learn from.
var ErrLesson = errors.New("classify: cannot be learned")

// LevelFamily fits classifiers from the levels themselves, which know more than
// the bins they fall in. A level is the logarithm of a peak.
type LevelFamily interface {
	// Name is the family's name in reports.
	Name() string
	// FitLevels learns from t, whose targets are levels; edges are the ascending
	// upper edges of k = len(edges) bins, as levels. A level above the last edge
	// is in the last bin. The same table, edges and seed give the same
	// classifier, bit for bit.
	FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error)
}

// Binned is a Family that is given levels: it learns the bins they fall in.
type Binned struct{ Family }

// FitLevels fits the family on Cut(t, edges).
func (b Binned) FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error) {
	if err := checkLevels(t, edges); err != nil {
		return nil, err
	}
	return b.Fit(Cut(t, edges), len(edges), seed)
}

// Cut is the table with each level replaced by its bin's number; the rest is
// shared with t.
func Cut(t *table.Table, edges []float64) *table.Table {
	out := *t
	out.Y = make([]float64, len(t.Y))
	for i, level := range t.Y {
		bin, _ := slices.BinarySearch(edges, level)
		out.Y[i] = float64(min(bin, len(edges)-1))
	}
	return &out
}

// Check reports a table that a Family cannot learn k bins from: table.ErrShape, or
// ErrLesson for no rows or a target that is no bin.
func Check(t *table.Table, bins int) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 || bins < 1 {
		return fmt.Errorf("%w: %d rows, %d bins", ErrLesson, t.Rows(), bins)
	}
	for i, y := range t.Y {
		if bin := int(y); bin < 0 || bin >= bins || float64(bin) != y {
			return fmt.Errorf("%w: target of row %d is %v, not a bin of %d", ErrLesson, i, y, bins)
		}
	}
	return nil
}

func checkLevels(t *table.Table, edges []float64) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 || len(edges) == 0 {
		return fmt.Errorf("%w: %d rows, %d bins", ErrLesson, t.Rows(), len(edges))
	}
	for i, edge := range edges {
		if edge-edge != 0 || i > 0 && edge <= edges[i-1] {
			return fmt.Errorf("%w: edges must be finite and ascend: %v", ErrLesson, edges)
		}
	}
	return nil
}
