package gbt

// labels holds the targets, weights and current scores of the rows for a loss.
type labels struct {
	y, w  []float64
	score []float64 // n·outputs, row by row
}

type loss interface {
	validate() error
	isTarget(y float64) bool
	// outputs returns the number of scores per row and of trees per round.
	outputs() int
	// intercept returns the best constant per output for the rows.
	intercept(l *labels, rows []int32) []float64
	// gradients writes the derivatives at the scores of the rows to out[output][row].
	gradients(l *labels, rows []int32, out [][]gradient)
	// leaf returns the value of one leaf before the learning rate; lambda is the L2
	// penalty.
	leaf(l *labels, n *growingNode, lambda float64) float64
	// mean returns the weighted mean loss of all rows.
	mean(l *labels) float64
}

// newton returns the step that minimises the second-order loss with an L2 penalty.
func newton(s sums, lambda float64) float64 { return -s.g / (s.h + lambda) }

func weighted(w []float64, f func(i int) float64) float64 {
	sum, weight := 0.0, 0.0
	for i, wi := range w {
		sum += wi * f(i)
		weight += wi
	}
	return sum / weight
}

// squaredLoss is the loss ½(y − score)²: g = score − y, h = 1, times the weight of the row.
type squaredLoss struct{}

func (squaredLoss) validate() error         { return nil }
func (squaredLoss) isTarget(y float64) bool { return finite(y) }

func (squaredLoss) outputs() int { return 1 }

// intercept returns the weighted mean of y − score. Summing the differences from the first
// row makes the mean of a constant target exact.
func (squaredLoss) intercept(l *labels, rows []int32) []float64 {
	first := l.y[rows[0]] - l.score[rows[0]]
	sum, weight := 0.0, 0.0
	for _, r := range rows {
		sum += l.w[r] * (l.y[r] - l.score[r] - first)
		weight += l.w[r]
	}
	return []float64{first + sum/weight}
}

func (squaredLoss) gradients(l *labels, rows []int32, out [][]gradient) {
	for _, r := range rows {
		out[0][r] = gradient{g: l.w[r] * (l.score[r] - l.y[r]), h: l.w[r]}
	}
}

func (squaredLoss) leaf(_ *labels, n *growingNode, lambda float64) float64 {
	return newton(n.sum, lambda)
}

func (squaredLoss) mean(l *labels) float64 {
	return weighted(l.w, func(i int) float64 {
		d := l.y[i] - l.score[i]
		return d * d / 2
	})
}
