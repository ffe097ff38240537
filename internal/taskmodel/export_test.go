package taskmodel

import (
	"testing"

	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Rows returns the total weight of the rows in the line, the ridge regression.
func (m *models) Rows() float64 { return m.line.Rows() }

// SameTrees reports whether two models share the memory of their trees.
func (m *Model) SameTrees(other *Model) bool { return m.Models.Trees == other.Models.Trees }

// ScreenedVersion is the version of the blob of a model that uses only some columns; see encoder.screenColumns.
const ScreenedVersion = screenedVersion

const (
	UnitVersion  = unitVersion
	TrendVersion = trendVersion
)

type failingFamily struct{ err error }

func (failingFamily) Name() string { return "failing" }

func (f failingFamily) FitLevels(*table.Table, []float64, uint64) (classify.Classifier, error) {
	return nil, f.err
}

// PrependFailingFamily makes evaluations fit, before the other classifiers, one whose fit returns err, until the test ends.
func PrependFailingFamily(t *testing.T, err error) {
	usual := families
	t.Cleanup(func() { families = usual })
	families = append([]classify.LevelFamily{failingFamily{err}}, usual...)
}

// Loading returns the loading of the task in the factor of a run.
func (m *Model) Loading() float64 { return m.loading() }
