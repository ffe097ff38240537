package gbt

import (
	"cmp"
	"fmt"
	"slices"
)

// quantile is the pinball loss at q (Koenker & Bassett 1978): an under-estimate
// costs q a unit, an over-estimate 1 − q. Its second derivative is zero, so trees
// are grown with h = weight and leaves then take the quantile of their residuals
// (Friedman 2001, §4.3); λ weighs on the split, not on the leaf.
type quantile struct {
	q         float64
	residuals *[]residual // scratch
}

type residual struct{ value, weight float64 }

func newQuantile(q float64) quantile { return quantile{q: q, residuals: new([]residual)} }

func (s quantile) validate() error {
	if s.q > 0 && s.q < 1 {
		return nil
	}
	return fmt.Errorf("%w: quantile level %v is not between 0 and 1", ErrTarget, s.q)
}

func (quantile) learns(y float64) bool { return finite(y) }

func (quantile) outputs() int { return 1 }

func (s quantile) intercept(l *labels, rows []int32) []float64 {
	return []float64{s.of(l, rows)}
}

func (s quantile) gradients(l *labels, rows []int32, out [][]gradient) {
	for _, r := range rows {
		g := 0.0 // met exactly, it pulls neither way; else a tied target could never be split
		switch d := l.y[r] - l.score[r]; {
		case d > 0:
			g = -s.q
		case d < 0:
			g = 1 - s.q
		}
		out[0][r] = gradient{g: l.w[r] * g, h: l.w[r]}
	}
}

func (s quantile) leaf(l *labels, n *growing, _ float64) float64 { return s.of(l, n.rows) }

// of is the least residual that a share q of the rows' weight does not exceed:
// of residuals 1, 2, 3, 4 the 0.5 quantile is 2 and the 0.51 quantile 3.
func (s quantile) of(l *labels, rows []int32) float64 {
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
		if below += r.weight; below >= s.q*total*(1-1e-12) { // rounding in Σ w must not skip a row
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
