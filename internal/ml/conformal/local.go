package conformal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// ErrShape reports levels, residuals and weights that do not belong together.
var ErrShape = errors.New("conformal: levels, residuals and weights do not match")

// Residuals are honest residuals ordered by the level that was predicted, since
// errors at large predictions are unlike errors at small ones. They may be used
// from many goroutines.
type Residuals struct {
	level, residual, weight []float64
}

// NewResiduals orders n predicted levels with their residuals, actual − level, and
// weights > 0 (nil: all 1), such as Recency. ErrShape if the lengths differ or a
// value is not finite.
func NewResiduals(level, residual, weight []float64) (*Residuals, error) {
	n := len(level)
	if len(residual) != n || weight != nil && len(weight) != n {
		return nil, fmt.Errorf("%w: %d levels, %d residuals, %d weights", ErrShape, n, len(residual), len(weight))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if w := weightOf(weight, i); !finite(level[i]) || !finite(residual[i]) || !finite(w) || w <= 0 {
			return nil, fmt.Errorf("%w: row %d is at level %v, residual %v, weight %v", ErrShape, i, level[i], residual[i], w)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(level[a], level[b]) })
	r := &Residuals{make([]float64, n), make([]float64, n), make([]float64, n)}
	for at, i := range order {
		r.level[at], r.residual[at], r.weight[at] = level[i], residual[i], weightOf(weight, i)
	}
	return r, nil
}

func finite(v float64) bool { return v-v == 0 }

// Len is the number of residuals.
func (r *Residuals) Len() int { return len(r.level) }

// Near is the window of the k residuals whose levels are nearest to level; fewer
// if there are fewer. It allocates nothing.
func (r *Residuals) Near(level float64, k int) Window {
	n := len(r.level)
	k = min(k, n)
	// The window [low, low+k) is right when its left neighbour is not nearer than
	// its last member: that holds from some low on.
	low := sort.Search(n-k, func(low int) bool {
		return level-r.level[low] <= r.level[low+k]-level
	})
	return Window{r.residual[low : low+k], r.weight[low : low+k]}
}

// Window is a neighbourhood of residuals, shared with its Residuals.
type Window struct {
	residual, weight []float64
}

// Quantile is the conformal quantile of the window's residuals; see Quantile.
func (w Window) Quantile(q float64) float64 { return Quantile(w.residual, w.weight, q) }

// Below is P(residual ≤ v) for one more row: the weighted share of the window at
// or below v, where the new row, of weight 1, is shared by both sides. In an empty
// window it is ½. It never falls as v rises, and allocates nothing.
func (w Window) Below(v float64) float64 {
	below, all := 0.5, 1.0
	for i, residual := range w.residual {
		all += w.weight[i]
		if residual <= v {
			below += w.weight[i]
		}
	}
	return below / all
}

// Weight is the sum of the window's weights: how much evidence it is, in rows.
func (w Window) Weight() float64 {
	sum := 0.0
	for _, v := range w.weight {
		sum += v
	}
	return sum
}

// Shares writes the share of level + residual that falls in each bin into p:
// len(p) = len(edges) ≥ 1 ascending upper edges, what lies above the last is in the
// last. The new row of weight 1 is shared by the two outer bins, since its residual
// may be beyond any seen. The shares sum to 1. It allocates nothing.
func (w Window) Shares(level float64, edges, p []float64) {
	clear(p)
	all, last := 1.0, len(edges)-1
	p[0] += 0.5
	p[last] += 0.5 // the same bin, if there is but one
	for i, residual := range w.residual {
		bin, _ := slices.BinarySearch(edges, level+residual)
		p[min(bin, last)] += w.weight[i]
		all += w.weight[i]
	}
	for bin := range p {
		p[bin] /= all
	}
}

// Rows are the levels, residuals and weights by ascending level, from which
// NewResiduals makes the same again. They are shared: not to be changed.
func (r *Residuals) Rows() (level, residual, weight []float64) {
	return r.level, r.residual, r.weight
}
