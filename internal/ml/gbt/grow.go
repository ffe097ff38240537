package gbt

import (
	"math"
	"slices"
)

// growing is a node while its tree grows; forest.go has the kind that serves.
type growing struct {
	rows        []int32 // its part of the grower's rows
	depth       int
	sum         sums
	hist        histogram // nil where no split will be looked for
	split       split     // the best one; gain 0: a leaf
	leftSum     sums      // of the rows that the split sends left
	left, right int       // children; 0 while a leaf, since the root is nobody's child

	value, cover float64 // of a leaf, set by the boosting loop
}

// grower grows one tree after another on the same binned rows, and keeps the
// buffers between them.
type grower struct {
	data   *Binned
	cfg    Config
	finder finder

	offset []int
	length int
	spare  []histogram // not in use

	nodes     []growing // of the tree in hand; nodes[0] is the root
	rows      []int32   // its rows, each node's in one piece and ascending
	moved     []int32   // partition's second half
	gradients []gradient
	columns   []int // that the tree may split on
}

func newGrower(data *Binned, cfg Config) *grower {
	g := &grower{data: data, cfg: cfg, finder: finder{
		lambda: cfg.Lambda, minRows: cfg.MinLeafRows, minWeight: cfg.MinLeafWeight, minGain: cfg.MinGain,
	}}
	g.offset, g.length = offsets(data.columns)
	return g
}

// grow makes a tree for the given rows (ascending) and columns; gradients are
// indexed by row number. The nodes are valid until the next call. The open leaf
// of the highest gain is split first; without MaxLeaves every order gives the
// same tree.
func (g *grower) grow(rows []int32, columns []int, gradients []gradient) []growing {
	g.release()
	g.rows = append(g.rows[:0], rows...)
	g.columns = columns
	root := growing{rows: g.rows}
	for _, r := range rows {
		root.sum.g += gradients[r].g
		root.sum.h += gradients[r].h
	}
	root.sum.n = len(rows)
	g.nodes = append(g.nodes[:0], root)
	if g.splittable(0) {
		g.nodes[0].hist = g.build(g.rows, gradients)
		g.search(0)
	}
	for leaves := 1; g.cfg.MaxLeaves == 0 || leaves < g.cfg.MaxLeaves; leaves++ {
		i := g.mostGain()
		if i < 0 {
			break
		}
		g.divide(i, gradients)
	}
	return g.nodes
}

// mostGain is the open leaf of the highest gain, the first of equals; −1: none.
func (g *grower) mostGain() int {
	best, gain := -1, 0.0
	for i := range g.nodes {
		if n := &g.nodes[i]; n.left == 0 && n.split.gain > gain {
			best, gain = i, n.split.gain
		}
	}
	return best
}

func (g *grower) splittable(i int) bool {
	n := &g.nodes[i]
	return n.depth < g.cfg.MaxDepth && len(n.rows) >= 2*g.cfg.MinLeafRows
}

// divide splits node i and searches its children. Only the smaller child's
// histogram is summed; the parent's less that one is the larger child's.
func (g *grower) divide(i int, gradients []gradient) {
	n := g.nodes[i]
	leftRows, rightRows := g.partition(n.rows, n.split)
	left, right := len(g.nodes), len(g.nodes)+1
	g.nodes[i].left, g.nodes[i].right, g.nodes[i].hist = left, right, nil
	g.nodes = append(g.nodes,
		growing{rows: leftRows, depth: n.depth + 1, sum: n.leftSum},
		growing{rows: rightRows, depth: n.depth + 1, sum: n.sum.minus(n.leftSum)})

	small, large := left, right
	if len(rightRows) < len(leftRows) {
		small, large = right, left
	}
	if !g.splittable(large) {
		if n.hist != nil {
			g.spare = append(g.spare, n.hist)
		}
		return
	}
	child := g.build(g.nodes[small].rows, gradients)
	for _, c := range g.columns {
		subtract(g.bins(n.hist, c), g.bins(child, c))
	}
	g.nodes[large].hist = n.hist
	g.search(large)
	if g.splittable(small) {
		g.nodes[small].hist = child
		g.search(small)
	} else {
		g.spare = append(g.spare, child)
	}
}

// search looks for the best split of node i over the tree's columns.
func (g *grower) search(i int) {
	n := &g.nodes[i]
	for _, c := range g.columns {
		n.split = g.finder.search(c, g.bins(n.hist, c), n.sum, n.split)
	}
	if n.split.gain > 0 {
		bins := g.bins(n.hist, n.split.column)
		n.leftSum = n.split.left(bins)
		if bins[len(bins)-1].n == 0 { // never missing here: later ones go with the larger child
			n.split.missingLeft = 2*n.leftSum.n >= n.sum.n
		}
	}
	if n.split.gain <= 0 || n.depth+1 >= g.cfg.MaxDepth { // no child will need it
		g.spare = append(g.spare, n.hist)
		n.hist = nil
	}
}

// bins are the sums of one column.
func (g *grower) bins(h histogram, column int) []sums {
	at := g.offset[column]
	return h[at : at+g.data.columns[column].bins()]
}

// build sums the rows' gradients by column and bin.
func (g *grower) build(rows []int32, gradients []gradient) histogram {
	g.gradients = g.gradients[:0]
	for _, r := range rows {
		g.gradients = append(g.gradients, gradients[r])
	}
	h := g.take()
	for _, c := range g.columns {
		clear(g.bins(h, c))
		fill((*[256]sums)(h[g.offset[c]:]), g.data.columns[c].codes, rows, g.gradients)
	}
	return h
}

// partition moves the rows that go left to the front; both parts keep their order.
// Every row is written to both, and only the counters choose: without a jump that
// is hard to foretell.
func (g *grower) partition(rows []int32, s split) (left, right []int32) {
	col := &g.data.columns[s.column]
	var goes [256]uint8 // by code: 1 if left
	for code := range s.bin + 1 {
		goes[code] = 1
	}
	if missing := len(col.cuts) + 1; s.missingLeft {
		goes[missing] = 1
	} else {
		goes[missing] = 0
	}
	moved, n := slices.Grow(g.moved[:0], len(rows))[:len(rows)], 0
	for i, r := range rows {
		rows[n], moved[i-n] = r, r
		n += int(goes[col.codes[r]])
	}
	copy(rows[n:], moved)
	g.moved = moved
	return rows[:n:n], rows[n:]
}

// cut is the raw value of a split: values up to it go left. Where only missing
// values go right, every number does.
func (g *grower) cut(s split) float64 {
	if cuts := g.data.columns[s.column].cuts; s.bin < len(cuts) {
		return cuts[s.bin]
	}
	return math.Inf(1)
}

func (g *grower) take() histogram {
	if n := len(g.spare); n > 0 {
		h := g.spare[n-1]
		g.spare = g.spare[:n-1]
		return h
	}
	return make(histogram, g.length)
}

// release takes back the histograms of leaves that were never split.
func (g *grower) release() {
	for i := range g.nodes {
		if h := g.nodes[i].hist; h != nil {
			g.spare = append(g.spare, h)
			g.nodes[i].hist = nil
		}
	}
}
