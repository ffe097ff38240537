package svm

import "math"

// sigmoid maps a decision value f to P(y = 1) = 1 / (1 + exp(slope·f + level)).
// The slope is negative if the decision values are informative.
type sigmoid struct{ slope, level float64 }

func (s sigmoid) at(f float64) float64 {
	v := s.slope*f + s.level
	if v < 0 {
		return 1 / (1 + math.Exp(v))
	}
	e := math.Exp(-v) // the same value without overflow of exp(v)
	return e / (1 + e)
}

// fitSigmoid implements Platt scaling (1999): maximum likelihood of the signs y = ±1 with
// weights w, given out-of-sample decision values. Platt's targets (N₊+1)/(N₊+2) and
// 1/(N₋+2), with N the weight of a sign, keep the fit finite for separable signs. It uses
// Newton's method with backtracking and the stable sums of Lin, Lin & Weng (2007).
func fitSigmoid(f, y, w []float64) sigmoid {
	l := newLikelihood(f, y, w)
	s := sigmoid{0, math.Log((l.minus + 1) / (l.plus + 1))}
	loss := l.loss(s)
	for range 100 {
		g, h := l.derivatives(s)
		if math.Abs(g[0]) < 1e-9 && math.Abs(g[1]) < 1e-9 {
			break
		}
		det := h[0]*h[2] - h[1]*h[1]
		step := sigmoid{-(h[2]*g[0] - h[1]*g[1]) / det, -(h[0]*g[1] - h[1]*g[0]) / det}
		next, now := l.descend(s, step, loss, g[0]*step.slope+g[1]*step.level)
		if !(now < loss) { // no further progress within rounding
			break
		}
		s, loss = next, now
	}
	return s
}

// likelihood computes the mean cross entropy of a sigmoid.
type likelihood struct {
	f, target, w []float64 // decision values, Platt's targets, and weights that sum to 1
	plus, minus  float64   // total weight of each sign
}

func newLikelihood(f, y, w []float64) *likelihood {
	l := &likelihood{f: f, target: make([]float64, len(f)), w: make([]float64, len(f))}
	for i := range y {
		if y[i] > 0 {
			l.plus += w[i]
		} else {
			l.minus += w[i]
		}
	}
	for i := range y {
		l.w[i] = w[i] / (l.plus + l.minus)
		if y[i] > 0 {
			l.target[i] = (l.plus + 1) / (l.plus + 2)
		} else {
			l.target[i] = 1 / (l.minus + 2)
		}
	}
	return l
}

// descend halves a step until the loss falls by a share of the decrease that the gradient
// predicts (Armijo 1966). If no step size is small enough, the results are the arguments `from` and `loss`.
func (l *likelihood) descend(from, step sigmoid, loss, decrease float64) (next sigmoid, now float64) {
	for size := 1.0; size >= 1e-10; size /= 2 {
		next = sigmoid{from.slope + size*step.slope, from.level + size*step.level}
		if now = l.loss(next); now < loss+1e-4*size*decrease {
			return next, now
		}
	}
	return from, loss
}

func (l *likelihood) loss(s sigmoid) (sum float64) {
	for i, f := range l.f {
		if v := s.slope*f + s.level; v >= 0 {
			sum += l.w[i] * (l.target[i]*v + math.Log1p(math.Exp(-v)))
		} else {
			sum += l.w[i] * ((l.target[i]-1)*v + math.Log1p(math.Exp(v)))
		}
	}
	return sum
}

// derivatives returns the gradient by s.slope and s.level, and the three different entries of the
// Hessian. A small diagonal term keeps the Hessian invertible if all decision values are equal.
func (l *likelihood) derivatives(s sigmoid) (g [2]float64, h [3]float64) {
	h[0], h[2] = flat, flat
	for i, f := range l.f {
		p := s.at(f)
		d, curvature := l.w[i]*(l.target[i]-p), l.w[i]*p*(1-p)
		g[0], g[1] = g[0]+f*d, g[1]+d
		h[0], h[1], h[2] = h[0]+f*f*curvature, h[1]+f*curvature, h[2]+curvature
	}
	return g, h
}
