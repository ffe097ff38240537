package gbt

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrTarget reports targets that are invalid for the loss: a class number or a number of classes
// out of range, a quantile level outside (0, 1), or numbers that are not finite or overflow.
var ErrTarget = errors.New("gbt: invalid targets")

// Sample is the training data of one fit on binned rows. Fits that differ in targets,
// weights or rows (folds, refits with newer weights) can share a BinnedTable.
type Sample struct {
	Binned *BinnedTable
	Y      []float64 // one target per row of Binned
	W      []float64 // weights > 0; nil: all 1
	Base   []float64 // initial scores that the trees correct (regression only), one per row of Binned; nil: none
	Train  []int     // indices of the training rows, strictly ascending; nil: all but Valid
	Valid  []int     // indices of the validation rows for early stopping; nil: sampled from Train if Config.EarlyStop is set
}

// FitRegression learns E(y | x) with squared error. valid holds the rows for early stopping
// and may be nil. It returns table.ErrShape, ErrConfig or ErrTarget.
func FitRegression(t, valid *table.Table, cfg Config) (*Regressor, error) {
	return regressor(fitTable(t, valid, squaredLoss{}, cfg))
}

// FitQuantile learns the q quantile of y given x, 0 < q < 1, with the pinball loss. valid
// and the errors are as in FitRegression.
func FitQuantile(t, valid *table.Table, q float64, cfg Config) (*Regressor, error) {
	return regressor(fitTable(t, valid, newQuantile(q), cfg))
}

// FitClassifier learns P(class | x) for classes 0 … k−1, k ≤ 1000, with cross entropy.
// A class may have no rows. valid and the errors are as in FitRegression.
func FitClassifier(t, valid *table.Table, k int, cfg Config) (*Classifier, error) {
	return classifier(fitTable(t, valid, softmax{k}, cfg))
}

// Regression fits like FitRegression, on a sample.
func (s Sample) Regression(cfg Config) (*Regressor, error) {
	return regressor(s.fit(nil, squaredLoss{}, cfg))
}

// Quantile fits like FitQuantile, on a sample.
func (s Sample) Quantile(q float64, cfg Config) (*Regressor, error) {
	return regressor(s.fit(nil, newQuantile(q), cfg))
}

// Classifier fits like FitClassifier, on a sample without Base.
func (s Sample) Classifier(k int, cfg Config) (*Classifier, error) {
	return classifier(s.fit(nil, softmax{k}, cfg))
}

func regressor(f *forest, err error) (*Regressor, error) {
	if err != nil {
		return nil, err
	}
	return &Regressor{forest: *f}, nil
}

func classifier(f *forest, err error) (*Classifier, error) {
	if err != nil {
		return nil, err
	}
	return &Classifier{*f}, nil
}

func fitTable(t, valid *table.Table, l loss, cfg Config) (*forest, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	data, err := NewBinned(t, cfg.MaxBins)
	if err != nil {
		return nil, err
	}
	h, err := newHoldout(valid, t.Cols(), l)
	if err != nil {
		return nil, err
	}
	return Sample{Binned: data, Y: t.Y, W: t.W}.fit(h, l, cfg)
}

// fit boosts on the sample. valid holds the validation rows of a separate table. It is nil if the validation rows are in the
// sample, or if there are none.
func (s Sample) fit(valid *holdout, l loss, cfg Config) (*forest, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := l.validate(); err != nil {
		return nil, err
	}
	if err := s.check(l); err != nil {
		return nil, err
	}
	if s.W == nil {
		s.W = slices.Repeat([]float64{1}, len(s.Y))
	}
	if s.Train == nil {
		s.Train = rowsWithout(len(s.Y), s.Valid)
	}
	if cfg.EarlyStop > 0 && valid == nil && s.Valid == nil {
		s.Train, s.Valid = splitValidation(s.Train, cfg)
	}
	if len(s.Valid) > 0 {
		valid = s.holdout(l.outputs())
	}
	if len(s.Train) == 0 {
		return nil, fmt.Errorf("%w: no training rows", table.ErrShape)
	}
	b := booster{cfg: cfg, loss: l, data: s.Binned, labels: s.labels(l.outputs()), valid: valid}
	for _, r := range s.Train {
		b.rows = append(b.rows, int32(r))
	}
	f := b.run()
	if !f.finite() {
		return nil, fmt.Errorf("%w: the sums overflow; scale the targets down", ErrTarget)
	}
	return f, nil
}

