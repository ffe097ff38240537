package gbt

import (
	"math"
	"slices"
	"unsafe"
)

// packedForest holds the trees of a decoded forest with smaller nodes and the same decisions. A row is
// first quantised: the code of a value is the number of cuts of its column below the value. A split
// then compares two bytes, and its node has 4 bytes instead of 16.
type packedForest struct {
	columns []packedColumn
	cuts    []float64 // of all columns, ascending and distinct within a column
	roots   []int32   // of each tree: index of its root in nodes
	depth   []uint8   // of each block of blockTrees trees: the depth of the deepest one
	nodes   []packedNode
	values  []float64 // of the leaves, from left to right, tree after tree
	cover16 []uint16  // covers of the leaves, if all are integers of 16 bits; nil: the forest has them
}

// packedColumn is one column with splits.
type packedColumn struct {
	column uint16 // index in a row
	cuts   uint16 // number of cuts
}

// packedNode is a split or a leaf. Children are adjacent, and a leaf is its own child.
//
//	code ≤ cut: child    code > cut: child+1
type packedNode struct {
	code  uint16 // of a split: index of its code in codes; of a leaf: its number in the tree, from left to right
	cut   uint8  // index of the cut in the column; noCut for a leaf
	child uint8  // index of the first child, relative to the root
}

// Limits of packed forests. Each column has two codes, which differ for a missing value only. The
// first code sends a missing value left, and the second one right.
const (
	maxPackedColumns = 256 // bounds the size of codes
	maxPackedNodes   = 256 // of a tree, so that an index relative to the root fits in a byte
	missingCode      = math.MaxUint8
	maxPackedCuts    = missingCode - 1 // of a column; the largest code is the number of cuts
	noCut            = missingCode     // no code is larger
	blockTrees       = 4               // trees that the processor walks in parallel
)

// codes holds the codes of a row: two per packed column, at the index packedNode.code. Its size makes bounds checks
// unnecessary.
type codes [2 * maxPackedColumns]uint8

// pack returns the packed form of a forest, or nil if the forest exceeds a limit or has a cut of −0.
func (f *forest) pack() *packedForest {
	cuts := make([][]float64, f.cols)
	for at := range f.nodes {
		if n := &f.nodes[at]; !f.isLeaf(int32(at)) {
			if n.cut == 0 && math.Signbit(n.cut) {
				return nil // -0 equals 0 but is another value in the stored form
			}
			cuts[n.feature] = append(cuts[n.feature], n.splitCut())
		}
	}
	p := &packedForest{roots: f.roots}
	index := make([]uint16, f.cols) // of the columns in p.columns
	for j := range cuts {
		if len(cuts[j]) == 0 {
			continue
		}
		slices.Sort(cuts[j])
		cuts[j] = slices.Compact(cuts[j])
		if len(cuts[j]) > maxPackedCuts || len(p.columns) == maxPackedColumns {
			return nil
		}
		index[j] = uint16(len(p.columns))
		p.columns = append(p.columns, packedColumn{column: uint16(j), cuts: uint16(len(cuts[j]))})
		p.cuts = append(p.cuts, cuts[j]...)
	}
	for t, root := range f.roots {
		end := f.treeEnd(t)
		if end-root > maxPackedNodes {
			return nil
		}
		p.addTree(f, root, end, cuts, index)
	}
	for t, depth := range f.depth {
		if t%blockTrees == 0 {
			p.depth = append(p.depth, 0)
		}
		last := len(p.depth) - 1
		p.depth[last] = max(p.depth[last], depth)
	}
	p.columns, p.cuts, p.depth = slices.Clone(p.columns), slices.Clone(p.cuts), slices.Clone(p.depth)
	p.nodes, p.values = slices.Clone(p.nodes), slices.Clone(p.values)
	p.packCovers(f.leafCovers())
	return p
}

// addTree adds the tree of f in the nodes from `root` to end − 1. `cuts` has the cuts of each column of a row, and `index`
// the position of each column in p.columns.
func (p *packedForest) addTree(f *forest, root, end int32, cuts [][]float64, index []uint16) {
	p.nodes = append(p.nodes, make([]packedNode, end-root)...)
	tree, leaf := p.nodes[root:], uint16(0)
	var add func(at int32)
	add = func(at int32) {
		n := &f.nodes[at]
		if f.isLeaf(at) {
			tree[at-root] = packedNode{code: leaf, cut: noCut, child: uint8(at - root)}
			p.values = append(p.values, n.cut)
			leaf++
			return
		}
		cut, _ := slices.BinarySearch(cuts[n.feature], n.splitCut())
		tree[at-root] = packedNode{code: 2*index[n.feature] + uint16(n.missing), cut: uint8(cut), child: uint8(n.child - root)}
		add(n.child)
		add(n.child + 1)
	}
	add(root)
}

