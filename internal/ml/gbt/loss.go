package gbt

// labels are the rows that a loss looks at: their targets, weights and what the
// model says so far.
type labels struct {
	y, w  []float64
	score []float64 // n·outputs, row by row
}

// loss is what a forest learns to make small.
type loss interface {
	// validate reports parameters of the loss that are out of range.
	validate() error
	// learns reports whether y can be a target.
	learns(y float64) bool
	// outputs is the number of scores a row has, and of trees in a round.
	outputs() int
	// intercept is the best constant, one per output, for the given rows.
	intercept(l *labels, rows []int32) []float64
	// gradients writes the derivatives at the scores of the given rows:
	// out[output][row].
	gradients(l *labels, rows []int32, out [][]gradient)
	// leaf is the full step of one leaf, before the learning rate; λ is the L2
	// penalty on it.
	leaf(l *labels, n *growing, lambda float64) float64
	// mean is the weighted mean loss of all rows.
	mean(l *labels) float64
}

// newton is the step that minimises the second-order loss with L2 penalty λ.
func newton(s sums, lambda float64) float64 { return -s.g / (s.h + lambda) }

// weighted is Σ w·f(i) / Σ w.
func weighted(w []float64, f func(i int) float64) float64 {
	sum, weight := 0.0, 0.0
	for i, wi := range w {
		sum += wi * f(i)
		weight += wi
	}
	return sum / weight
}
