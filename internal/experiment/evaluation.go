package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// holdout is one split of a binned task. Its methods fit the families on the training rows and evaluate them on the
// held-out rows.
type holdout struct {
	*binnedTask
	plan *Plan
	seed uint64
	split
	trainingData *trainingData
}

type result struct {
	Row
	actual, predicted []int         // bins of the held-out rows; see binnedTask.actual
	tuned             *TuningResult // nil: the parameters were not searched
	model             []byte        // encoded classifier; nil for seeds other than the first, and for cart, Final and Serving
}

func (p *Plan) newHoldout(t *binnedTask, seed uint64) *holdout {
	s := &holdout{binnedTask: t, plan: p, seed: seed}
	if p.Split == ByTime {
		s.split = byTime(t.dataset.Len())
	} else {
		s.split = stratified(t.bin, len(t.edges), seed)
	}
	s.trainingData = newTrainingData(s.dataset, s.split, s.levels)
	return s
}

func (s *holdout) evaluate(ctx context.Context, c combination) (*result, error) {
	p := &result{actual: s.actual(s.test)}
	var err error
	switch c.family {
	case Final:
		p.predicted, err = s.final()
	case Serving:
		p.predicted, err = s.serving()
	default:
		err = s.classify(ctx, c, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s, %s, seed %d: %w", s.name, c.family, c.oversampling, s.seed, err)
	}
	confusion, err := score.Count(p.actual, p.predicted, len(s.edges))
	if err != nil {
		return nil, err
	}
	p.Row = Row{
		Task: s.name, BinsGB: s.BinsGB, Family: c.family, Oversampling: c.oversampling, Split: s.plan.Split, Seed: s.seed,
		Accuracy: confusion.Accuracy(), UScore: confusion.UScore(s.plan.Penalty), URate: confusion.URate(),
		Optimal: s.Optimal, TimeOptimal: s.TimeOptimal, Estimated: confusion.EstimatedSaving(s.Optimal),
	}
	return p, nil
}

// final returns, for each held-out row, the bin with the least expected cost. The models of the service give the
// probabilities of the bins. If the holdout is random, the models use the residuals of a cross-validation, and their
// probabilities are pooled with those of stack.
func (s *holdout) final() ([]int, error) {
	served, err := s.plan.serve(s.dataset, s.train)
	if err == nil && s.plan.Split != ByTime {
		served, err = served.CrossValidated()
	}
	var stacked classify.Classifier
	if err == nil {
		stacked, err = s.stack(served)
	}
	if err != nil {
		return nil, err
	}
	predicted, p, q := make([]int, len(s.test)), make([]float64, len(s.edges)), make([]float64, len(s.edges))
	for k, i := range s.test {
		x := served.Probabilities(i, s.edges, p)
		if stacked != nil {
			stacked.Probabilities(append(x, s.trainingData.test[k]...), q)
			// A logarithmic opinion pool (Genest and Zidek 1986) with the weights 2/3 and 1/3. It is not normalised, because
			// score.Decide only compares costs.
			for bin := range p {
				p[bin] = math.Cbrt(p[bin] * p[bin] * q[bin])
			}
		}
		predicted[k] = score.Decide(p, s.plan.Penalty)
	}
	return predicted, nil
}

// stackedTrees has the parameters of stack in the order of treeSpace, with the default lambda. The trees are few and small,
// because the models of the service already predict most of the peak.
var stackedTrees = []float64{60, 0.05, 4, 10, 0, 0.5}

// stack fits boosted trees that predict the bins from the features and from the out-of-sample predictions of the models of the
// service (stacking, Wolpert 1992). They correct errors near the edges of the bins that the residuals of all levels do not show.
// The result is nil if `served` has no TrainingPredictions.
func (s *holdout) stack(served *taskmodel.ServedModel) (classify.Classifier, error) {
	if served.TrainingPredictions == nil {
		return nil, nil
	}
	features := s.trainingData.enc.Train
	t := &table.Table{Names: make([]string, features.Cols()+len(served.TrainingPredictions[0])), Y: features.Y}
	for i, predicted := range served.TrainingPredictions {
		t.X = append(append(t.X, predicted...), features.Row(i)...)
	}
	return softmax(stackedTrees).FitLevels(t, s.levels, s.seed)
}

// serving returns the bin of the amount that the service would grant to each held-out row at the default risk target.
func (s *holdout) serving() ([]int, error) {
	served, err := s.plan.serve(s.dataset, s.train)
	if err != nil {
		return nil, err
	}
	predicted := make([]int, len(s.test))
	for k, i := range s.test {
		limit := served.Size(i, s.plan.question(s.dataset, i)).Limit // rounding up to an edge does not change the bin
		predicted[k] = binning.Index(s.edges, float64(limit))
	}
	return predicted, nil
}

func (p *Plan) question(dataset *taskmodel.Dataset, row int) taskmodel.Question {
	return taskmodel.Question{
		Requested: dataset.Row(row).Requested, Cap: p.data.Cap,
		RiskTarget: sizing.DefaultRiskTarget, Lifts: sizing.DefaultMaxLifts,
	}
}

func (s *holdout) classify(ctx context.Context, c combination, p *result) error {
	f, _ := familyOf(c.family)
	var params []float64
	if s.plan.Trials > 0 && f.space != nil {
		tuned, err := s.tune(ctx, f, c.oversampling)
		if err != nil {
			return err
		}
		p.tuned, params = tuned, tuned.params
	}
	rows, err := s.trainingData.table(c.oversampling, s.seed)
	if err != nil {
		return err
	}
	fitted, err := f.build(params).FitLevels(rows, s.levels, s.seed)
	if err != nil {
		return err
	}
	p.predicted = f.answers(fitted, s.trainingData.test, s.plan.Penalty)
	if s.seed == 0 && c.family != "cart" { // cart is for evaluation only and is never stored
		p.model, err = classify.Encode(fitted)
	}
	return err
}

func (f *family) answers(c classify.Classifier, rows [][]float64, penalty float64) []int {
	predicted, p := make([]int, len(rows)), make([]float64, c.Bins())
	for i, x := range rows {
		c.Probabilities(x, p)
		predicted[i] = f.decide(p, penalty)
	}
	return predicted
}