func (p *packedForest) packCovers(covers []float64) {
	small := make([]uint16, len(covers))
	for i, v := range covers {
		if v > math.MaxUint16 || v != math.Trunc(v) {
			return
		}
		small[i] = uint16(v)
	}
	p.cover16 = small
}

func (p *packedForest) encode(x []float64, c *codes) {
	cuts := p.cuts
	for i, column := range p.columns {
		own, v := cuts[:column.cuts], x[column.column]
		cuts = cuts[column.cuts:]
		if v != v {
			c[2*i], c[2*i+1] = 0, missingCode
			continue
		}
		low, n := 0, len(own) // the first `low` cuts are below v, and the code is at most low + n
		for n > 0 {
			half := (n + 1) / 2
			if own[low+half-1] < v {
				low += half
				n -= half
			} else {
				n = half - 1
			}
		}
		c[2*i], c[2*i+1] = uint8(low), uint8(low)
	}
}

// next returns the child of a node, relative to the root. At a leaf it compares with an unrelated code, but no code
// exceeds noCut, so the walk stays at the leaf.
func (n packedNode) next(c *codes) uint8 {
	above := (int32(n.cut) - int32(c[n.code%uint16(len(c))])) >> 31 // −1 if the code is larger
	return n.child - uint8(above)
}

// tree returns the nodes from the root of tree t on, and the leaf values from its first leaf on.
func (p *packedForest) tree(t int) ([]packedNode, []float64) {
	root := p.roots[t]
	return p.nodes[root:], p.values[(int(root)+t)/2:] // a tree has one more leaf than splits
}

func (p *packedForest) predict(x []float64, y float64) float64 {
	var c codes
	p.encode(x, &c)
	t := 0
	for ; t+blockTrees <= len(p.roots); t += blockTrees {
		tree0, values0 := p.tree(t)
		tree1, values1 := p.tree(t + 1)
		tree2, values2 := p.tree(t + 2)
		tree3, values3 := p.tree(t + 3)
		n0, n1, n2, n3 := tree0[0], tree1[0], tree2[0], tree3[0]
		for range p.depth[t/blockTrees] {
			n0, n1, n2, n3 = tree0[n0.next(&c)], tree1[n1.next(&c)], tree2[n2.next(&c)], tree3[n3.next(&c)]
		}
		y += values0[n0.code]
		y += values1[n1.code]
		y += values2[n2.code]
		y += values3[n3.code]
	}
	for ; t < len(p.roots); t++ {
		tree, values := p.tree(t)
		n := tree[0]
		for range p.depth[t/blockTrees] {
			n = tree[n.next(&c)]
		}
		y += values[n.code]
	}
	return y
}

// unpack returns the forest that p was packed from. It takes from f the fields that p does not store.
func (p *packedForest) unpack(f *forest) *forest {
	full := &forest{cols: f.cols, intercept: f.intercept, roots: p.roots, cover: f.cover, cover32: f.cover32}
	if p.cover16 != nil {
		for _, v := range p.cover16 {
			full.cover = append(full.cover, float64(v))
		}
	}
	first := make([]int, len(p.columns)) // of each column's cuts
	for i := 1; i < len(first); i++ {
		first[i] = first[i-1] + int(p.columns[i-1].cuts)
	}
	full.nodes = make([]node, len(p.nodes))
	for t, root := range p.roots {
		tree, values := p.tree(t)
		var add func(i, depth uint8) uint8
		add = func(i, depth uint8) uint8 {
			n := tree[i]
			if n.cut == noCut {
				full.nodes[root+int32(i)] = node{cut: values[n.code], child: root + int32(i)}
				return depth
			}
			column := n.code / 2
			full.nodes[root+int32(i)] = newNode(p.cuts[first[column]+int(n.cut)], n.code%2 == 0, int(p.columns[column].column), root+int32(n.child))
			return max(add(n.child, depth+1), add(n.child+1, depth+1))
		}
		full.depth = append(full.depth, add(0, 0))
	}
	return full
}

func (p *packedForest) bytes() int64 {
	return int64(unsafe.Sizeof(*p)) + int64(cap(p.columns))*int64(unsafe.Sizeof(packedColumn{})) + 8*int64(cap(p.cuts)+cap(p.values)) +
		4*int64(cap(p.roots)+cap(p.nodes)) + int64(cap(p.depth)) + 2*int64(cap(p.cover16))
}
