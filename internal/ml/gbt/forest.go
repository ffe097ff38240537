package gbt

// node is what serving needs and no more: a value ≤ cut goes left.
type node struct {
	cut         float64
	left, right int32 // a node, or ^leaf if negative
	feature     uint16
	missingLeft bool // NaN goes left
}

// forest is trees laid flat: tree t starts at roots[t] (^leaf for a lone leaf),
// a child's number is above its parent's. Tree t adds to output t mod outputs.
// Leaf values are already multiplied by the learning rate.
type forest struct {
	cols      int
	intercept []float64 // one per output
	roots     []int32
	nodes     []node
	leaves    []float64

	// Σ weight of the training rows that came through, for Explain; kept apart,
	// so that predicting does not drag it through the cache.
	nodeCover, leafCover []float64
}

func (f *forest) outputs() int { return len(f.intercept) }

// leaf walks one tree.
func (f *forest) leaf(at int32, x []float64) float64 {
	for at >= 0 {
		n := &f.nodes[at]
		if v := x[n.feature]; v <= n.cut || n.missingLeft && v != v {
			at = n.left
		} else {
			at = n.right
		}
	}
	return f.leaves[^at]
}

// score adds up every output's trees: len(out) = outputs.
func (f *forest) score(x, out []float64) {
	copy(out, f.intercept)
	k := 0
	for _, root := range f.roots {
		out[k] += f.leaf(root, x)
		if k++; k == len(out) {
			k = 0
		}
	}
}

// add copies a grown tree, whose leaves know their value and cover.
func (f *forest) add(g *grower) {
	root, _ := f.place(g, 0)
	f.roots = append(f.roots, root)
}

// place lays a subtree down, a parent before its children, left before right.
func (f *forest) place(g *grower, i int) (at int32, cover float64) {
	n := &g.nodes[i]
	if n.left == 0 {
		f.leaves = append(f.leaves, n.value)
		f.leafCover = append(f.leafCover, n.cover)
		return ^int32(len(f.leaves) - 1), n.cover
	}
	at = int32(len(f.nodes))
	f.nodes = append(f.nodes, node{cut: g.cut(n.split), feature: uint16(n.split.column), missingLeft: n.split.missingLeft})
	f.nodeCover = append(f.nodeCover, 0)
	left, a := f.place(g, n.left)
	right, b := f.place(g, n.right)
	f.nodes[at].left, f.nodes[at].right, f.nodeCover[at] = left, right, a+b
	return at, a + b
}

// mark is the size of a forest, to which it can be cut back.
type mark struct{ roots, nodes, leaves int }

func (f *forest) mark() mark { return mark{len(f.roots), len(f.nodes), len(f.leaves)} }

// truncate forgets the trees added since m.
func (f *forest) truncate(m mark) {
	f.roots = f.roots[:m.roots]
	f.nodes, f.nodeCover = f.nodes[:m.nodes], f.nodeCover[:m.nodes]
	f.leaves, f.leafCover = f.leaves[:m.leaves], f.leafCover[:m.leaves]
}

// finite reports whether every value can be served.
func (f *forest) finite() bool {
	for _, values := range [][]float64{f.intercept, f.leaves, f.leafCover, f.nodeCover} {
		for _, v := range values {
			if !finite(v) {
				return false
			}
		}
	}
	return true
}
