package classify

import (
	"errors"
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrTraining reports a table, bins or settings from which a family cannot learn.
var ErrTraining = errors.New("classify: invalid training data")

// LevelFamily fits classifiers from levels, which contain more information than bins. A
// level is the logarithm of a peak.
type LevelFamily interface {
	// Name returns the name of the family.
	Name() string
	// FitLevels learns from t, whose targets are levels; edges are the ascending
	// upper edges of k = len(edges) bins, as levels. A level above the last edge
	// is in the last bin. The same table, edges and seed give the same
	// classifier, bit for bit.
	FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error)
}

// BinnedFamily adapts a Family to levels: the family learns the bins of the levels.
type BinnedFamily struct{ Family }

// FitLevels fits the family on Cut(t, edges).
func (b BinnedFamily) FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error) {
	if err := checkLevels(t, edges); err != nil {
		return nil, err
	}
	return b.Fit(Cut(t, edges), len(edges), seed)
}

// Cut returns the table with each level replaced by its bin number. It shares everything
// else with t. A level above the last edge is in the last bin.
func Cut(t *table.Table, edges []float64) *table.Table {
	out := *t
	out.Y = make([]float64, len(t.Y))
	for i, level := range t.Y {
		bin, _ := slices.BinarySearch(edges, level)
		out.Y[i] = float64(min(bin, len(edges)-1))
	}
	return &out
}

// Check validates the table for Family.Fit with a number of bins. It returns table.ErrShape, or
// ErrTraining for a table without rows, fewer than one bin, or a target that is not a bin.
func Check(t *table.Table, bins int) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 || bins < 1 {
		return fmt.Errorf("%w: %d rows, %d bins", ErrTraining, t.Rows(), bins)
	}
	for i, y := range t.Y {
		if bin := int(y); bin < 0 || bin >= bins || float64(bin) != y {
			return fmt.Errorf("%w: target of row %d is %v, not a bin from 0 to %d", ErrTraining, i, y, bins-1)
		}
	}
	return nil
}

func checkLevels(t *table.Table, edges []float64) error {
	if err := t.Check(); err != nil {
		return err
	}
	if t.Rows() == 0 || len(edges) == 0 {
		return fmt.Errorf("%w: %d rows, %d bins", ErrTraining, t.Rows(), len(edges))
	}
	for i, edge := range edges {
		isFinite := edge-edge == 0 // the difference is NaN if edge is NaN or infinite
		if !isFinite || i > 0 && edge <= edges[i-1] {
			return fmt.Errorf("%w: edges must be finite and ascend: %v", ErrTraining, edges)
		}
	}
	return nil
}
