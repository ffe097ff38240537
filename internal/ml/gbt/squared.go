package gbt

// squared is the loss ½(y − score)²: g = score − y, h = 1, times the weight of the row.
type squared struct{}

func (squared) validate() error         { return nil }
func (squared) isTarget(y float64) bool { return finite(y) }

func (squared) outputs() int { return 1 }

// intercept returns the weighted mean of y − score. Summing the differences from the first
// row makes the mean of a constant target exact.
func (squared) intercept(l *labels, rows []int32) []float64 {
	first := l.y[rows[0]] - l.score[rows[0]]
	sum, weight := 0.0, 0.0
	for _, r := range rows {
		sum += l.w[r] * (l.y[r] - l.score[r] - first)
		weight += l.w[r]
	}
	return []float64{first + sum/weight}
}

func (squared) gradients(l *labels, rows []int32, out [][]gradient) {
	for _, r := range rows {
		out[0][r] = gradient{g: l.w[r] * (l.score[r] - l.y[r]), h: l.w[r]}
	}
}

func (squared) leaf(_ *labels, n *growing, lambda float64) float64 { return newton(n.sum, lambda) }

func (squared) mean(l *labels) float64 {
	return weighted(l.w, func(i int) float64 {
		d := l.y[i] - l.score[i]
		return d * d / 2
	})
}
