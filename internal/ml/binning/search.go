package binning

import (
	"fmt"
	"math"
	"slices"
)

// Search returns the ascending edges with the lowest cost, and therefore the highest
// improvement. The last edge is top. The number of edges is bins, or smaller if the peaks
// have too few distinct values below top. With step > 0 the edges below top are multiples of step.
//
// The result is optimal if all peaks are positive. An edge that is not a peak (rounded up to step)
// can be lowered to the next lower peak without changing the bin of any run, so the peaks are the
// only candidates. A peak of 0 is no candidate, because edges are positive.
// The algorithm is dynamic programming over the candidates c_j. S_j is the weight of the peaks
// up to c_j, and D_r(j) is the least cost of these peaks with r edges, the last of which is c_j:
//
//	D_1(j) = c_j·S_j
//	D_r(j) = c_j·S_j + min over i < j of (D_{r−1}(i) − c_j·S_i)
//	cost   = min over j of D_{bins−1}(j) + top·(S_all − S_j)
//
// The inner minimum is over lines in c_j with decreasing slopes −S_i, for increasing c_j. Their
// lower hull gives it in constant amortised time ("convex hull trick"), so the total time is
// O(n log n + bins·n).
func (h History) Search(bins int, top, step float64) ([]float64, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	if bins < 1 || !(top > 0) || math.IsInf(top, 0) {
		return nil, fmt.Errorf("%w: %d bins up to %v; at least one bin and a positive, finite top are necessary", ErrEdges, bins, top)
	}
	c := h.candidates(top, step)
	layers := min(bins-1, len(c.edge))
	if layers == 0 {
		return []float64{top}, nil
	}
	from := make([][]int, layers)
	cost := make([]float64, len(c.edge))
	for j := range cost {
		cost[j] = c.edge[j] * c.below[j]
	}
	for r := 1; r < layers; r++ {
		cost, from[r] = c.layer(cost)
	}
	best, last := math.Inf(1), 0
	for j := range cost {
		if total := cost[j] + top*(c.all-c.below[j]); total < best {
			best, last = total, j
		}
	}
	edges := make([]float64, layers+1)
	edges[layers] = top
	for r := layers - 1; r >= 0; r-- {
		edges[r] = c.edge[last]
		if r > 0 {
			last = from[r][last]
		}
	}
	return edges, nil
}

// candidates holds the distinct possible edges below the top, ascending.
type candidates struct {
	edge  []float64
	below []float64 // weight of the peaks at or below edge
	all   float64   // weight of all peaks
}

func (h History) candidates(top, step float64) candidates {
	order := make([]int, len(h.Peaks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case h.Peaks[a] < h.Peaks[b]:
			return -1
		case h.Peaks[a] > h.Peaks[b]:
			return 1
		}
		return a - b // a total order makes the sums of weights reproducible
	})
	var c candidates
	for _, i := range order {
		c.all += h.weight(i)
		edge := roundUp(h.Peaks[i], step)
		if edge <= 0 || edge >= top {
			continue // a peak of 0 fits everywhere; the top is always an edge
		}
		if n := len(c.edge); n == 0 || c.edge[n-1] < edge {
			c.edge, c.below = append(c.edge, edge), append(c.below, 0)
		}
		c.below[len(c.below)-1] = c.all
	}
	return c
}

// layer adds one edge below each candidate. It returns the new costs and the predecessor of
// each candidate. A cost is +Inf if there are too few lower candidates.
func (c candidates) layer(cost []float64) (next []float64, from []int) {
	next, from = make([]float64, len(cost)), make([]int, len(cost))
	next[0] = math.Inf(1)
	var hull []int // candidates whose lines are lowest for some x from here on
	at := 0
	value := func(i int, x float64) float64 { return cost[i] - x*c.below[i] }
	for j := 1; j < len(cost); j++ {
		if i := j - 1; !math.IsInf(cost[i], 1) {
			for len(hull) >= 2 && c.dominated(cost, hull[len(hull)-2], hull[len(hull)-1], i) {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, i)
			at = min(at, len(hull)-1) // if the loop above removed the line hull[at], the last line of the hull is at least as low from c.edge[j] on
		}
		if len(hull) == 0 {
			next[j] = math.Inf(1)
			continue
		}
		for at+1 < len(hull) && value(hull[at+1], c.edge[j]) <= value(hull[at], c.edge[j]) {
			at++
		}
		from[j] = hull[at]
		next[j] = c.edge[j]*c.below[j] + value(hull[at], c.edge[j])
	}
	return next, from
}

// dominated reports whether line b is nowhere below both lines a and d, where the slopes decrease
// from a to b to d. This holds if line d crosses line a at a smaller x than line b crosses line a, or at the same x.
func (c candidates) dominated(cost []float64, a, b, d int) bool {
	return (cost[d]-cost[a])*(c.below[b]-c.below[a]) <= (cost[b]-cost[a])*(c.below[d]-c.below[a])
}
