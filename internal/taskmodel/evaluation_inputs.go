package taskmodel

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// tableOf encodes rows for the classifiers: the inputs of the line (the ridge regression), then
// the inputs of the trees, without the columns that a tree never uses (see distinctColumns). The returned function encodes
// a further row.
func tableOf(schema *sizing.Schema, rows []row) (*table.Table, func([]sizing.Value) []float64) {
	y, cells := make([]float64, len(rows)), make([][]sizing.Value, len(rows))
	for i := range rows {
		y[i], cells[i] = math.Log(rows[i].Peak), rows[i].Cells
	}
	enc := newEncoder(schema, cells, y)
	encode := func(cells []sizing.Value) []float64 {
		line, tree := enc.encode(cells, nil, nil)
		return append(line, tree...)
	}
	x := make([][]float64, len(rows))
	for i := range rows {
		x[i] = encode(cells[i])
		enc.learn(cells[i], y[i])
	}
	keep := distinctColumns(x, enc.LineWidth+enc.TreeWidth)
	t := &table.Table{Names: make([]string, len(keep)), Y: y}
	for i := range x {
		t.X = append(t.X, gather(x[i], 0, keep)...)
	}
	return t, func(cells []sizing.Value) []float64 { return gather(encode(cells), 0, keep) }
}

// distinctColumns returns the indices of the columns of x, a table of width columns. It omits each column that orders the
// rows as an earlier column does, such as the logarithm of a number, or a one-hot column that the line and the trees share.
// Such a column splits the rows in the same ways as the earlier one. Of equal splits a tree takes the first, so it never
// uses the later column.
func distinctColumns(x [][]float64, width int) []int {
	keep := make([]int, 0, width)
	seen := make(map[string]bool, width)
	order, ranks := make([]int, len(x)), make([]byte, 4*len(x))
	for j := range width {
		isRanked := rank(x, j, order, ranks)
		if isRanked && seen[string(ranks)] {
			continue
		}
		keep = append(keep, j)
		if isRanked {
			seen[string(ranks)] = true
		}
	}
	return keep
}

// rank writes the rank of each row by column j to `ranks`, four bytes for each row. Equal values have equal ranks; NaN has
// the lowest rank. `order` is scratch memory. rank returns false if the splits of a tree may depend on more than the ranks:
// the middle between two values of the column rounds to one of them, or the magnitude of a value is above maxRanked.
func rank(x [][]float64, j int, order []int, ranks []byte) bool {
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a][j], x[b][j]) })
	next := uint32(0)
	for k, i := range order {
		v := x[i][j]
		if math.Abs(v) > maxRanked {
			return false
		}
		if k > 0 {
			if before := x[order[k-1]][j]; cmp.Less(before, v) {
				if middle := (before + v) / 2; middle <= before || middle >= v { // false for NaN
					return false
				}
				next++
			}
		}
		binary.LittleEndian.PutUint32(ranks[4*i:], next)
	}
	return true
}

const maxRanked = 1e299 // below the magnitude at which package cart clips values for golearn
