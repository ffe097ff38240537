package density

// merge is one step of single linkage: two nodes become one. With n points, nodes 0 to n−1 are the points, and node n + i
// is the result of step i.
type merge struct {
	left, right int32
	distance    float64 // mutual reachability at which the two nodes become one
	size        int32   // number of points of the new node
}

func (t *Tree) linkage() []merge {
	n := len(t.Core)
	parent, top := make([]int32, n), make([]int32, n) // union-find parents, and the newest node of each set
	for i := range parent {
		parent[i], top[i] = int32(i), int32(i)
	}
	find := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	merges := make([]merge, 0, n-1)
	size := func(node int32) int32 {
		if int(node) < n {
			return 1
		}
		return merges[int(node)-n].size
	}
	for _, e := range t.edges {
		a, b := find(e.a), find(e.b)
		left, right := top[a], top[b]
		merges = append(merges, merge{left, right, e.weight, size(left) + size(right)})
		if size(left) < size(right) {
			a, b = b, a
		}
		parent[b], top[a] = a, int32(n+len(merges)-1)
	}
	return merges
}

// condensedTree is the hierarchy of single linkage without clusters below the smallest size: if a part of a cluster is
// smaller, its points leave the cluster. A cluster is also called a branch of the tree. Cluster 0 is the root, and a
// parent has a lower index than its children. Density is λ = 1/distance.
type condensedTree struct {
	parent []int32   // of each cluster; −1 for the root
	birth  []float64 // of each cluster: the λ at which it split off
	size   []int32   // of each cluster: number of points at its birth
	last   []int32   // of each point: the cluster that it left last
	exit   []float64 // of each point: the λ at which it left this cluster
}

// minDistance keeps the density of duplicates finite.
const minDistance = 1e-100

// newCondensedTree returns the condensed tree of the merges. It walks down from the last merge, which has all points.
func newCondensedTree(merges []merge, minSize int) *condensedTree {
	n := len(merges) + 1
	c := &condensedTree{parent: []int32{-1}, birth: []float64{0}, size: []int32{int32(n)}, last: make([]int32, n), exit: make([]float64, n)}
	size := func(node int32) int {
		if int(node) < n {
			return 1
		}
		return int(merges[int(node)-n].size)
	}
	type step struct{ node, cluster int32 }
	var stack []int32
	leave := func(top, cluster int32, density float64) {
		for stack = append(stack[:0], top); len(stack) > 0; {
			node := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if int(node) < n {
				c.last[node], c.exit[node] = cluster, density
				continue
			}
			m := &merges[int(node)-n]
			stack = append(stack, m.right, m.left)
		}
	}
	queue := []step{{int32(n + len(merges) - 1), 0}}
	for head := 0; head < len(queue); head++ {
		s := queue[head]
		m := &merges[int(s.node)-n]
		density := 1 / max(m.distance, minDistance)
		isSplit := size(m.left) >= minSize && size(m.right) >= minSize
		for _, child := range [2]int32{m.left, m.right} {
			switch {
			case size(child) < minSize:
				leave(child, s.cluster, density)
			case isSplit:
				c.parent, c.birth, c.size = append(c.parent, s.cluster), append(c.birth, density), append(c.size, int32(size(child)))
				queue = append(queue, step{child, int32(len(c.parent) - 1)})
			default:
				queue = append(queue, step{child, s.cluster})
			}
		}
	}
	return c
}

// stability returns the excess of mass of each cluster: the sum, over its points, of the width of the range of
// densities at which the point belongs to the cluster.
func (c *condensedTree) stability() []float64 {
	sums := make([]float64, len(c.parent))
	for i, cluster := range c.last {
		sums[cluster] += c.exit[i] - c.birth[cluster]
	}
	for child := 1; child < len(c.parent); child++ {
		sums[c.parent[child]] += (c.birth[child] - c.birth[c.parent[child]]) * float64(c.size[child])
	}
	return sums
}

// densest returns for each cluster the largest density at which a point leaves the cluster or one of its descendants.
func (c *condensedTree) densest() []float64 {
	most := make([]float64, len(c.parent))
	for i, cluster := range c.last {
		most[cluster] = max(most[cluster], c.exit[i])
	}
	for child := len(c.parent) - 1; child > 0; child-- {
		most[c.parent[child]] = max(most[c.parent[child]], most[child])
	}
	return most
}
