package experts

import (
	"cmp"
	"slices"
)

// ascending is a list of residuals in ascending order: either the residuals themselves, or the rows
// of the residual store that have them.
type ascending struct {
	values  []float64 // the residuals, if the field rows is nil
	rows    []uint16  // positions, in the field entries, of the rows with the residuals
	entries []Entry   // the residual store
	model   int       // model of the residuals
	scale   int       // index in Point.Scale of the scale that divides a residual; -1: none
	above   int       // the newest result of countAbove
}

func (a *ascending) len() int { return max(len(a.values), len(a.rows)) }

func (a *ascending) at(i int) float64 {
	if a.rows == nil {
		return a.values[i]
	}
	return a.residual(a.rows[i])
}

func (a *ascending) residual(at uint16) float64 {
	e := &a.entries[at]
	r := e.Log - e.Point.Level[a.model]
	if a.scale >= 0 {
		r /= e.Point.Scale[a.scale]
	}
	return r
}

// residualWindow holds the sorted residuals of the newest rows for one pair (a model and one of its residual
// distributions). For log residuals it holds positions in the residual store, which need a quarter of the memory of the
// values; a subtraction and, in a scaled distribution, a division give the value. It holds residuals in bytes as
// values, because each of them is a difference of exponentials, which takes longer to compute.
type residualWindow struct {
	values []float64
	rows   []uint16
}

func scaleOf(dist int) int {
	switch dist {
	case treeScaled:
		return TreeScale
	case sameScaled:
		return SameScale
	}
	return -1
}

// sorted returns the residuals of a pair in ascending order. The list is valid until the next row is learned.
func (x *Experts) sorted(pair int) ascending {
	w := &x.windows[pair]
	return ascending{values: w.values, rows: w.rows, entries: x.Rows, model: pair / distributionCount, scale: scaleOf(pair % distributionCount)}
}

func (x *Experts) insert(pair int, at uint16) {
	w := &x.windows[pair]
	if pair%distributionCount == byteResiduals {
		v := x.Rows[at].byteResidual(pair / distributionCount)
		i, _ := slices.BinarySearch(w.values, v)
		w.values = slices.Insert(w.values, i, v)
		return
	}
	i := x.search(pair, at)
	w.rows = slices.Insert(w.rows, i, at)
}

// remove removes a row from the window of a pair. The residual store must still hold the row.
func (x *Experts) remove(pair int, at uint16) {
	w := &x.windows[pair]
	if pair%distributionCount == byteResiduals {
		i, _ := slices.BinarySearch(w.values, x.Rows[at].byteResidual(pair/distributionCount))
		w.values = slices.Delete(w.values, i, i+1)
		return
	}
	i := x.search(pair, at)
	for w.rows[i] != at { // equal residuals are in any order
		i++
	}
	w.rows = slices.Delete(w.rows, i, i+1)
}

// search returns the index, in the window of a pair, of the first residual that is not lower than that of the row at
// the position `at`.
func (x *Experts) search(pair int, at uint16) int {
	sorted := x.sorted(pair)
	residual := sorted.residual(at)
	i, _ := slices.BinarySearchFunc(sorted.rows, residual, func(row uint16, residual float64) int {
		return cmp.Compare(sorted.residual(row), residual)
	})
	return i
}

func (x *Experts) rebuildWindows(n int) {
	positions := make([]uint16, n)
	for i := range positions {
		positions[i] = uint16((x.At + len(x.Rows) - n + i) % len(x.Rows))
	}
	rows := make([]indexedRow, n)
	for pair := range x.windows {
		w := &x.windows[pair]
		switch pair % distributionCount {
		case nearestRows:
		case byteResiduals:
			*w = residualWindow{values: make([]float64, n)}
			for i, at := range positions {
				w.values[i] = x.Rows[at].byteResidual(pair / distributionCount)
			}
			slices.Sort(w.values)
		default:
			*w = residualWindow{rows: make([]uint16, n)}
			sorted := x.sorted(pair)
			for i, at := range positions {
				rows[i] = indexedRow{value: sorted.residual(at), at: at}
			}
			slices.SortFunc(rows, func(a, b indexedRow) int { return cmp.Compare(a.value, b.value) })
			for i := range rows {
				w.rows[i] = rows[i].at
			}
		}
	}
}
