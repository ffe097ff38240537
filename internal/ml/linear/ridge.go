// Package linear fits weighted ridge regressions on standardised columns, either from a
// whole table (Fit) or row by row with exponential forgetting (Online).
//
//	table ─┐
//	       ├─▶ moments (means and co-moments) ──▶ Cholesky ──▶ Ridge
//	rows ──┘
//
// A missing value (NaN or infinite) counts as the mean of its column. The caller may add
// missing-value indicators. The package handles numbers only: no tasks, no clock, no I/O.
package linear

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrSingular reports rows that do not determine the coefficients, because huge targets overflow or a
// tiny penalty does not separate dependent columns.
var ErrSingular = errors.New("linear: no solution: check the targets for huge values or raise the penalty")

// Config sets the regularisation.
type Config struct {
	// Penalty is λ (alpha in scikit-learn) in Σ w·(y − ŷ)² + λ·Σ β², where β are the coefficients of the
	// standardised columns; 1 if zero.
	Penalty float64
}

func (c Config) penalty() (float64, error) {
	if c.Penalty == 0 {
		return 1, nil
	}
	if !(c.Penalty > 0) || math.IsInf(c.Penalty, 0) {
		return 0, fmt.Errorf("linear: penalty %v: must be positive and finite", c.Penalty)
	}
	return c.Penalty, nil
}

// Ridge is a fitted regression. It is safe for concurrent use.
type Ridge struct {
	level float64   // the prediction if every column has its mean
	mean  []float64 // the means of the p columns
	coef  []float64 // p coefficients, in units of y per unit of the column
}

// Fit minimises Σ w·(y − ŷ)² + penalty·Σ β² (Hoerl & Kennard 1970) over the table.
// Constant and completely missing columns, and those whose squares overflow, get the
// coefficient 0. The same table gives the same model, bit for bit. Fit returns table.ErrShape
// for an invalid table, ErrSingular if there is no solution, and an error for an invalid penalty.
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

// Predict returns ŷ for one row of p values; NaN and ±Inf are missing values. It does not allocate.
func (r *Ridge) Predict(x []float64) float64 {
	y := r.level
	for j, c := range r.coef {
		if d := x[j] - r.mean[j]; finite(d) {
			y += c * d
		}
	}
	if math.IsNaN(y) { // two columns overflowed with opposite signs
		return r.level
	}
	return y
}

// Shifted returns a regression whose predictions are higher by d.
func (r *Ridge) Shifted(d float64) *Ridge { return &Ridge{r.level + d, r.mean, r.coef} }

// Cols returns the number p of columns.
func (r *Ridge) Cols() int { return len(r.coef) }

// Coefficients returns the p slopes, in units of y per unit of the column.
func (r *Ridge) Coefficients() []float64 { return append([]float64(nil), r.coef...) }

// moments holds the weighted means and co-moments of p columns and, after them, of k targets:
// co[i][j] = Σ w·(v_i − mean_i)·(v_j − mean_j). The products are centred, because raw sums of
// squares of dates or byte counts would lose their precision by cancellation.
type moments struct {
	weight float64   // total weight of the rows
	mean   []float64 // p+k
	co     triangle  // (p+k) × (p+k)
}

// momentsOf returns the means and the co-moments of a table. A missing value counts as the mean of the known values of its
// column.
func momentsOf(t *table.Table) *moments {
	p := t.Cols()
	m := &moments{mean: make([]float64, p+1), co: newTriangle(p + 1)}
	m.setMeans(t)
	m.setProducts(t)
	return m
}

func (m *moments) setMeans(t *table.Table) {
	known, cells := make([]float64, len(m.mean)), make([]float64, 0, len(m.mean))
	for i := range t.Rows() {
		w := t.Weight(i)
		m.weight += w
		whole := w / m.weight // the share of the row in a column without missing values
		cells = append(append(cells[:0], t.Row(i)...), t.Y[i])
		for j, v := range cells {
			if !finite(v) {
				continue
			}
			share := whole
			if known[j] += w; known[j] != m.weight {
				share = w / known[j]
			}
			m.mean[j] += share * (v - m.mean[j])
		}
	}
}

// blockRows is the number of rows whose products are summed at a time. A block fits into the first-level cache of the CPU; a
// table does not.
const blockRows = 32

// setProducts sums the products of the deviations from the means, in the order of the rows.
func (m *moments) setProducts(t *table.Table) {
	q := len(m.mean)
	sum := takeSymmetric(q)
	defer symmetricPool.Put(sum)
	clear(sum.Data)
	block := blas64.General{Cols: q, Stride: q, Data: make([]float64, 0, blockRows*q)}
	for i := range t.Rows() {
		from := len(block.Data)
		block.Data = append(append(block.Data, t.Row(i)...), t.Y[i])
		m.centre(block.Data[from:], math.Sqrt(t.Weight(i)))
		if block.Rows++; block.Rows == blockRows || i+1 == t.Rows() {
			blas64.Syrk(blas.Trans, 1, block, 1, *sum)
			block.Rows, block.Data = 0, block.Data[:0]
		}
	}
	m.co.copy(*sum)
}

// centre replaces the cells of a row by their deviations from the means, times a factor. The deviation of a missing value is 0.
func (m *moments) centre(cells []float64, factor float64) {
	for j, v := range cells {
		if finite(v) {
			cells[j] = factor * (v - m.mean[j])
		} else {
			cells[j] = 0
		}
	}
}

// solve divides the co-moments by the standard deviations of their columns, adds the penalty to the
// diagonal and solves by Cholesky for the k targets, which are the last k variables. It returns one regression per target, whose
// coefficients are in units of the target per unit of the column.
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
	gram, beta := takeSymmetric(len(used)), blas64.General{Rows: len(used), Cols: k, Stride: k, Data: make([]float64, len(used)*k)}
	defer symmetricPool.Put(gram)
	for a, i := range used {
		for t := range k {
			beta.Data[a*k+t] = m.co.at(i, p+t) / scale[a]
		}
		row := gram.Data[a*gram.Stride : (a+1)*gram.Stride]
		for b := a; b < len(used); b++ {
			row[b] = m.co.at(i, used[b]) / scale[b] / scale[a]
		}
		row[a] += penalty
	}
	if !solveDefinite(*gram, beta) {
		return nil, ErrSingular
	}
	for t, r := range ridges {
		for a, j := range used {
			r.coef[j] = beta.Data[a*k+t] / scale[a]
			if !finite(r.coef[j]) {
				return nil, ErrSingular
			}
		}
	}
	return ridges, nil
}

// leastVariation is the standard deviation, relative to the mean, up to which the variation of a column
// counts as rounding error.
const leastVariation = 1e-9

// varying returns the columns among the first p that vary, and their standard deviations. It
// drops a column whose squares overflow, because it would make the other coefficients invalid.
func (m *moments) varying(p int) (used []int, scale []float64) {
	for j := range p {
		deviation := math.Sqrt(m.co.at(j, j) / m.weight)
		if finite(deviation) && deviation > leastVariation*math.Abs(m.mean[j]) {
			used, scale = append(used, j), append(scale, deviation)
		}
	}
	return used, scale
}

func finite(v float64) bool { return v-v == 0 }