func (s Sample) check(l loss) error {
	n := s.Binned.Rows()
	if len(s.Y) != n || s.W != nil && len(s.W) != n || s.Base != nil && len(s.Base) != n {
		return fmt.Errorf("%w: %d binned rows, len(Y) %d, len(W) %d, len(Base) %d", table.ErrShape, n, len(s.Y), len(s.W), len(s.Base))
	}
	if s.Base != nil && l.outputs() > 1 {
		return fmt.Errorf("%w: a classifier does not support Base", ErrConfig)
	}
	for _, rows := range [][]int{s.Train, s.Valid} {
		for _, r := range rows {
			if r < 0 || r >= n {
				return fmt.Errorf("%w: row number %d in Train or Valid is out of range; must be 0 or more and below the number of rows, %d", table.ErrShape, r, n)
			}
		}
	}
	for i := 1; i < len(s.Train); i++ { // each round would update the score of a duplicate row twice
		if s.Train[i] <= s.Train[i-1] {
			return fmt.Errorf("%w: Train must be strictly ascending, but row %d follows %d; use W to count a row twice", table.ErrShape, s.Train[i], s.Train[i-1])
		}
	}
	for i, y := range s.Y {
		if s.W != nil && !(s.W[i] > 0 && s.W[i] <= math.MaxFloat64) {
			return fmt.Errorf("%w: weight of row %d is %v; must be finite and above 0", table.ErrShape, i, s.W[i])
		}
		if s.Base != nil && !finite(s.Base[i]) {
			return fmt.Errorf("%w: base score of row %d is %v; must be finite", table.ErrShape, i, s.Base[i])
		}
		if !l.isTarget(y) {
			return fmt.Errorf("%w: target of row %d is %v; must be finite or, for softmax, a class from 0 to the number of classes minus 1", ErrTarget, i, y)
		}
	}
	return nil
}

func (s Sample) labels(outputs int) *labels {
	l := &labels{y: s.Y, w: s.W, score: make([]float64, len(s.Y)*outputs)}
	copy(l.score, s.Base)
	return l
}

func (s Sample) holdout(outputs int) *holdout {
	h := &holdout{cols: s.Binned.Cols()}
	h.score = make([]float64, len(s.Valid)*outputs)
	for i, r := range s.Valid {
		h.x = append(h.x, s.Binned.row(r)...)
		h.y, h.w = append(h.y, s.Y[r]), append(h.w, s.W[r])
		if s.Base != nil {
			h.score[i] = s.Base[r]
		}
	}
	return h
}

func newHoldout(t *table.Table, cols int, l loss) (*holdout, error) {
	if t == nil || t.Rows() == 0 {
		return nil, nil
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Cols() != cols {
		return nil, fmt.Errorf("%w: %d training columns, %d validation columns", table.ErrShape, cols, t.Cols())
	}
	h := &holdout{x: t.X, cols: cols}
	h.y, h.score = t.Y, make([]float64, t.Rows()*l.outputs())
	for i, y := range t.Y {
		if !l.isTarget(y) {
			return nil, fmt.Errorf("%w: target of validation row %d is %v; must be finite or, for softmax, a class from 0 to the number of classes minus 1", ErrTarget, i, y)
		}
		h.w = append(h.w, t.Weight(i))
	}
	return h, nil
}

func rowsWithout(n int, without []int) []int {
	isOut := make([]bool, n)
	for _, r := range without {
		isOut[r] = true
	}
	var rows []int
	for r := range n {
		if !isOut[r] {
			rows = append(rows, r)
		}
	}
	return rows
}

func splitValidation(rows []int, cfg Config) (train, valid []int) {
	if len(rows) < 2 {
		return rows, nil
	}
	valid, train = draw(rand.NewPCG(cfg.Seed, 0xbf58476d1ce4e5b9), rows, cfg.ValidShare, nil, nil)
	return train, valid
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
