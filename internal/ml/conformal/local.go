package conformal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// ErrShape reports levels, residuals and weights that are invalid or differ in number.
var ErrShape = errors.New("conformal: invalid levels, residuals or weights")

// Residuals holds out-of-sample residuals ordered by predicted level, because the errors of
// large and small predictions differ. It is safe for concurrent use.
type Residuals struct {
	level, residual, weight []float64
}

// NewResiduals orders n predicted levels with their residuals, actual − level, and weights
// > 0 (nil: all 1). It returns ErrShape if the lengths differ, a value is not
// finite or a weight is not positive.
func NewResiduals(level, residual, weight []float64) (*Residuals, error) {
	n := len(level)
	if len(residual) != n || weight != nil && len(weight) != n {
		return nil, fmt.Errorf("%w: %d levels, %d residuals, %d weights", ErrShape, n, len(residual), len(weight))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if w := weightOf(weight, i); !finite(level[i]) || !finite(residual[i]) || !finite(w) || w <= 0 {
			return nil, fmt.Errorf("%w: row %d has level %v, residual %v, weight %v; all must be finite and the weight positive", ErrShape, i, level[i], residual[i], w)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(level[a], level[b]) })
	r := &Residuals{make([]float64, n), make([]float64, n), make([]float64, n)}
	for at, i := range order {
		r.level[at], r.residual[at], r.weight[at] = level[i], residual[i], weightOf(weight, i)
	}
	return r, nil
}

func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

func finite(v float64) bool { return v-v == 0 }

// Near returns the k residuals whose levels are nearest to the given level, or all if there are fewer.
// It does not allocate.
func (r *Residuals) Near(level float64, k int) Window {
	n := len(r.level)
	k = min(k, n)
	// Find the first window [low, low+k) whose first member is not farther away than the
	// value after the window. The condition is monotonic in low.
	low := sort.Search(n-k, func(low int) bool {
		return level-r.level[low] <= r.level[low+k]-level
	})
	return Window{r.residual[low : low+k], r.weight[low : low+k]}
}

// Window is a neighbourhood of residuals. It shares memory with its Residuals.
type Window struct {
	residual, weight []float64
}

// Shares writes the weighted share of the values level + residual in each bin to p. `edges` holds the
// upper edges of the bins in ascending order; len(p) = len(edges) ≥ 1. Values above the last
// edge count in the last bin. The predicted row counts with weight 1, half of it in the first and half in the
// last bin, because its residual may be outside the observed range. The shares sum to 1. Shares does not allocate.
func (w Window) Shares(level float64, edges, p []float64) {
	clear(p)
	all, last := 1.0, len(edges)-1
	p[0] += 0.5
	p[last] += 0.5 // the same bin if there is only one
	for i, residual := range w.residual {
		bin, _ := slices.BinarySearch(edges, level+residual)
		p[min(bin, last)] += w.weight[i]
		all += w.weight[i]
	}
	for bin := range p {
		p[bin] /= all
	}
}

// Rows returns the levels, residuals and weights by ascending level. NewResiduals restores
// the same Residuals from them. The slices are shared: do not change them.
func (r *Residuals) Rows() (level, residual, weight []float64) {
	return r.level, r.residual, r.weight
}
