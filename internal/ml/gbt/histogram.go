package gbt

// gradient holds the first and second derivative of the loss at the score of one row.
type gradient struct{ g, h float64 }

// sums holds the sums of the gradients of the rows of a bin or node.
type sums struct {
	g, h float64
	n    int
}

func (s sums) plus(o sums) sums  { return sums{s.g + o.g, s.h + o.h, s.n + o.n} }
func (s sums) minus(o sums) sums { return sums{s.g - o.g, s.h - o.h, s.n - o.n} }

// histogram holds the sums of one node by column and bin. The bins of column j start at
// offset[j]. 256 spare bins at the end allow access to every column as [256]sums, which
// eliminates bounds checks in the innermost loop.
type histogram []sums

// offsets returns the positions of the columns in a histogram, and its length.
func offsets(columns []column) (offset []int, length int) {
	offset = make([]int, len(columns))
	for j := range columns {
		offset[j] = length
		length += columns[j].bins()
	}
	return offset, length + 256
}

// fill sums the rows by code; gradients[i] belongs to rows[i]. The rows are ascending, so the
// summation order is fixed.
func fill(bins *[256]sums, codes []uint8, rows []int32, gradients []gradient) {
	gradients = gradients[:len(rows)]
	for i, r := range rows {
		b := &bins[codes[r]]
		d := &gradients[i]
		b.g += d.g
		b.h += d.h
		b.n++
	}
}

// subtract computes parent − child in place, which is the histogram of the other child.
func subtract(parent, child []sums) {
	child = child[:len(parent)]
	for i := range parent {
		p, c := &parent[i], &child[i]
		p.g -= c.g
		p.h -= c.h
		p.n -= c.n
	}
}
