package gbt

import (
	"cmp"
	"fmt"
	"slices"
)

// quantile is the pinball loss at q (Koenker & Bassett 1978): an under-estimate costs q per
// unit, an over-estimate 1 − q. Its second derivative is zero, so trees grow with h = weight,
// and the value of a leaf is the quantile of its residuals (Friedman 2001, §4.3). The L2
// penalty affects splits but not leaf values.
type quantile struct {
	q         float64
	residuals *[]residual // scratch of residualQuantile
}

type residual struct{ value, weight float64 }

func newQuantile(q float64) quantile { return quantile{q: q, residuals: new([]residual)} }

func (s quantile) validate() error {
	if s.q > 0 && s.q < 1 {
		return nil
	}
	return fmt.Errorf("%w: quantile level %v is not between 0 and 1", ErrTarget, s.q)
}

func (quantile) isTarget(y float64) bool { return finite(y) }

func (quantile) outputs() int { return 1 }

func (s quantile) intercept(l *labels, rows []int32) []float64 {
	return []float64{s.residualQuantile(l, rows)}
}

func (s quantile) gradients(l *labels, rows []int32, out [][]gradient) {
	for _, r := range rows {
		g := 0.0 // zero for an exact prediction: if many targets equal the prediction, a split can separate their rows from the other rows
		switch d := l.y[r] - l.score[r]; {
		case d > 0:
			g = -s.q
		case d < 0:
			g = 1 - s.q
		}
		out[0][r] = gradient{g: l.w[r] * g, h: l.w[r]}
	}
}

func (s quantile) leaf(l *labels, n *growingNode, _ float64) float64 {
	return s.residualQuantile(l, n.rows)
}

// residualQuantile returns the weighted q quantile of the residuals of the rows. For the residuals
// 1, 2, 3, 4 the 0.5 quantile is 2 and the 0.51 quantile is 3.
func (s quantile) residualQuantile(l *labels, rows []int32) float64 {
	res := (*s.residuals)[:0]
	total := 0.0
	for _, r := range rows {
		res = append(res, residual{l.y[r] - l.score[r], l.w[r]})
		total += l.w[r]
	}
	*s.residuals = res
	slices.SortFunc(res, func(a, b residual) int { return cmp.Compare(a.value, b.value) })
	below := 0.0
	for _, r := range res {
		if below += r.weight; below >= s.q*total*(1-1e-12) { // tolerates rounding errors of Σ w
			return r.value
		}
	}
	return res[len(res)-1].value
}

func (s quantile) mean(l *labels) float64 {
	return weighted(l.w, func(i int) float64 {
		d := l.y[i] - l.score[i]
		return max(s.q*d, (s.q-1)*d)
	})
}
