package gbt

// gradient holds the first and second derivative of the loss at the score of one row.
type gradient struct{ g, h float64 }

// sums holds the sums of the gradients of the rows of a bin or node.
type sums struct {
	g, h float64
	n    int // number of rows
}

func (s sums) plus(o sums) sums  { return sums{s.g + o.g, s.h + o.h, s.n + o.n} }
func (s sums) minus(o sums) sums { return sums{s.g - o.g, s.h - o.h, s.n - o.n} }

// histogram holds the sums of one node by column and bin. The bins of column j start at
// offset[j]. 256 additional bins at the end allow access to every column as [256]sums, which
// eliminates bounds checks in the innermost loop.
type histogram []sums

func offsets(columns []column) (offset []int, length int) {
	offset = make([]int, len(columns))
	for j := range columns {
		offset[j] = length
		length += columns[j].bins()
	}
	return offset, length + 256
}

// fill adds the gradient of each row to the bin of the row: codes[r] is the bin of row r, gradients[i]
// the gradient of rows[i]. The rows are ascending, so the summation order is fixed.
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

// binColumn is one column of a histogram, and the codes of all rows.
type binColumn struct {
	bins  *[256]sums
	codes []uint8
}

// fill4 does the same as fill for four columns at once. In a column with few codes, most rows add
// to the same bin, and each addition waits for the previous one. Additions to other columns do
// not wait.
func fill4(columns *[4]binColumn, rows []int32, gradients []gradient) {
	gradients = gradients[:len(rows)]
	bins0, bins1, bins2, bins3 := columns[0].bins, columns[1].bins, columns[2].bins, columns[3].bins
	codes0 := columns[0].codes
	codes1, codes2, codes3 := columns[1].codes[:len(codes0)], columns[2].codes[:len(codes0)], columns[3].codes[:len(codes0)]
	for i, r := range rows {
		d := gradients[i]
		b0, b1, b2, b3 := &bins0[codes0[r]], &bins1[codes1[r]], &bins2[codes2[r]], &bins3[codes3[r]]
		b0.g += d.g
		b1.g += d.g
		b2.g += d.g
		b3.g += d.g
		b0.h += d.h
		b1.h += d.h
		b2.h += d.h
		b3.h += d.h
		b0.n++
		b1.n++
		b2.n++
		b3.n++
	}
}

// subtract subtracts the histogram `child` from `parent` in place. The result is the histogram of the other child.
func subtract(parent, child []sums) {
	child = child[:len(parent)]
	for i := range parent {
		p, c := &parent[i], &child[i]
		p.g -= c.g
		p.h -= c.h
		p.n -= c.n
	}
}
