package gbt

import (
	"math"
	"slices"
)

// node is the compact form of a node for prediction. Its children are adjacent, so that a
// step is an addition instead of an unpredictable branch:
//
//	value ≤ cut: child    value > cut: child+above    NaN: child+missing
//
// The field `above` is 1, or 0 if every number goes left. A leaf is its own child with above = missing = 0, so that
// further steps stay at the leaf. The cut of a leaf is its value, which includes the learning rate.
type node struct {
	cut            float64 // finite
	child          int32
	feature        uint16
	above, missing uint8
}

// forest stores trees in flat slices: tree t starts at nodes[roots[t]] and adds to the output with
// the index t mod outputs().
type forest struct {
	cols      int
	intercept []float64 // one per output
	roots     []int32
	depth     []uint8 // of every tree
	nodes     []node

	// Σ weight of the training rows in each leaf, for Explain: leaves from left to right,
	// tree after tree. With Config.Subsample only the sampled rows count.
	cover []float64

	// cover32 replaces cover in a decoded forest, if all covers are exact as float32. Most covers are
	// numbers of rows.
	cover32 []float32
}

func (f *forest) outputs() int { return len(f.intercept) }

// next returns the child for a value. For a number, the sign bit of cut − value selects the side, which is faster than a
// comparison because it needs no branch.
func (n *node) next(v float64) int32 {
	if v != v {
		return n.child + int32(n.missing)
	}
	return n.child + int32(math.Float64bits(n.cut-v)>>63)&int32(n.above)
}

// walk returns the value of tree t for x. All rows take the same number of steps, so the
// processor can execute several trees in parallel.
func (f *forest) walk(t int, x []float64) float64 {
	at := f.roots[t]
	for range f.depth[t] {
		n := &f.nodes[at]
		at = n.next(x[n.feature])
	}
	return f.nodes[at].cut
}

func (f *forest) score(x, out []float64) {
	copy(out, f.intercept)
	k := 0
	for t := range f.roots {
		out[k] += f.walk(t, x)
		if k++; k == len(out) {
			k = 0
		}
	}
}

func (f *forest) add(g *grower) {
	f.startTree()
	f.copySubtree(g, 0, f.roots[len(f.roots)-1], 0)
}

func (f *forest) startTree() {
	f.roots = append(f.roots, f.addNodes(1))
	f.depth = append(f.depth, 0)
}

func (f *forest) addNodes(n int) int32 {
	first := int32(len(f.nodes))
	for range n {
		f.nodes = append(f.nodes, node{})
	}
	return first
}

func (f *forest) copySubtree(g *grower, i int, at int32, depth uint8) {
	n := &g.nodes[i]
	if n.left == 0 {
		f.setLeaf(at, depth, n.value, n.cover)
		return
	}
	child := f.addNodes(2)
	f.nodes[at] = newNode(g.cut(n.split), n.split.missingLeft, n.split.column, child)
	f.copySubtree(g, n.left, child, depth+1)
	f.copySubtree(g, n.right, child+1, depth+1)
}

// newNode returns a node with a split. A cut of +Inf sends every number left.
func newNode(cut float64, missingLeft bool, column int, child int32) node {
	n := node{cut: cut, child: child, feature: uint16(column), above: 1, missing: 1}
	if missingLeft {
		n.missing = 0
	}
	if math.IsInf(cut, 1) {
		n.cut, n.above = 0, 0
	}
	return n
}

// setLeaf makes a node a leaf of the newest tree. Leaves must be added from left to right.
func (f *forest) setLeaf(at int32, depth uint8, value, cover float64) {
	f.nodes[at] = node{cut: value, child: at}
	f.cover = append(f.cover, cover)
	last := len(f.depth) - 1
	f.depth[last] = max(f.depth[last], depth)
}

func (f *forest) treeEnd(t int) int32 {
	if t+1 < len(f.roots) {
		return f.roots[t+1]
	}
	return int32(len(f.nodes))
}

func (n *node) splitCut() float64 {
	if n.above == 0 {
		return math.Inf(1)
	}
	return n.cut
}

func (f *forest) isLeaf(at int32) bool { return f.nodes[at].child == at }

// leafCovers returns the covers of the leaves from left to right. The caller must not change them.
func (f *forest) leafCovers() []float64 {
	if f.cover32 == nil {
		return f.cover
	}
	covers := make([]float64, len(f.cover32))
	for i, v := range f.cover32 {
		covers[i] = float64(v)
	}
	return covers
}

func (f *forest) shrinkCovers() {
	small := make([]float32, len(f.cover))
	for i, v := range f.cover {
		if small[i] = float32(v); float64(small[i]) != v {
			return
		}
	}
	f.cover, f.cover32 = nil, small
}

func (f *forest) trim() {
	f.roots, f.depth = slices.Clone(f.roots), slices.Clone(f.depth)
	f.nodes, f.cover = slices.Clone(f.nodes), slices.Clone(f.cover)
	f.shrinkCovers()
}

func (f *forest) truncate(n int) {
	if n < len(f.roots) {
		end := f.roots[n]
		f.nodes, f.cover = f.nodes[:end], f.cover[:(int(end)+n)/2] // a tree has one more leaf than splits
		f.roots, f.depth = f.roots[:n], f.depth[:n]
	}
}

func (f *forest) finite() bool {
	for _, values := range [][]float64{f.intercept, f.cover} {
		for _, v := range values {
			if !finite(v) {
				return false
			}
		}
	}
	for i := range f.nodes {
		if !finite(f.nodes[i].cut) {
			return false
		}
	}
	return true
}
