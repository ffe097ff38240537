package experiment

import (
	"context"

	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/ml/tune"
)

// Bayes and RandomSearch are the methods of the parameter search.
const (
	Bayes        = "bayes"  // Bayesian optimisation, see tune.Bayes
	RandomSearch = "random" // random search, the baseline
)

// Searches returns the methods of the parameter search.
func Searches() []string { return []string{Bayes, RandomSearch} }

// searchFolds is the number of cross-validation folds of each trial. More folds rate a trial more precisely and take more
// time.
const searchFolds = 3

// TuningResult is the result of a parameter search for one family.
type TuningResult struct {
	Task         string             `json:"task"`
	BinsGB       []float64          `json:"bins_gb"`
	Family       string             `json:"family"`
	Oversampling string             `json:"oversampling"`
	Seed         uint64             `json:"seed"`
	Params       map[string]float64 `json:"params"`
	UScore       float64            `json:"u_score"`       // mean over the folds of the training rows
	FirstUScore  float64            `json:"first_u_score"` // UScore of the first trial

	params []float64 // Params in the order of space
	space  tune.Space
}

// fold is one cross-validation fold of the training rows, prepared once for all trials.
// Each fold has its own encoding, and oversampling adds rows to each fold separately. So neither the encoding nor the added
// rows depend on the test rows of the fold.
type fold struct {
	rows   *table.Table // encoded training rows
	test   [][]float64  // encoded test rows
	actual []int        // bins of the test rows
}

func (s *holdout) tune(ctx context.Context, f family, oversampling string) (*TuningResult, error) {
	parts, err := s.folds(oversampling)
	if err != nil {
		return nil, err
	}
	loss := func(params []float64) (float64, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s.plan.step()
		return s.meanUScore(f, params, parts)
	}
	search := tune.Bayes
	if s.plan.Search == RandomSearch {
		search = tune.Random
	}
	trials, err := search(f.space, s.plan.Trials, s.seed, loss)
	if err != nil {
		return nil, err
	}
	best := tune.Best(trials)
	t := &TuningResult{
		Task: s.name, BinsGB: s.BinsGB, Family: f.name, Oversampling: oversampling, Seed: s.seed,
		Params: map[string]float64{}, UScore: best.Loss, FirstUScore: trials[0].Loss, params: best.Params, space: f.space,
	}
	for i, d := range f.space {
		t.Params[d.Name] = best.Params[i]
	}
	return t, nil
}

func (s *holdout) folds(oversampling string) ([]fold, error) {
	bin := make([]int, len(s.train))
	for i, row := range s.train {
		bin[i] = s.bin[row]
	}
	var parts []fold
	for _, part := range folds(bin, len(s.edges), searchFolds, s.seed) {
		var own split
		for _, i := range part.train {
			own.train = append(own.train, s.train[i])
		}
		for _, i := range part.test {
			own.test = append(own.test, s.train[i])
		}
		m := newTrainingData(s.dataset, own, s.levels)
		rows, err := m.table(oversampling, s.seed)
		if err != nil {
			return nil, err
		}
		parts = append(parts, fold{rows, m.test, s.actual(own.test)})
	}
	return parts, nil
}

func (s *holdout) meanUScore(f family, params []float64, parts []fold) (float64, error) {
	sum := 0.0
	for _, part := range parts {
		fitted, err := f.build(params).FitLevels(part.rows, s.levels, s.seed)
		if err != nil {
			return 0, err
		}
		c, err := score.Count(part.actual, f.answers(fitted, part.test, s.plan.Penalty), len(s.edges))
		if err != nil {
			return 0, err
		}
		sum += c.UScore(s.plan.Penalty)
	}
	return sum / float64(len(parts)), nil
}
