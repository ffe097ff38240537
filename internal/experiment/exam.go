package experiment

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/classify"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/sizing"
)

// sitting is one exam: all families on one binning of a task and one split.
type sitting struct {
	*trial
	plan *Plan
	seed uint64
	split
	material *material // made when the first classifier needs it
}

// paper is what one family wrote.
type paper struct {
	Row
	actual, predicted []int
	tuned             *Tuned
	model             []byte // of a classifier, for the first seed
}

func (p *Plan) sitting(t *trial, seed uint64) *sitting {
	s := &sitting{trial: t, plan: p, seed: seed}
	if p.Split == ByTime {
		s.split = byTime(t.lesson.Len())
	} else {
		s.split = stratified(t.bin, len(t.edges), seed)
	}
	return s
}

// sit has one family answer for all rows that are held back.
func (s *sitting) sit(ctx context.Context, c combination) (*paper, error) {
	p := &paper{actual: make([]int, 0, len(s.test))}
	for _, i := range s.test {
		p.actual = append(p.actual, s.bin[i])
	}
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
		Optimal: s.Optimal, TimeOptimal: s.TimeOptimal, Estimated: confusion.Estimated(s.Optimal),
	}
	return p, nil
}

// final decides by serving's own probabilities, without a risk cap.
func (s *sitting) final() ([]int, error) {
	served, err := s.plan.serve(s.lesson, s.train)
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

// serving is the bin that would be granted at the default risk.
func (s *sitting) serving() ([]int, error) {
	served, err := s.plan.serve(s.lesson, s.train)
	if err != nil {
		return nil, err
	}
	predicted := make([]int, 0, len(s.test))
	for _, i := range s.test {
		limit := served.Size(i, s.plan.question(s.lesson, i)).Limit // rounded up to an edge it is in the same bin
		predicted = append(predicted, binning.Index(s.edges, float64(limit)))
	}
	return predicted, nil
}

// question is what a first try asks.
func (p *Plan) question(l *fitting.Dataset, row int) fitting.Question {
	return fitting.Question{
		Requested: l.Row(row).Requested, Cap: p.data.Cap,
		RiskTarget: sizing.DefaultRiskTarget, Lifts: sizing.DefaultMaxLifts,
	}
}

// classify fits a family, with parameters that were searched for if that is asked.
func (s *sitting) classify(ctx context.Context, c combination, p *paper) error {
	f, _ := familyOf(c.family)
	var params []float64
	if s.plan.Trials > 0 && f.space != nil {
		tuned, err := s.tune(ctx, f, c.oversampling)
		if err != nil {
			return err
		}
		p.tuned, params = tuned, tuned.params
	}
	if s.material == nil {
		s.material = materialOf(s.lesson, s.split, s.levels)
	}
	rows, err := s.material.table(c.oversampling, s.seed)
	if err != nil {
		return err
	}
	fitted, err := f.of(params).FitLevels(rows, s.levels, s.seed)
	if err != nil {
		return err
	}
	p.predicted = f.answers(fitted, s.material.test, s.plan.Penalty)
	if s.seed == 0 && c.family != "cart" { // which is for exams only, and is never stored
		p.model, err = classify.Encode(fitted)
	}
	return err
}

// answers are the decided bins of encoded rows.
func (f *family) answers(c classify.Classifier, rows [][]float64, penalty float64) []int {
	predicted, p := make([]int, len(rows)), make([]float64, c.Bins())
	for i, x := range rows {
		c.Probabilities(x, p)
		predicted[i] = f.decide(p, penalty)
	}
	return predicted
}
