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

// histogram holds the sums of one node by column and bin: the bins of the columns that the tree may split, one column after
// the other. 256 additional bins at the end allow access to every column as [256]sums, which eliminates bounds checks in the
// innermost loop.
type histogram []sums

// bufferLength returns the length of a histogram with all columns, including the 256 additional bins.
func bufferLength(columns []column) int {
	length := 256
	for j := range columns {
		length += columns[j].bins()
	}
	return length
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

// fillCounts does the same as fill without the sums of h.
func fillCounts(column binColumn, rows []int32, gradients []float64) {
	gradients = gradients[:len(rows)]
	bins, codes := column.bins, column.codes
	for i, r := range rows {
		b := &bins[codes[r]]
		b.g += gradients[i]
		b.n++
	}
}

// fillCounts4 does the same as fill4 without the sums of h. It takes a quarter less time.
func fillCounts4(columns *[4]binColumn, rows []int32, gradients []float64) {
	gradients = gradients[:len(rows)]
	bins0, bins1, bins2, bins3 := columns[0].bins, columns[1].bins, columns[2].bins, columns[3].bins
	codes0 := columns[0].codes
	codes1, codes2, codes3 := columns[1].codes[:len(codes0)], columns[2].codes[:len(codes0)], columns[3].codes[:len(codes0)]
	for i, r := range rows {
		d := gradients[i]
		b := &bins0[codes0[r]]
		b.g += d
		b.n++
		b = &bins1[codes1[r]]
		b.g += d
		b.n++
		b = &bins2[codes2[r]]
		b.g += d
		b.n++
		b = &bins3[codes3[r]]
		b.g += d
		b.n++
	}
}

// binaryTerms gives the terms of a row in the sums of the codes 0 and 1 without a branch. Element 1 is the gradient of the row, all
// others are 0. So for a row with code c, element c+1 is the term for code 0, and element c that for code 1. The length makes
// bounds checks unnecessary.
type binaryTerms [257]float64

// fillBinary2 does the same as fillCounts4 for two columns whose codes are 0 and 1. It takes half the time, because the sums
// stay in registers. Adding 0 for the rows of the other code does not change a sum.
func fillBinary2(a, b binColumn, rows []int32, gradients []float64, terms *binaryTerms) {
	gradients = gradients[:len(rows)]
	codesA, codesB := a.codes, b.codes[:len(a.codes)]
	var a0, a1, b0, b1 float64
	onesA, onesB := 0, 0
	for i, r := range rows {
		terms[1] = gradients[i]
		codeA, codeB := int(codesA[r]), int(codesB[r])
		a0 += terms[codeA+1]
		a1 += terms[codeA]
		onesA += codeA
		b0 += terms[codeB+1]
		b1 += terms[codeB]
		onesB += codeB
	}
	a.bins[0], a.bins[1] = sums{g: a0, n: len(rows) - onesA}, sums{g: a1, n: onesA}
	b.bins[0], b.bins[1] = sums{g: b0, n: len(rows) - onesB}, sums{g: b1, n: onesB}
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
