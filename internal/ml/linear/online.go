package linear

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Online is a ridge regression of one or more targets on the same columns. Add takes
// O(p²) per row and Solve O(p³) for all targets together. It is not safe for
// concurrent use.
//
// With a memory of m rows, each later row multiplies the weight of a row by 1 − 1/m
// (recursive least squares with exponential forgetting, Ljung 1999), so the model adapts
// to a changed task. The updates of means and co-moments follow West (1979), which avoids
// cancellation.
type Online struct {
	decay   float64 // 1 − 1/memory
	penalty float64 // see Config.Penalty
	targets int
	moments moments
	known   []bool    // for each column: it has had a value
	delta   []float64 // buffer of Add: deviations of a row from the means
}

// NewOnline returns a regression of k targets on p columns that has no rows yet. memory > 1 is
// in rows; math.Inf(1) disables forgetting. NewOnline returns an error for invalid arguments.
func NewOnline(p, k int, memory float64, cfg Config) (*Online, error) {
	penalty, err := cfg.penalty()
	if err != nil {
		return nil, err
	}
	if p < 0 || k < 1 || !(memory > 1) {
		return nil, fmt.Errorf("linear: %d columns, %d targets, memory of %v rows; at least one target and a memory above 1 are necessary", p, k, memory)
	}
	return &Online{
		decay: 1 - 1/memory, penalty: penalty, targets: k, known: make([]bool, p),
		moments: moments{mean: make([]float64, p+k), co: newTriangle(p + k)},
		delta:   make([]float64, p+k),
	}, nil
}

// Add learns one row of p values (NaN: missing) with its k targets and its weight > 0. It
// returns table.ErrShape, and learns nothing, if the lengths do not match, if a target or the weight
// is not finite, or if the weight is not positive.
func (o *Online) Add(x, y []float64, weight float64) error {
	if len(x) != len(o.known) || len(y) != o.targets || !finite(weight) || weight <= 0 {
		return fmt.Errorf("%w: a row has %d values and %d targets, the regression has %d columns and %d targets; the weight is %v", table.ErrShape, len(x), len(y), len(o.known), o.targets, weight)
	}
	for t, v := range y {
		if !finite(v) {
			return fmt.Errorf("%w: target %d is %v; it must be finite", table.ErrShape, t, v)
		}
	}
	m := &o.moments
	old := o.decay * m.weight
	for t, v := range y {
		if old == 0 {
			m.mean[len(x)+t] = v
		}
		o.delta[len(x)+t] = v - m.mean[len(x)+t]
	}
	for j, v := range x {
		o.delta[j] = o.deviation(j, v)
	}
	m.weight = old + weight
	if o.decay < 1 {
		m.co.scale(o.decay)
	}
	m.co.addOuter(weight*old/m.weight, o.delta)
	for j := range m.mean {
		m.mean[j] += weight / m.weight * o.delta[j]
	}
	return nil
}

// deviation returns the deviation of v from the mean of column j, or 0 if v is missing. The
// first value of a column becomes the mean of the column, as if all earlier rows had this value.
func (o *Online) deviation(j int, v float64) float64 {
	if !finite(v) {
		return 0
	}
	if !o.known[j] {
		o.known[j], o.moments.mean[j] = true, v
	}
	return v - o.moments.mean[j]
}

// Shift adds d to a target of all rows so far. The next solution has the same coefficients, and predictions that are higher
// by d.
func (o *Online) Shift(target int, d float64) { o.moments.mean[len(o.known)+target] += d }

// Rows returns the total remaining weight. With weights of one and no forgetting it is
// the number of rows.
func (o *Online) Rows() float64 { return o.moments.weight }

// Solve returns one regression per target over the weighted rows. It returns
// table.ErrShape before the first row and ErrSingular if there is no solution.
func (o *Online) Solve() ([]*Ridge, error) {
	if o.moments.weight == 0 {
		return nil, fmt.Errorf("%w: no rows to fit", table.ErrShape)
	}
	return o.moments.solve(o.targets, o.penalty)
}

// State is the storable state of an Online.
type State struct {
	Memory  float64   // in rows; 0: no forgetting
	Penalty float64   // see Config.Penalty
	Targets int       // number k of targets
	Known   []bool    // for each of the p columns: it has had a value
	Weight  float64   // total remaining weight of the rows
	Mean    []float64 // means of the p columns and then of the k targets
	Co      []float64 // upper triangle of the (p+k) × (p+k) matrix of co-moments, row by row
}

// State returns a copy of the state.
func (o *Online) State() State {
	s := State{Penalty: o.penalty, Targets: o.targets, Known: append([]bool(nil), o.known...), Weight: o.moments.weight}
	if o.decay < 1 {
		s.Memory = 1 / (1 - o.decay)
	}
	s.Mean = append([]float64(nil), o.moments.mean...)
	s.Co = append([]float64(nil), o.moments.co.Data...)
	return s
}

// RestoreOnline restores an Online from a State. It returns ErrFormat if the sizes do not
// match, there is no target or the penalty is not positive.
func RestoreOnline(s State) (*Online, error) {
	q := len(s.Mean)
	if len(s.Known)+s.Targets != q || s.Targets < 1 || len(s.Co) != q*(q+1)/2 || !(s.Penalty > 0) {
		return nil, fmt.Errorf("%w: %d columns, %d targets, %d means, %d co-moments, penalty %v", ErrFormat, len(s.Known), s.Targets, q, len(s.Co), s.Penalty)
	}
	o := &Online{
		decay: 1, penalty: s.Penalty, targets: s.Targets, known: append([]bool(nil), s.Known...),
		moments: moments{weight: s.Weight, mean: append([]float64(nil), s.Mean...), co: newTriangle(q)},
		delta:   make([]float64, q),
	}
	if s.Memory > 1 {
		o.decay = 1 - 1/s.Memory
	}
	copy(o.moments.co.Data, s.Co)
	return o, nil
}
