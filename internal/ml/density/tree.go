// Package density clusters points by HDBSCAN (Campello, Moulavi & Sander 2013; McInnes & Healy 2017), which finds clusters
// of different densities. GLOSH (Campello et al. 2015) scores how unusual each point is.
//
//	points ─▶ NewTree: core distances ─▶ minimum spanning tree of the mutual reachability
//	Tree.Cluster: single linkage ─▶ condensed tree ─▶ excess of mass ─▶ labels and outlier scores
//	labels ─▶ Silhouette, DaviesBouldin; points ─▶ Hopkins
//
// NewTree takes O(n²) time and O(n · minSamples) memory in addition to the points. A tree does not
// depend on the smallest size of a cluster, so one tree is enough to compare several sizes.
//
// The package handles numbers only. The same input gives the same result.
package density

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrPoints reports points that cannot be clustered.
var ErrPoints = errors.New("points cannot be clustered")

// Tree is the minimum spanning tree of points. The weight of an edge is the mutual reachability of two
// points: the largest of their distance and their core distances.
type Tree struct {
	Core  []float64 // core distance of each point: the distance to its neighbour of rank minSamples, see NewTree
	edges []edge    // by ascending weight
}

type edge struct {
	a, b   int32
	weight float64 // mutual reachability
}

// NewTree returns the tree of points. minSamples is the rank of the neighbour whose distance measures
// density: 1 is the nearest other point. resolution, in the unit of the points, is the smallest core distance: smaller core
// distances are raised to it, so that duplicates do not make their neighbours look unusual.
func NewTree(points [][]float64, minSamples int, resolution float64) (*Tree, error) {
	m, err := newMatrix(points)
	if err != nil {
		return nil, err
	}
	if minSamples < 1 || minSamples >= m.n {
		return nil, fmt.Errorf("%w: the rank of the neighbour is %d, but must be from 1 to %d, the number of the other points", ErrPoints, minSamples, m.n-1)
	}
	core := m.coreDistances(minSamples)
	floor := resolution * resolution
	for i := range core {
		core[i] = max(core[i], floor)
	}
	t := &Tree{edges: m.spanningTree(core), Core: core}
	for i := range core {
		core[i] = math.Sqrt(core[i])
	}
	return t, nil
}

type matrix struct {
	n, columns int
	values     []float64
}

// maxCoordinate keeps squared distances finite.
const maxCoordinate = 1e100

func newMatrix(points [][]float64) (*matrix, error) {
	if len(points) < 2 || len(points[0]) == 0 {
		return nil, fmt.Errorf("%w: there must be at least two points, with at least one coordinate", ErrPoints)
	}
	m := &matrix{n: len(points), columns: len(points[0]), values: make([]float64, 0, len(points)*len(points[0]))}
	for i, p := range points {
		if len(p) != m.columns {
			return nil, fmt.Errorf("%w: point %d has %d coordinates, not %d", ErrPoints, i, len(p), m.columns)
		}
		for _, v := range p {
			if !(math.Abs(v) <= maxCoordinate) {
				return nil, fmt.Errorf("%w: point %d has the coordinate %v, not one from %g to %g", ErrPoints, i, v, -maxCoordinate, maxCoordinate)
			}
		}
		m.values = append(m.values, p...)
	}
	return m, nil
}

func (m *matrix) row(i int) []float64 { return m.values[i*m.columns : (i+1)*m.columns] }

// squared returns the squared Euclidean distance.
func squared(a, b []float64) float64 {
	sum := 0.0
	b = b[:len(a)]
	for i, v := range a {
		d := v - b[i]
		sum += d * d
	}
	return sum
}

// coreDistances returns the squared distance of each point to the k-th nearest other point.
func (m *matrix) coreDistances(k int) []float64 {
	nearest := make([]float64, m.n*k) // the k smallest of each point, ascending
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	for i := range m.n {
		p, own := m.row(i), nearest[i*k:(i+1)*k]
		for j := i + 1; j < m.n; j++ {
			d := squared(p, m.row(j))
			if d < own[k-1] {
				insert(own, d)
			}
			if other := nearest[j*k : (j+1)*k]; d < other[k-1] {
				insert(other, d)
			}
		}
	}
	core := make([]float64, m.n)
	for i := range core {
		core[i] = nearest[i*k+k-1]
	}
	return core
}

// insert puts d into an ascending list and drops the last element.
func insert(list []float64, d float64) {
	i := len(list) - 1
	for ; i > 0 && list[i-1] > d; i-- {
		list[i] = list[i-1]
	}
	list[i] = d
}

// spanningTree returns the edges of the minimum spanning tree by Prim's algorithm, ascending by weight. core holds
// squared core distances. Of points at equal distances, the one with the lowest index joins the tree first.
func (m *matrix) spanningTree(core []float64) []edge {
	distance, source, isJoined := make([]float64, m.n), make([]int32, m.n), make([]bool, m.n)
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	edges := make([]edge, 0, m.n-1)
	for current := 0; len(edges) < m.n-1; {
		isJoined[current] = true
		p, own := m.row(current), core[current]
		next, least := -1, math.Inf(1)
		for j, known := range distance {
			if isJoined[j] {
				continue
			}
			if reach := max(own, core[j]); reach < known { // otherwise the distance of the points does not matter
				if reach = max(reach, squared(p, m.row(j))); reach < known {
					distance[j], source[j], known = reach, int32(current), reach
				}
			}
			if known < least {
				next, least = j, known
			}
		}
		edges = append(edges, edge{source[next], int32(next), math.Sqrt(least)})
		current = next
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.weight, b.weight) })
	return edges
}
