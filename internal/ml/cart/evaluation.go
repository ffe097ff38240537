package cart

import (
	"fmt"
	"strconv"

	"github.com/sjwhitworth/golearn/base"
	"github.com/sjwhitworth/golearn/evaluation"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Evaluation returns golearn's confusion matrix of actual and predicted bins, from which
// evaluation.GetSummary formats precision and recall. It returns table.ErrShape if the
// lengths differ, and ErrLibrary if the library panics or rejects a table.
func Evaluation(actual, predicted []int) (matrix evaluation.ConfusionMatrix, err error) {
	if len(actual) != len(predicted) {
		return nil, fmt.Errorf("%w: %d actual rows, %d predicted", table.ErrShape, len(actual), len(predicted))
	}
	defer func() {
		if failure := recover(); failure != nil {
			matrix, err = nil, fmt.Errorf("%w: %v", ErrLibrary, failure)
		}
	}()
	if len(actual) == 0 {
		return evaluation.ConfusionMatrix{}, nil
	}
	reference, err := classes(actual)
	if err != nil {
		return nil, err
	}
	generated, err := classes(predicted)
	if err != nil {
		return nil, err
	}
	return evaluation.GetConfusionMatrix(reference, generated)
}

func classes(bins []int) (base.FixedDataGrid, error) {
	grid, bin := base.NewDenseInstances(), base.NewCategoricalAttribute()
	bin.SetName("bin")
	spec := grid.AddAttribute(bin)
	if err := grid.AddClassAttribute(bin); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	if err := grid.Extend(len(bins)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	for i, b := range bins {
		grid.Set(spec, i, bin.GetSysValFromString(strconv.Itoa(b)))
	}
	return grid, nil
}
