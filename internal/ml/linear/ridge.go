// Package linear fits ridge regressions: weighted, on standardised columns, from
// a table at once (Fit) or row by row with forgetting (Online).
//
//	table ──▶ moments ──▶ Cholesky ──▶ Ridge
//	row ─────▶ (means and co-moments)
//
// A missing value (NaN, or infinite) counts as the column's mean; telling that it
// was missing is the encoder's affair. It knows numbers only: no tasks, no clock, no I/O.
package linear

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrSingular reports rows that determine no coefficients, such as values so
// large that their squares overflow.
var ErrSingular = errors.New("linear: no solution: check the columns for huge values or raise the penalty")

// Config says how hard coefficients are held back.
type Config struct {
	// Penalty is λ in Σ w·(y − ŷ)² + λ·Σ β², with β the coefficients of the
	// standardised columns (scikit-learn's alpha); 1 if zero.
	Penalty float64
}

func (c Config) penalty() (float64, error) {
	if c.Penalty == 0 {
		return 1, nil
	}
	if !(c.Penalty > 0) || math.IsInf(c.Penalty, 0) {
		return 0, fmt.Errorf("linear: penalty must be positive, not %v", c.Penalty)
	}
	return c.Penalty, nil
}

// Ridge is a fitted regression. It may be used from many goroutines.
type Ridge struct {
	level float64   // the prediction where every column is at its mean
	mean  []float64 // p means
	coef  []float64 // p coefficients, in the columns' own units
}

// Fit minimises Σ w·(y − ŷ)² + penalty·Σ β² (Hoerl & Kennard 1970) over the table.
// Constant and wholly missing columns get the coefficient 0. The same table gives
// the same model, bit for bit. table.ErrShape for a table that does not match,
// ErrSingular where there is no solution.
func Fit(t *table.Table, cfg Config) (*Ridge, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Rows() == 0 {
		return nil, fmt.Errorf("%w: no rows to fit", table.ErrShape)
	}
	penalty, err := cfg.penalty()
	if err != nil {
		return nil, err
	}
	ridges, err := momentsOf(t).solve(1, penalty)
	if err != nil {
		return nil, err
	}
	return ridges[0], nil
}

// Predict is ŷ for one row of p values; NaN is a missing value. It allocates nothing.
func (r *Ridge) Predict(x []float64) float64 {
	y := r.level
	for j, c := range r.coef {
		if d := x[j] - r.mean[j]; finite(d) {
			y += c * d
		}
	}
	if math.IsNaN(y) { // columns overflowed against each other, and tell nothing
		return r.level
	}
	return y
}

// Cols is p.
func (r *Ridge) Cols() int { return len(r.coef) }

// Coefficients are the p slopes, in units of y by unit of the column.
func (r *Ridge) Coefficients() []float64 { return append([]float64(nil), r.coef...) }

// moments are the weighted means and co-moments of p columns and, last, of y:
// co[i][j] = Σ w·(v_i − mean_i)·(v_j − mean_j). Centred ones, since raw sums of
// squares of dates or byte counts would cancel to nothing.
type moments struct {
	weight float64
	mean   []float64 // p+1
	co     triangle  // p+1 × p+1
}

// momentsOf reads a whole table: missing values take the mean of the known ones.
func momentsOf(t *table.Table) *moments {
	n, p := t.Rows(), t.Cols()
	m := &moments{mean: make([]float64, p+1), co: newTriangle(p + 1)}
	known := make([]float64, p+1)
	for i := range n {
		w := t.Weight(i)
		m.weight += w
		for j, v := range append(t.Row(i), t.Y[i]) {
			if finite(v) {
				known[j] += w
				m.mean[j] += w / known[j] * (v - m.mean[j])
			}
		}
	}
	centred := mat.NewDense(n, p+1, nil)
	for i := range n {
		root, row := math.Sqrt(t.Weight(i)), centred.RawRowView(i)
		for j, v := range append(t.Row(i), t.Y[i]) {
			if finite(v) {
				row[j] = root * (v - m.mean[j])
			}
		}
	}
	var co mat.SymDense
	co.SymOuterK(1, centred.T())
	m.co.copy(&co)
	return m
}

// solve standardises the co-moments to correlations, adds the penalty to their
// diagonal and solves by Cholesky for the last k targets; the coefficients go back
// to the columns' units.
func (m *moments) solve(k int, penalty float64) ([]*Ridge, error) {
	p := len(m.mean) - k
	ridges := make([]*Ridge, k)
	for t := range ridges {
		ridges[t] = &Ridge{level: m.mean[p+t], mean: append([]float64(nil), m.mean[:p]...), coef: make([]float64, p)}
	}
	used, scale := m.varying(p)
	if len(used) == 0 {
		return ridges, nil
	}
	gram, moment := mat.NewSymDense(len(used), nil), mat.NewDense(len(used), k, nil)
	for a, i := range used {
		for t := range k {
			moment.Set(a, t, m.co.at(i, p+t)/scale[a])
		}
		for b, j := range used[:a+1] {
			gram.SetSym(a, b, m.co.at(j, i)/scale[a]/scale[b])
		}
		gram.SetSym(a, a, gram.At(a, a)+penalty)
	}
	var factor mat.Cholesky
	var beta mat.Dense
	if !factor.Factorize(gram) {
		return nil, ErrSingular
	}
	if err := factor.SolveTo(&beta, moment); err != nil && !isCondition(err) {
		return nil, fmt.Errorf("%w: %w", ErrSingular, err)
	}
	for t, r := range ridges {
		for a, j := range used {
			r.coef[j] = beta.At(a, t) / scale[a]
			if !finite(r.coef[j]) {
				return nil, ErrSingular
			}
		}
	}
	return ridges, nil
}

// constant is the deviation, as a share of the mean, below which a column's
// variation is the rounding of its own sums.
const constant = 1e-9

// varying lists the columns, of the first p, that vary, with their standard deviations.
// One whose squares overflow tells nothing that could be computed with, and must not
// take the others along.
func (m *moments) varying(p int) (used []int, scale []float64) {
	for j := range p {
		deviation := math.Sqrt(m.co.at(j, j) / m.weight)
		if finite(deviation) && deviation > constant*math.Abs(m.mean[j]) {
			used, scale = append(used, j), append(scale, deviation)
		}
	}
	return used, scale
}

func finite(v float64) bool { return v-v == 0 }

// isCondition reports a solution that was found, though from a poorly conditioned
// matrix: the penalty bounds what that can cost.
func isCondition(err error) bool {
	var condition mat.Condition
	return errors.As(err, &condition)
}
