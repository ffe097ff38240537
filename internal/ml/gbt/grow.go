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

	offset []int       // positions in a histogram of the columns that the tree may split
	used   int         // number of bins of these columns
	length int         // length of the buffer of a histogram
	spare  []histogram // unused buffers

	nodes     []growingNode // of the current tree; nodes[0] is the root
	rows      []int32       // of the current tree; the rows of a node are contiguous and ascending
	moved     []int32       // scratch of partition
	gradients []gradient    // scratch of build
	first     []float64     // scratch of buildCounts: first derivatives
	terms     binaryTerms   // scratch of buildCounts
	columns   []int         // columns that the tree may split
	binary    []int         // the elements of the field columns whose codes are 0 and 1; one is left out if their number is odd
	wide      []int         // the other elements of the field columns
	isBinary  []bool        // by column of data: its codes are 0 and 1
}

func newGrower(data *BinnedTable, cfg Config) *grower {
	g := &grower{data: data, cfg: cfg, finder: finder{
		lambda: cfg.Lambda, minRows: cfg.MinLeafRows, minWeight: cfg.MinLeafWeight, minGain: cfg.MinGain,
	}}
	g.offset, g.length = make([]int, len(data.columns)), bufferLength(data.columns)
	g.isBinary = make([]bool, len(data.columns))
	for j := range data.columns {
		g.isBinary[j] = data.columns[j].isBinary()
	}
	return g
}

// grow grows a tree on the given rows (ascending) and columns. `gradients` is indexed by row
// number. The nodes are valid until the next call. grow splits the leaf with the highest gain
// first; this order matters only with MaxLeaves.
func (g *grower) grow(rows []int32, columns []int, gradients []gradient) []growingNode {
	g.release()
	g.rows = append(g.rows[:0], rows...)
	g.useColumns(columns)
	root := growingNode{rows: g.rows}
	g.finder.countsRows = true
	for _, r := range rows {
		root.sum.g += gradients[r].g
		root.sum.h += gradients[r].h
		g.finder.countsRows = g.finder.countsRows && gradients[r].h == 1
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

// useColumns sets the columns that the tree may split, and places their bins side by side at the start of a histogram.
func (g *grower) useColumns(columns []int) {
	g.columns, g.used, g.binary, g.wide = columns, 0, g.binary[:0], g.wide[:0]
	for _, c := range columns {
		if g.isBinary[c] {
			g.binary = append(g.binary, c)
		} else {
			g.wide = append(g.wide, c)
		}
		g.offset[c] = g.used
		g.used += g.data.columns[c].bins()
	}
	if n := len(g.binary); n%2 == 1 { // fillBinary2 needs pairs
		g.binary, g.wide = g.binary[:n-1], append(g.wide, g.binary[n-1])
	}
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
	subtract(n.hist[:g.used], child[:g.used])
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
	s := g.finder.start(n.sum)
	for _, c := range g.columns {
		s.search(c, g.bins(n.hist, c))
	}
	if n.split = s.best; n.split.gain > 0 {
		bins := g.bins(n.hist, n.split.column)
		n.leftSum = n.split.left(bins)
		if g.finder.countsRows {
			n.leftSum.h = float64(n.leftSum.n)
		}
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
	h := g.take()
	clear(h[:g.used])
	if g.finder.countsRows {
		g.buildCounts(h, rows, gradients)
		return h
	}
	g.gradients = g.gradients[:0]
	for _, r := range rows {
		g.gradients = append(g.gradients, gradients[r])
	}
	columns := g.columns
	for ; len(columns) >= 4; columns = columns[4:] {
		four := g.fourColumns(h, columns)
		fill4(&four, rows, g.gradients)
	}
	for _, c := range columns {
		p := g.column(h, c)
		fill(p.bins, p.codes, rows, g.gradients)
	}
	return h
}

// buildCounts is build without the sums of h.
func (g *grower) buildCounts(h histogram, rows []int32, gradients []gradient) {
	g.first = g.first[:0]
	for _, r := range rows {
		g.first = append(g.first, gradients[r].g)
	}
	for pairs := g.binary; len(pairs) >= 2; pairs = pairs[2:] {
		fillBinary2(g.column(h, pairs[0]), g.column(h, pairs[1]), rows, g.first, &g.terms)
	}
	columns := g.wide
	for ; len(columns) >= 4; columns = columns[4:] {
		four := g.fourColumns(h, columns)
		fillCounts4(&four, rows, g.first)
	}
	for _, c := range columns {
		fillCounts(g.column(h, c), rows, g.first)
	}
}

func (g *grower) fourColumns(h histogram, columns []int) [4]binColumn {
	return [4]binColumn{g.column(h, columns[0]), g.column(h, columns[1]), g.column(h, columns[2]), g.column(h, columns[3])}
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
