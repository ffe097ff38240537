package classify

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/conformal"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/linear"
	"github.com/loadaware/loadaware/internal/ml/table"
)

// Regression predicts the level first and assigns bins afterwards, so that training does
// not lose information by binning.
//
//	x ──▶ ridge ──▶ + trees on its residual ──▶ level ──┐
//	                                                    ├──▶ P(level + residual in bin)
//	out-of-sample residuals near that level ────────────┘
//
// The ridge extrapolates: usage is almost linear in the logarithms of sizes, and the
// largest input is often the newest. The trees correct the non-linear part.
type Regression struct {
	Ridge linear.Config
	Trees gbt.Config // FitLevels replaces its Seed
	Folds int        // number of folds for the out-of-sample residuals, at least 2; 5 if zero
	Near  int        // number of residuals around the predicted level; 100 if zero
}

// Name returns "regression".
func (Regression) Name() string { return "regression" }

// FitLevels fits the model on all rows, and once without each fold for the out-of-sample
// residuals of that fold. A single row has no out-of-sample residual, so its classifier divides the
// probability evenly between the first and the last bin. FitLevels returns table.ErrShape, ErrTraining
// (also for fewer than two folds) and the errors of the packages linear, gbt and conformal.
func (r Regression) FitLevels(t *table.Table, edges []float64, seed uint64) (Classifier, error) {
	if err := checkLevels(t, edges); err != nil {
		return nil, err
	}
	if r.Folds = cmp.Or(r.Folds, 5); r.Folds < 2 {
		return nil, fmt.Errorf("%w: %d folds hold out no row; use at least two", ErrTraining, r.Folds)
	}
	r.Trees.Seed = seed
	binned, err := gbt.NewBinned(t, r.Trees.MaxBins)
	if err != nil {
		return nil, err
	}
	fold := r.folds(t.Rows(), seed)
	residuals, err := r.outOfSample(t, binned, fold)
	if err != nil {
		return nil, err
	}
	m, err := r.fit(t, binned, rows(fold, func(int) bool { return true }))
	if err != nil {
		return nil, err
	}
	return &Levels{Model: *m, edges: slices.Clone(edges), residuals: residuals, near: cmp.Or(r.Near, 100)}, nil
}

// outOfSample returns the residual of each row from a model that is fitted without the fold of the row.
func (r Regression) outOfSample(t *table.Table, binned *gbt.BinnedTable, fold []int) (*conformal.Residuals, error) {
	if t.Rows() == 1 {
		return conformal.NewResiduals(nil, nil, nil)
	}
	levels, residuals := make([]float64, t.Rows()), make([]float64, t.Rows())
	for f := range slices.Max(fold) + 1 {
		m, err := r.fit(t, binned, rows(fold, func(of int) bool { return of != f }))
		if err != nil {
			return nil, err
		}
		for _, i := range rows(fold, func(of int) bool { return of == f }) {
			levels[i] = m.Level(t.Row(i))
			residuals[i] = t.Y[i] - levels[i]
		}
	}
	return conformal.NewResiduals(levels, residuals, t.W)
}

func (r Regression) folds(n int, seed uint64) []int {
	fold := make([]int, n)
	for at, i := range rand.New(rand.NewPCG(seed, 1)).Perm(n) {
		fold[i] = at % r.Folds
	}
	return fold
}

func rows(fold []int, wanted func(fold int) bool) []int {
	var out []int
	for i, f := range fold {
		if wanted(f) {
			out = append(out, i)
		}
	}
	return out
}

func (r Regression) fit(t *table.Table, binned *gbt.BinnedTable, training []int) (*Model, error) {
	ridge, err := linear.Fit(t.Select(training), r.Ridge)
	if err != nil {
		return nil, err
	}
	base := make([]float64, t.Rows())
	for i := range base {
		base[i] = ridge.Predict(t.Row(i))
	}
	trees, err := gbt.Sample{Binned: binned, Y: t.Y, W: t.W, Base: base, Train: training}.Regression(r.Trees)
	if err != nil {
		return nil, err
	}
	return &Model{Ridge: ridge, Trees: trees}, nil
}

// Model predicts a level: a ridge and the trees boosted on its residual.
type Model struct {
	Ridge *linear.Ridge
	Trees *gbt.Regressor
}

// Level returns the predicted level of one row; NaN is a missing value. It does not
// allocate.
func (m Model) Level(x []float64) float64 { return m.Ridge.Predict(x) + m.Trees.Predict(x) }

// Levels is the classifier of a fitted Regression.
type Levels struct {
	Model
	edges     []float64
	residuals *conformal.Residuals
	near      int
}

// Bins returns the number of bins.
func (l *Levels) Bins() int { return len(l.edges) }

// Probabilities writes P(bin | x) to p. It adds each out-of-sample residual near the predicted
// level to that level, and takes the weighted share of the sums in each bin; see conformal.Window.Shares.
func (l *Levels) Probabilities(x, p []float64) {
	level := l.Level(x)
	l.residuals.Near(level, l.near).Shares(level, l.edges, p)
}
