package gbt

import (
	"math"
	"slices"
)

// growingNode is a node of a tree during training. The type node is its form for prediction.
type growingNode struct {
	rows        []int32 // a part of grower.rows
	depth       int
	sum         sums
	hist        histogram // the sums of rows by bin; nil if neither the search for the split of this node nor a child needs them
	split       split     // the best split; gain 0: none
	leftSum     sums
	left, right int // children; 0 for a leaf

	value, cover float64 // of a leaf: its value, and the total weight of its rows; set by the booster
}

type grower struct {
	data   *BinnedTable
	cfg    Config
	finder finder

	offset []int       // positions of the columns in a histogram
	length int         // length of a histogram
	spare  []histogram // unused buffers

	nodes     []growingNode // of the current tree; nodes[0] is the root
	rows      []int32       // of the current tree; the rows of a node are contiguous and ascending
	moved     []int32       // scratch of partition
	gradients []gradient    // scratch of build
	columns   []int         // columns that the tree may split
}

func newGrower(data *BinnedTable, cfg Config) *grower {
	g := &grower{data: data, cfg: cfg, finder: finder{
		lambda: cfg.Lambda, minRows: cfg.MinLeafRows, minWeight: cfg.MinLeafWeight, minGain: cfg.MinGain,
	}}
	g.offset, g.length = offsets(data.columns)
	return g
}

// grow grows a tree on the given rows (ascending) and columns. `gradients` is indexed by row
// number. The nodes are valid until the next call. grow splits the leaf with the highest gain
// first; this order matters only with MaxLeaves.
func (g *grower) grow(rows []int32, columns []int, gradients []gradient) []growingNode {
	g.release()
	g.rows = append(g.rows[:0], rows...)
	g.columns = columns
	root := growingNode{rows: g.rows}
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
		i := g.bestLeaf()
		if i < 0 {
			break
		}
		g.splitNode(i, gradients)
	}
	return g.nodes
}

func (g *grower) bestLeaf() int {
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

// splitNode splits node i and finds the best split of each child that may be split again. It sums the rows of the smaller
// child only: the histogram of the larger child is that of the parent minus that of the smaller child.
func (g *grower) splitNode(i int, gradients []gradient) {
	n := g.nodes[i]
	leftRows, rightRows := g.partition(n.rows, n.split)
	left, right := len(g.nodes), len(g.nodes)+1
	g.nodes[i].left, g.nodes[i].right, g.nodes[i].hist = left, right, nil
	g.nodes = append(g.nodes,
		growingNode{rows: leftRows, depth: n.depth + 1, sum: n.leftSum},
		growingNode{rows: rightRows, depth: n.depth + 1, sum: n.sum.minus(n.leftSum)})

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

func (g *grower) search(i int) {
	n := &g.nodes[i]
	for _, c := range g.columns {
		n.split = g.finder.search(c, g.bins(n.hist, c), n.sum, n.split)
	}
	if n.split.gain > 0 {
		bins := g.bins(n.hist, n.split.column)
		n.leftSum = n.split.left(bins)
		if bins[len(bins)-1].n == 0 { // no value is missing here: later missing values go to the larger child
			n.split.missingLeft = 2*n.leftSum.n >= n.sum.n
		}
	}
	if n.split.gain <= 0 || n.depth+1 >= g.cfg.MaxDepth { // no child needs the histogram
		g.spare = append(g.spare, n.hist)
		n.hist = nil
	}
}

func (g *grower) bins(h histogram, column int) []sums {
	at := g.offset[column]
	return h[at : at+g.data.columns[column].bins()]
}

func (g *grower) build(rows []int32, gradients []gradient) histogram {
	g.gradients = g.gradients[:0]
	for _, r := range rows {
		g.gradients = append(g.gradients, gradients[r])
	}
	h := g.take()
	for _, c := range g.columns {
		clear(g.bins(h, c))
	}
	columns := g.columns
	for ; len(columns) >= 4; columns = columns[4:] {
		var four [4]binColumn
		for k := range four {
			four[k] = g.column(h, columns[k])
		}
		fill4(&four, rows, g.gradients)
	}
	for _, c := range columns {
		p := g.column(h, c)
		fill(p.bins, p.codes, rows, g.gradients)
	}
	return h
}

func (g *grower) column(h histogram, column int) binColumn {
	return binColumn{(*[256]sums)(h[g.offset[column]:]), g.data.columns[column].codes}
}

// partition moves the rows of the left child to the front. The rows of each child keep their order. The loop has
// no branches: it writes every row to both parts and advances only one counter.
func (g *grower) partition(rows []int32, s split) (left, right []int32) {
	col := &g.data.columns[s.column]
	first, width := uint8(s.bin+1), int32(len(col.cuts)+1-s.bin) // codes on the right
	if s.missingLeft {
		width--
	}
	moved, n := slices.Grow(g.moved[:0], len(rows))[:len(rows)], 0
	for i, r := range rows {
		rows[n], moved[i-n] = r, r
		fromRightEdge := width - 1 - int32(col.codes[r]-first) // negative on the left
		n += int(uint32(fromRightEdge) >> 31)
	}
	copy(rows[n:], moved)
	g.moved = moved
	return rows[:n:n], rows[n:]
}

// cut returns the raw value of a split: values up to it go left. It is +Inf if only missing
// values go right.
func (g *grower) cut(s split) float64 {
	if cuts := g.data.columns[s.column].cuts; s.bin < len(cuts) {
		return cuts[s.bin]
	}
	return math.Inf(1)
}

// take returns an unused histogram with arbitrary contents.
func (g *grower) take() histogram {
	if n := len(g.spare); n > 0 {
		h := g.spare[n-1]
		g.spare = g.spare[:n-1]
		return h
	}
	return make(histogram, g.length)
}

// release reclaims the histograms of the last tree. Only a tree that reached MaxLeaves still has histograms: its
// leaves that could be split further hold them.
func (g *grower) release() {
	for i := range g.nodes {
		if h := g.nodes[i].hist; h != nil {
			g.spare = append(g.spare, h)
			g.nodes[i].hist = nil
		}
	}
}
