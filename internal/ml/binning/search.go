package binning

import (
	"fmt"
	"math"
	"slices"
)

// Search returns the edges with the lowest bill, and so the highest improvement,
// among all ascending edges whose last is top: at most bins of them, fewer where
// the peaks have fewer distinct values below top. With step > 0 edges are
// multiples of it.
//
// The answer is exact. An edge that is not a peak (rounded up to step) can be
// lowered to the next one below it without moving any run, so only those are
// candidates, and with step it is also the best that any stride search over
// multiples of step can find. Dynamic programming over candidates j, with S_j the
// weight of the peaks up to c_j:
//
//	D_1(j) = c_j·S_j
//	D_r(j) = c_j·S_j + min over i < j of (D_{r−1}(i) − c_j·S_i)
//	bill   = min over j of D_{bins−1}(j) + top·(S_all − S_j)
//
// The inner minimum is over lines in c_j whose slopes −S_i fall while c_j rises,
// so a lower hull finds it in constant amortised time (the "convex hull trick"):
// O(n log n + bins·n), and no candidate need be left out.
func (h History) Search(bins int, top, step float64) ([]float64, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	if bins < 1 || !(top > 0) || math.IsInf(top, 0) {
		return nil, fmt.Errorf("%w: %d bins up to %v", ErrEdges, bins, top)
	}
	c := h.candidates(top, step)
	layers := min(bins-1, len(c.edge))
	if layers == 0 {
		return []float64{top}, nil
	}
	from := make([][]int, layers)
	bill := make([]float64, len(c.edge))
	for j := range bill {
		bill[j] = c.edge[j] * c.below[j]
	}
	for r := 1; r < layers; r++ {
		bill, from[r] = c.layer(bill)
	}
	best, last := math.Inf(1), 0
	for j := range bill {
		if total := bill[j] + top*(c.all-c.below[j]); total < best {
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

// candidates are the distinct possible edges below the top, ascending.
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
		return a - b // sums of weights are the same on every machine
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

// layer adds one more edge below each candidate: the new bills, and the candidate
// that each came from. bill[j] is +Inf where there are too few candidates below j.
func (c candidates) layer(bill []float64) (next []float64, from []int) {
	next, from = make([]float64, len(bill)), make([]int, len(bill))
	next[0] = math.Inf(1)
	var hull []int // candidates whose lines are lowest somewhere to the right
	at := 0
	value := func(i int, x float64) float64 { return bill[i] - x*c.below[i] }
	for j := 1; j < len(bill); j++ {
		if i := j - 1; !math.IsInf(bill[i], 1) {
			for len(hull) >= 2 && c.hidden(bill, hull[len(hull)-2], hull[len(hull)-1], i) {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, i)
			at = min(at, len(hull)-1) // only a tie can hide the line in use
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

// hidden reports whether line b is nowhere below both a and d, given slopes that
// fall from a to b to d: a meets d before it meets b.
func (c candidates) hidden(bill []float64, a, b, d int) bool {
	return (bill[d]-bill[a])*(c.below[b]-c.below[a]) <= (bill[b]-bill[a])*(c.below[d]-c.below[a])
}
