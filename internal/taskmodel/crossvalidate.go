package taskmodel

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// The service predicts each row by a model of the rows before it. The residuals of the first rows are therefore those of
// models of a few rows, and are wider than the errors of the model that is fitted on all rows. In a stream this is
// cautious, because a task may change. The rows of a random holdout do not come after the training rows, so their errors
// are those of k-fold cross-validation (Stone 1974).

// crossValidationFolds is the number of folds, as in the family regression of the experiments.
const crossValidationFolds = 5

// CrossValidated returns a model for a random holdout of the rows from which the training rows come. This model has the
// models of s and the residuals of a cross-validation on the training rows. It must not learn, and its Size is not that of the
// service. With fewer than minEvaluationRows training rows or in the cold start, CrossValidated returns s. The first call
// computes the result, and further calls, also on the result itself, return the same result.
func (s *ServedModel) CrossValidated() (*ServedModel, error) { return s.crossValidated() }

func (s *ServedModel) crossValidate() (*ServedModel, error) {
	rows := s.Model.rowsOf(s.history, len(s.history.Rows))
	if len(rows) < minEvaluationRows || s.Model.Experts.IsColdStart() {
		return s, nil
	}
	points, logs := make([]experts.Point, len(rows)), make([]float64, len(rows))
	for fold := range crossValidationFolds {
		if err := s.predictFold(rows, fold, points, logs); err != nil {
			return nil, fmt.Errorf("cross-validate fold %d: %w", fold+1, err)
		}
	}
	blob, err := s.Model.Blob()
	if err != nil {
		return nil, err
	}
	m, err := Open(blob)
	if err != nil {
		return nil, err
	}
	m.Experts = s.Model.Experts.WithResiduals(points, logs)
	result := &ServedModel{Model: m, dataset: s.dataset, history: s.history}
	if len(rows) == len(s.history.Rows) {
		for i := range points {
			result.TrainingPredictions = append(result.TrainingPredictions, predictionsOf(&points[i]))
		}
	}
	result.crossValidated = func() (*ServedModel, error) { return result, nil }
	return result, nil
}

func (s *ServedModel) predictFold(rows []row, fold int, points []experts.Point, logs []float64) error {
	var others []row
	for i := range rows {
		if i%crossValidationFolds != fold {
			others = append(others, rows[i])
		}
	}
	fitted, err := fitModels(&s.history.Schema, others, nil, s.Model.Trees, seedOf(len(others)), s.Model.fits, &s.Model.ablated)
	if err != nil {
		return err
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	for i := fold; i < len(rows); i += crossValidationFolds {
		fitted.predict(rows[i].Cells, &points[i], b)
		logs[i] = math.Log(rows[i].Peak)
	}
	return nil
}

// predictionsOf returns predictions of the models as inputs of a second model (stacking, Wolpert 1992).
func predictionsOf(p *experts.Point) []float64 {
	level := p.Level[experts.LineTrees]
	return []float64{level, p.Level[experts.Trees] - level, math.Log(p.Scale[experts.TreeScale])}
}
