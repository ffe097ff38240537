package gbt

import (
	"fmt"
	"math"
)

// softmax is the cross entropy of k classes, −log p(y), with one tree per class and round:
// g = p − 1[y = class], h = 2p(1 − p), times the weight of the row. The exact Hessian,
// diag(p) − ppᵀ, couples the classes, and the trees of all classes start from the same scores. The matrix
// 2·diag(p(1 − p)) is an upper bound of the exact Hessian and prevents overshooting.
type softmax struct{ k int }

const maxClasses = 1000 // largest k

func (s softmax) validate() error {
	if s.k >= 1 && s.k <= maxClasses {
		return nil
	}
	return fmt.Errorf("%w: %d classes, want 1 to %d", ErrTarget, s.k, maxClasses)
}

func (s softmax) isTarget(y float64) bool { return y >= 0 && y < float64(s.k) && y == math.Trunc(y) }

func (s softmax) outputs() int { return s.k }

// intercept returns log P(class) with half a row of mean weight added to every class (Jeffreys'
// prior), so that an empty class has a positive probability.
func (s softmax) intercept(l *labels, rows []int32) []float64 {
	weight := make([]float64, s.k)
	total := 0.0
	for _, r := range rows {
		weight[int(l.y[r])] += l.w[r]
		total += l.w[r]
	}
	half := total / float64(len(rows)) / 2
	for c := range weight {
		weight[c] = math.Log((weight[c] + half) / (total + half*float64(s.k)))
	}
	return weight
}

func (s softmax) gradients(l *labels, rows []int32, out [][]gradient) {
	const minHessian = 1e-16 // avoids a division by zero for probabilities of 0 and 1
	p := make([]float64, s.k)
	for _, r := range rows {
		copy(p, l.score[int(r)*s.k:])
		normalise(p)
		w, y := l.w[r], int(l.y[r])
		for c, pc := range p {
			d := gradient{g: w * pc, h: w * max(2*pc*(1-pc), minHessian)}
			if c == y {
				d.g = w * (pc - 1)
			}
			out[c][r] = d
		}
	}
}

func (softmax) leaf(_ *labels, n *growingNode, lambda float64) float64 { return newton(n.sum, lambda) }

func (s softmax) mean(l *labels) float64 {
	p := make([]float64, s.k)
	return weighted(l.w, func(i int) float64 {
		copy(p, l.score[i*s.k:])
		normalise(p)
		return -math.Log(max(p[int(l.y[i])], math.SmallestNonzeroFloat64))
	})
}

// normalise converts scores into probabilities. Subtracting the largest score first avoids an overflow.
func normalise(p []float64) {
	top := p[0]
	for _, v := range p[1:] {
		top = max(top, v)
	}
	sum := 0.0
	for c, v := range p {
		p[c] = math.Exp(v - top)
		sum += p[c]
	}
	for c := range p {
		p[c] /= sum
	}
}
