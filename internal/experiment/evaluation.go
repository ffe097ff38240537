package experiment

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/score"
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
	trainingData *trainingData // created when the first classifier needs it
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
// probabilities of the bins. If the holdout is random, the models use the residuals of a cross-validation.
func (s *holdout) final() ([]int, error) {
	served, err := s.plan.serve(s.dataset, s.train)
	if err == nil && s.plan.Split != ByTime {
		served, err = served.CrossValidated()
	}
	if err != nil {
		return nil, err
	}
	predicted, p := make([]int, 0, len(s.test)), make([]float64, len(s.edges))
	for _, i := range s.test {
		served.Probabilities(i, s.edges, p)
		predicted = append(predicted, score.Decide(p, s.plan.Penalty))
	}
	return predicted, nil
}

// serving returns the bin of the amount that the service would grant to each held-out row at the default risk target.
func (s *holdout) serving() ([]int, error) {
	served, err := s.plan.serve(s.dataset, s.train)
	if err != nil {
		return nil, err
	}
	predicted := make([]int, 0, len(s.test))
	for _, i := range s.test {
		limit := served.Size(i, s.plan.question(s.dataset, i)).Limit // rounding up to an edge does not change the bin
		predicted = append(predicted, binning.Index(s.edges, float64(limit)))
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
	if s.trainingData == nil {
		s.trainingData = newTrainingData(s.dataset, s.split, s.levels)
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
