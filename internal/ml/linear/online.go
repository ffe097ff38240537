package linear

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Online is a ridge regression that rows are added to one at a time, in O(p²),
// and that is solved on demand, in O(p³). It is not safe for concurrent use.
//
// With a memory of m rows, a row's weight falls by the factor 1 − 1/m with each
// row that follows it (recursive least squares with exponential forgetting, Ljung
// 1999), so that a changed task is followed. The means and co-moments are
// updated as in West (1979), which cancels nothing.
type Online struct {
	keep    float64 // 1 − 1/memory
	penalty float64
	moments moments
	known   []bool // columns that have had a value
	delta   *mat.VecDense
}

// NewOnline starts with no rows of p columns. memory > 1 is in rows;
// math.Inf(1) forgets nothing.
func NewOnline(p int, memory float64, cfg Config) (*Online, error) {
	penalty, err := cfg.penalty()
	if err != nil {
		return nil, err
	}
	if p < 0 || !(memory > 1) {
		return nil, fmt.Errorf("linear: %d columns with a memory of %v rows: it must be above 1", p, memory)
	}
	return &Online{
		keep: 1 - 1/memory, penalty: penalty, known: make([]bool, p),
		moments: moments{mean: make([]float64, p+1), co: mat.NewSymDense(p+1, nil)},
		delta:   mat.NewVecDense(p+1, nil),
	}, nil
}

// Add learns one row of p values (NaN: missing) with its target and weight > 0.
// table.ErrShape if they do not match or the target or weight is not finite.
func (o *Online) Add(x []float64, y, weight float64) error {
	if len(x) != len(o.known) || !finite(y) || !finite(weight) || weight <= 0 {
		return fmt.Errorf("%w: a row of %d values for %d columns, target %v, weight %v", table.ErrShape, len(x), len(o.known), y, weight)
	}
	m := &o.moments
	old := o.keep * m.weight
	m.weight = old + weight
	for j, v := range x {
		o.delta.SetVec(j, o.deviation(j, v))
	}
	if old == 0 {
		m.mean[len(x)] = y
	}
	o.delta.SetVec(len(x), y-m.mean[len(x)])

	m.co.ScaleSym(o.keep, m.co)
	m.co.SymRankOne(m.co, weight*old/m.weight, o.delta)
	for j := range m.mean {
		m.mean[j] += weight / m.weight * o.delta.AtVec(j)
	}
	return nil
}

// deviation is v − mean of column j; 0 if missing. The first value of a column
// becomes its mean, as if the rows before it had been there.
func (o *Online) deviation(j int, v float64) float64 {
	if !finite(v) {
		return 0
	}
	if !o.known[j] {
		o.known[j], o.moments.mean[j] = true, v
	}
	return v - o.moments.mean[j]
}

// Rows is the weight that is remembered: with weights of one and no forgetting,
// the number of rows.
func (o *Online) Rows() float64 { return o.moments.weight }

// Solve is the regression over what is remembered. table.ErrShape before the
// first row, ErrSingular where there is no solution.
func (o *Online) Solve() (*Ridge, error) {
	if o.moments.weight == 0 {
		return nil, fmt.Errorf("%w: no rows to fit", table.ErrShape)
	}
	return o.moments.solve(o.penalty)
}
