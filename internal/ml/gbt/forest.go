package gbt

import (
	"math"
	"slices"
)

// node is what serving needs and no more. Its children lie side by side, so that
// a step is an addition instead of a jump that is hard to foretell:
//
//	value ≤ cut: child    value > cut: child+above    NaN: child+missing
//
// above is 1, or 0 where every number goes left. A leaf is its own child with
// above and missing 0: steps beyond it stay where they are. Its cut is its value,
// already multiplied by the learning rate.
type node struct {
	cut            float64 // finite
	child          int32
	feature        uint16
	above, missing uint8
}

// forest is trees laid flat: tree t starts at nodes[roots[t]] and adds to output
// t mod outputs.
type forest struct {
	cols      int
	intercept []float64 // one per output
	roots     []int32
	depth     []uint8 // of every tree: the steps to take in it
	nodes     []node

	// Σ weight of the training rows that ended in each leaf, for Explain: leaves from
	// left to right, tree after tree.
	cover []float64
}

func (f *forest) outputs() int { return len(f.intercept) }

// next is the child that a value goes to. The side is the sign bit of cut − value:
// a compare would wait for the register of the step before.
func (n *node) next(v float64) int32 {
	if v != v {
		return n.child + int32(n.missing)
	}
	return n.child + int32(math.Float64bits(n.cut-v)>>63)&int32(n.above)
}

// walk is the value of tree t for x. All rows take the same number of steps, so
// the processor works on several trees at once.
func (f *forest) walk(t int, x []float64) float64 {
	at := f.roots[t]
	for range f.depth[t] {
		n := &f.nodes[at]
		at = n.next(x[n.feature])
	}
	return f.nodes[at].cut
}

// score adds up every output's trees: len(out) = outputs.
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

// add copies a grown tree, whose leaves know their value and cover.
func (f *forest) add(g *grower) {
	f.plant()
	f.place(g, 0, f.roots[len(f.roots)-1], 0)
}

// plant starts a tree with an empty root.
func (f *forest) plant() {
	f.roots = append(f.roots, f.room(1))
	f.depth = append(f.depth, 0)
}

// room appends n empty nodes and returns the number of the first.
func (f *forest) room(n int) int32 {
	first := int32(len(f.nodes))
	for range n {
		f.nodes = append(f.nodes, node{})
	}
	return first
}

// place lays a grown subtree down at a node.
func (f *forest) place(g *grower, i int, at int32, depth uint8) {
	n := &g.nodes[i]
	if n.left == 0 {
		f.leaf(at, depth, n.value, n.cover)
		return
	}
	child := f.room(2)
	f.nodes[at] = newNode(g.cut(n.split), n.split.missingLeft, n.split.column, child)
	f.place(g, n.left, child, depth+1)
	f.place(g, n.right, child+1, depth+1)
}

// newNode is a node that splits; a cut of +Inf sends every number left.
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

// leaf ends the newest tree at a node. Leaves are laid down from left to right.
func (f *forest) leaf(at int32, depth uint8, value, cover float64) {
	f.nodes[at] = node{cut: value, child: at}
	f.cover = append(f.cover, cover)
	last := len(f.depth) - 1
	f.depth[last] = max(f.depth[last], depth)
}

// isLeaf reports whether a tree ends at a node.
func (f *forest) isLeaf(at int32) bool { return f.nodes[at].child == at }

// fit gives back the room that growing left.
func (f *forest) fit() {
	f.roots, f.depth = slices.Clone(f.roots), slices.Clone(f.depth)
	f.nodes, f.cover = slices.Clone(f.nodes), slices.Clone(f.cover)
}

// truncate forgets all trees but the first n.
func (f *forest) truncate(n int) {
	if n < len(f.roots) {
		end := f.roots[n]
		f.nodes, f.cover = f.nodes[:end], f.cover[:(int(end)+n)/2] // a tree has one leaf more than nodes that split
		f.roots, f.depth = f.roots[:n], f.depth[:n]
	}
}

// finite reports whether every value can be served.
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
